package samples

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func example() *Set {
	return &Set{
		Case:            "conv1d/n=32768",
		Implementations: []string{"go/direct", "go/fft"},
		Blocks: []Block{
			{Size: 64, Seconds: []float64{1.0 / 3e6, 0.1 + 0.2}, Iterations: []int{300, 1}, Twin: 1, TwinSeconds: 0.3},
			{Size: 64, Visit: 1, Seconds: []float64{4e-7, math.NaN()}, Iterations: []int{250, 0}, Twin: -1},
			{Size: 128, Visit: 7, Seconds: []float64{5e-324, 2.5e-7}, Iterations: []int{1, 2}, Twin: 0, TwinSeconds: 1e300},
		},
	}
}

func TestReadReturnsExactlyWhatWriteWrote(t *testing.T) {
	var file bytes.Buffer
	want := example()
	if err := want.Write(&file); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	got, err := Read(&file, "x.bench")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("read back differs (-want +got):\n%s", diff)
	}
	var again bytes.Buffer
	if err := got.Write(&again); err != nil {
		t.Fatal(err)
	}
	if again.String() != text {
		t.Errorf("second write differs:\n%s\nfirst:\n%s", again.String(), text)
	}
}

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	want := example()
	if err := want.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir + "/conv1d_n=32768.bench")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	if err := want.Save(dir + "/missing"); err == nil {
		t.Error("saving into a folder that does not exist succeeded")
	}
}

func TestReadRefusesBrokenFiles(t *testing.T) {
	const head = "case: c\nimplementations: go\n\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":                  {"", "no samples"},
		"not a benchmark file":   {"hello\nworld\n", "no samples"},
		"unlisted":               {head + "BenchmarkSweep/impl=gg/size=64 1 1 sec/op 0 block\n", `"gg" is not listed`},
		"no block":               {head + "BenchmarkSweep/impl=go/size=64 1 1 sec/op\n", "no block number"},
		"zero time":              {head + "BenchmarkSweep/impl=go/size=64 1 0 sec/op 0 block\n", "not a positive"},
		"NaN":                    {head + "BenchmarkSweep/impl=go/size=64 1 NaN sec/op 0 block\n", "not a positive"},
		"negative size":          {head + "BenchmarkSweep/impl=go/size=-64 1 1 sec/op 0 block\n", "not a positive whole number"},
		"two sizes in one block": {head + "BenchmarkSweep/impl=go/size=1 1 1 sec/op 0 block\nBenchmarkSweep/impl=go/size=2 1 1 sec/op 0 block\n", "sizes 1 and 2"},
		"a line cut short":       {head + "BenchmarkSweep/impl=go/size=64 1 1\n", "x.bench:4"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text), "x.bench")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that holds %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error is more than one line: %q", err)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	var file bytes.Buffer
	if err := example().Write(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Read(bytes.NewReader(data), "x.bench")
		if err != nil {
			return
		}
		for _, b := range set.Blocks {
			if len(b.Seconds) != len(set.Implementations) || b.Size < 1 {
				t.Fatalf("broken block %+v", b)
			}
		}
	})
}
