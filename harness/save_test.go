package harness_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"crossover/calibration"
	"crossover/calibration/surface"
	"crossover/harness"
	"crossover/kernels"
	"crossover/lab/model"
	"crossover/timings"
)

// savedRuns saves a run that joins three runs of a case. It returns the run, its folder, and the file of the oldest run's
// samples.
func savedRuns(t *testing.T) (joined *harness.Run, folder, oldest string) {
	t.Helper()
	none := func(string) bool { return false }
	for seed := range uint64(3) {
		machine := model.New(launch(), seed)
		r := harness.NewRun(anywhere(), []kernels.Case{machine.Case()}, harness.Options{Budget: time.Second, Seed: seed})
		if err := r.Measure(t.Context(), on(machine)); err != nil {
			t.Fatal(err)
		}
		if joined != nil {
			r = harness.Join(joined, r, none, none)
		}
		joined = r
	}
	folder = t.TempDir()
	must(t, joined.Save(t.Context(), folder))
	return joined, folder, harness.EarlierFile(folder, 2)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// files returns the names of the files in a folder.
func files(t *testing.T, folder string) []string {
	t.Helper()
	all, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range all {
		names = append(names, f.Name())
	}
	return names
}

// The samples of all runs are compressed. The loaded run fits to the same bytes as the saved one.
func TestRunsAreCompressed(t *testing.T) {
	saved, folder, oldest := savedRuns(t)
	if got, want := files(t, folder), []string{"cases", "earlier", harness.EntryFile}; !slices.Equal(got, want) {
		t.Errorf("the run holds %v, want %v", got, want)
	}
	if _, err := os.Stat(harness.CaseFile(folder, "launch")); err != nil {
		t.Error(err)
	}
	for folder, want := range map[string][]string{
		filepath.Join(folder, "cases"): {"launch.bench.gz"},
		filepath.Dir(oldest):           {"1.bench.gz", "2.bench.gz"},
	} {
		if got := files(t, folder); !slices.Equal(got, want) {
			t.Errorf("%s holds %v, want %v", folder, got, want)
		}
	}
	loaded, err := harness.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	fit(t, saved)
	fit(t, loaded)
	if diff := gocmp.Diff(bytesOf(t, saved.Entry), bytesOf(t, loaded.Entry)); diff != "" {
		t.Errorf("the entry of the loaded runs differs (-saved +loaded):\n%s", diff)
	}
	if runs := len(loaded.History("launch")); runs != 3 {
		t.Errorf("it is fitted from %d runs", runs)
	}
}

// An error in the file of an earlier run is one line that names the file. Other files beside it do not matter.
func TestLoadOfDamagedEarlierRuns(t *testing.T) {
	_, folder, oldest := savedRuns(t)
	whole, err := os.ReadFile(oldest)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text []byte) func() error { return func() error { return os.WriteFile(oldest, text, 0o644) } }
	for name, c := range map[string]struct {
		damage func() error
		want   string // "" for no error
	}{
		"a file of others beside it": {func() error {
			return os.WriteFile(filepath.Join(filepath.Dir(oldest), "notes.gz"), []byte("notes"), 0o644)
		}, ""},
		"gone":           {func() error { return nil }, "2.bench.gz: no such file"},
		"cut":            {write(whole[:len(whole)/2]), "2.bench.gz: cannot be decompressed"},
		"empty":          {write(nil), "2.bench.gz: cannot be decompressed"},
		"not compressed": {write([]byte("hello")), "2.bench.gz: cannot be decompressed"},
		"a folder":       {func() error { return os.Mkdir(oldest, 0o755) }, "not a regular file"},
		"samples of another run": {func() error {
			text, err := os.ReadFile(harness.EarlierFile(folder, 1))
			return cmp.Or(err, os.WriteFile(oldest, text, 0o644))
		}, "2.bench.gz holds other samples of launch than sweep.json.gz names"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want != "" {
				must(t, os.RemoveAll(oldest))
			}
			must(t, c.damage())
			defer func() {
				must(t, os.RemoveAll(oldest))
				must(t, os.WriteFile(oldest, whole, 0o644))
			}()
			_, err := harness.Load(folder)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("error %v, want one line with %q", err, c.want)
			}
		})
	}
}

// In a killed run, samples of shapes may be newer than the entry, and files may be missing. In a finished run, both are
// errors.
func TestLoadOfAKilledRunOverShapes(t *testing.T) {
	for _, killed := range []bool{true, false} {
		r := harness.NewRun(anywhere(), nil, harness.Options{Budget: time.Second})
		for _, name := range []string{"fft", "matmul"} {
			set := &timings.Set{
				Case: name, Implementations: []string{"go"}, Axes: []string{"n", "batch"}, Shapes: map[int][]int{64: {8, 8}, 128: {16, 8}},
				Blocks: []timings.Block{
					{Size: 64, Visit: 1, Seconds: []float64{1e-6}, Iterations: []int{200}, Twin: -1},
					{Size: 128, Visit: 2, Seconds: []float64{2e-6}, Iterations: []int{100}, Twin: -1},
				},
			}
			r.Shapes[name] = set
			o := calibration.Operation{
				Name: name, Placement: string(kernels.Caller), Blocks: 2, Samples: set.Digest(),
				Implementations: []calibration.Implementation{{Name: "go", Processor: "cpu"}},
				Axes:            []calibration.Axis{{Name: "n", Unit: "samples", From: 8, To: 16}, {Name: "batch", Unit: "rows", From: 8, To: 8}},
			}
			o.Surface = surface.Surface{Axes: set.Axes, Features: []surface.Feature{{Kind: surface.Logarithm, Weights: []float64{1, 0}}}}
			r.Entry.Operations = append(r.Entry.Operations, o)
		}
		if !killed {
			r.Entry.Method.SpentSeconds = 10
		}
		folder := t.TempDir()
		must(t, r.Save(t.Context(), folder))
		newer := *r.Shapes["fft"]
		newer.Blocks = newer.Blocks[:1]
		must(t, newer.SaveCompressed(folder))
		must(t, os.Remove(filepath.Join(folder, "matmul.bench.gz")))
		loaded, err := harness.Load(folder)
		if !killed {
			if err == nil || !strings.Contains(err.Error(), "fft.bench.gz holds other samples") {
				t.Errorf("a run that ended: error %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := len(loaded.Entry.Operations); n != 1 || loaded.Entry.Operations[0].Blocks != 1 || len(loaded.Shapes["fft"].Blocks) != 1 {
			t.Errorf("the killed run holds %d operations: %+v", n, loaded.Entry.Operations)
		}
	}
}
