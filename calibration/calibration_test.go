package calibration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"crossover/calibration/surface"
)

// example returns a file that uses every field of the format.
func example() *File {
	return &File{SchemaVersion: SchemaVersion, Hosts: []Host{epyc(), m3()}}
}

func m3() Host {
	return Host{
		ID: "apple-m3-max-40",
		Facts: Facts{Chip: "Apple M3 Max", Family: "apple-m3", Architecture: "arm64", Cores: 16, PerformanceCores: 12,
			Vendor: "Apple", CPUFamily: "0x72015832", CPUModel: "0x5", L1DataBytes: 128 << 10, L2Bytes: 16 << 20,
			EfficiencyCores: 4, MemoryBytes: 64 << 30, GPU: "Apple M3 Max", GPUCores: 40},
		Environment: Environment{OS: "darwin", OSVersion: "macOS 15.1", Go: "go1.26", ToolVersion: "0.1", ToolCommit: "abc",
			Power: "mains", PowerMode: "low", Priority: "background", Thermal: "nominal", Load: 1.25,
			Sentinel: &Sentinel{Processors: 16, Readings: 4711, Epochs: 3, Crowded: &Crowded{Share: 0.4, AllProcessorsRatio: 2.2}, Company: new(0.85),
				Discarded: &DiscardedBlocks{Disturbed: 21, Neighbours: 22, Replaced: 23, Collections: 24, Restarts: 25},
				Baseline:  SentinelTimes{OneProcessorSeconds: 65e-6, AllProcessorsRatio: 1.6, HandoverSeconds: 3e-8},
				Kept:      &SentinelTimes{OneProcessorSeconds: 66e-6, AllProcessorsRatio: 1.75, HandoverSeconds: 4e-8}}},
		Warnings: []string{"shared cores"},
		Created:  time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		Method: Method{Seed: math.MaxUint64, BudgetSeconds: 120, SpentSeconds: 97.5, Precision: 0.1, Mode: "latency",
			State: "warm", TieBand: 0.03, Audio: "generated"},
		Cases: []Case{{
			Name: "fft/batch=1", Operation: "fft", Parameters: map[string]int{"batch": 1},
			Axis: Axis{Name: "n", Unit: "samples", From: 64, To: 65536},
			Implementations: []Implementation{
				{Name: "go", Processor: "cpu", RelativeError: 1.1e-7, ErrorBound: 1e-6,
					Cost: &Cost{FixedSeconds: 1e-7, SizeSeconds: 2.5e-9, Exponent: 1.1, Residual: 0.04}},
				{Name: "accelerate", Processor: "cpu", Version: "vecLib 1", Revision: 2, RelativeError: 1e-7, ErrorBound: 1e-6},
				{Name: "metal", Processor: "gpu", Version: "Metal 3", RelativeError: 2e-7, ErrorBound: 2.5e-5, GPUTimes: []GPUTimes{
					{Size: 64, WallSeconds: 90e-6, GPUSeconds: 2.5e-6, EncodeSeconds: 8e-6, LaunchEfficiency: 0.03},
					{Size: 65536, WallSeconds: 150e-6, GPUSeconds: 6e-5, EncodeSeconds: 9e-6, GapSeconds: 1e-6, LaunchEfficiency: 0.4},
				}},
				{Name: "mps", Processor: "gpu", RelativeError: -1, Excluded: "computes NaN at 4096 <samples>"},
			},
			Verdict: Crossover,
			Segments: []Segment{
				{From: 64, To: 511, Implementation: "go", Next: []Alternative{{"accelerate", 1.2}, {"metal", 40}}},
				{From: 512, To: 8191, Implementation: "accelerate", Interval: &Interval{Low: 400, High: 600},
					Next: []Alternative{{"go", 1.3}, {"metal", 3}}},
				{From: 8192, To: 65536, Implementation: "metal", Interval: &Interval{Low: 7000, High: 9000},
					Next: []Alternative{{"accelerate", 1.5}, {"go", 2.5}}},
			},
			Within: []Within{{MaxError: 1e-6, Verdict: Crossover, Segments: []Segment{
				{From: 64, To: 511, Implementation: "go", Next: []Alternative{{"accelerate", 1.2}}},
				{From: 512, To: 65536, Implementation: "accelerate", Interval: &Interval{Low: 400, High: 600}, Next: []Alternative{{"go", 1.4}}},
			}}},
			TieBand: 0.03, Sizes: []int{64, 512, 4096, 8192, 65536}, Blocks: 60, ExpectedRegret: 0.004,
			Warnings: []string{"the cost model puts the threshold at 10000", `a quoted "]}" and a \`},
		}},
		Operations: []Operation{fftOperation()},
		Pipelines: []Pipeline{{
			Name: "analysis", Stages: []string{"stft", "mel"}, Created: time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC),
			Lengths: []PipelineLength{
				{Elements: []int{22050}, Audio: "song.wav", Blocks: 12, Margin: 0.25, Routes: []Route{
					{Name: "best-1", Implementations: []string{"metal", "metal"}, MedianSeconds: 0.002, PredictedSeconds: 0.0019},
					{Name: "stages", Implementations: []string{"", ""}, MedianSeconds: 0.0025},
				}, Parts: []Part{
					{Name: "stft", Implementation: "metal", MedianSeconds: 0.0012, PredictedSeconds: 0.001},
					{Name: "columns", MedianSeconds: 0.0005, Bytes: 88200},
				}, BetweenSeconds: 0.0003, Revisions: []StageRevision{{"stft", "metal", 2}, {"mel", "go", 1}}},
				{Elements: []int{220500}, Blocks: 12, Routes: []Route{{Name: "gpu", Implementations: []string{"metal", "metal"}, MedianSeconds: 0.009}}},
			},
		}},
	}
}

// fftOperation is an operation of two axes whose surface has three shapes.
func fftOperation() Operation {
	return Operation{
		Name: "fft", Placement: "caller", Created: new(time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)), Blocks: 120, Samples: "sha256:" + strings.Repeat("0a", 32),
		Axes: []Axis{{Name: "n", Unit: "samples", From: 64, To: 65536}, {Name: "batch", Unit: "rows", From: 1, To: 1024}},
		Implementations: []Implementation{
			{Name: "go", Processor: "cpu", RelativeError: 1.1e-7}, {Name: "metal", Processor: "gpu", Version: "Metal 3"},
			{Name: "mps", Processor: "gpu", RelativeError: -1, Excluded: "computes NaN at n=4096 batch=2"},
		},
		Surface: surface.Surface{
			Axes:     []string{"n", "batch"},
			Features: []surface.Feature{{Kind: surface.Logarithm, Weights: []float64{1, 1}}, {Kind: surface.Rough, Weights: []float64{1, 0}, Offset: -1, Prime: 7}},
			Scales:   []float64{0.25, 1.5},
			Shapes:   []int{64, 1, 4410, 16, 65536, 1024},
			Implementations: []surface.Implementation{
				{Name: "go", Linear: []float64{-20.5, 1.04, 0.75}, Weights: []float64{0.0012345, -0.25, 1e-7}, Risk: 0.03},
				{Name: "metal", Linear: []float64{-12, 0.3, 0.01}, Weights: []float64{0, 0.125, -0.5}, Risk: 0.05},
			},
		},
		HeldOut: HeldOut{Shapes: 2, Crossed: 3, Regret: 0.01, RegretUpper: 0.03, Within: 0.5, WithinLower: 0.1, Worst: 0.07, WorstShape: []int{441, 64},
			NineInTenUpper: 0.15, Points: []int{441, 64, 1024, 8}, Losses: []float64{0.07, -0.01}},
		Asked: []Asked{
			{Shape: []int{441, 64}, Calls: 1000, MedianSeconds: []float64{1.25e-4, 9e-5, 0}, Regret: new(0.002)},
			{Shape: []int{480, 1}, Calls: 1},
		},
	}
}

// Entries of version 1.0 do not have the processor. They load, and keep their bytes.
func TestVersionWithoutProcessors(t *testing.T) {
	text := string(encoded(t, &File{Hosts: []Host{epyc()}}))
	text = "{\n  \"schema_version\": \"1.0\",\n  " + text[strings.Index(text, `"hosts"`):]
	path := filepath.Join(t.TempDir(), "calibration.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if f := file.Hosts[0].Facts; f.Vendor != "" || f.CPUFamily != "" || f.L1DataBytes != 0 {
		t.Errorf("facts %+v", f)
	}
	update(t, path, merged("new"))
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kept := strings.TrimSuffix(text[strings.Index(text, `"hosts"`):], "\n ]\n}\n")
	if !strings.Contains(string(after), "\"2.3\",\n") || !strings.Contains(string(after), kept+",\n") {
		t.Errorf("an update beside it (-old +new):\n%s", cmp.Diff(text, string(after)))
	}
}

func epyc() Host {
	h := m3()
	h.ID = "amd-epyc-2"
	h.Method.Mode, h.Method.InFlight = "throughput", 64
	h.Operations = nil
	h.Facts = Facts{Chip: "AMD EPYC", Family: "amd-epyc", Architecture: "amd64", Cores: 2, MemoryBytes: 8 << 30,
		CoreKinds: []CoreKind{{"Super", 1}, {"Performance", 1}}}
	h.Environment = Environment{OS: "linux", Power: "unknown", Thermal: "unknown", Load: -1}
	cpu := []Implementation{{Name: "go", Processor: "cpu"}, {Name: "go-parallel", Processor: "cpu"}}
	h.Cases = []Case{
		{Name: "sum", Operation: "sum", Axis: Axis{Name: "n", Unit: "elements", From: 1, To: 8}, Implementations: cpu,
			Verdict: Tie, Segments: []Segment{{From: 1, To: 8, Implementation: "go"}}, Reason: "within 2 % everywhere"},
		{Name: "biquad/channels=1", Operation: "biquad", Axis: Axis{Name: "n", Unit: "samples", From: 1, To: 8},
			Implementations: cpu, Verdict: Always, Reason: "each sample waits for the one before it",
			Segments: []Segment{{From: 1, To: 8, Implementation: "go", Next: []Alternative{{"go-parallel", 2}}}}},
		{Name: "exp", Operation: "exp", Axis: Axis{Name: "n", Unit: "elements", From: 1, To: 8}, Implementations: cpu,
			Verdict: Unresolved, Degraded: true, Reason: "the machine was never quiet"},
	}
	return h
}

// encoded returns the text of a file that must be valid.
func encoded(t testing.TB, f *File) []byte {
	t.Helper()
	var text bytes.Buffer
	if _, err := f.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calibration.json")
	original := example()
	original.Hosts[0].Created = time.Date(2026, 11, 1, 14, 0, 0, 999, time.FixedZone("east", 7200))
	if err := Save(path, original); err != nil {
		t.Fatal(err)
	}
	if original.Hosts[0].ID != "amd-epyc-2" || original.Hosts[0].Cases[0].Name != "sum" ||
		original.Hosts[0].Cases[0].Parameters != nil {
		t.Error("Save changed the caller's value")
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := example()
	want.normalise()
	if diff := cmp.Diff(want, loaded); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
	if err := Save(path, loaded); err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Errorf("the second save differs:\n%s", cmp.Diff(string(first), string(second)))
	}
	if !bytes.Equal(first, encoded(t, original)) {
		t.Error("WriteTo and Save differ")
	}
	text := string(first)
	for _, part := range []string{
		"{\n \"schema_version\": \"2.3\",\n \"host_bytes\": [", "],\n \"hosts\": [\n  {\n   \"id\": \"amd-epyc-2\"",
		`"created": "2026-11-01T12:00:00Z"`, `"seed": 18446744073709551615`, `"relative_error": 1.1e-7`,
		`"next": []`, `"warnings": []`, `"parameters": {}`, "at 4096 <samples>", "\n}\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("text lacks %q", part)
		}
	}
	if strings.Contains(text, "null") {
		t.Error("text holds a null")
	}
	if strings.Index(text, `"biquad/`) > strings.Index(text, `"sum"`) || strings.Index(text, `"amd`) > strings.Index(text, `"apple`) {
		t.Error("text is not sorted")
	}
}

func TestReadSorts(t *testing.T) {
	f := example()
	f.normalise()
	shuffled := *f
	shuffled.Hosts = slices.Clone(f.Hosts)
	slices.Reverse(shuffled.Hosts)
	text := encodedAsIs(t, &shuffled)
	if strings.Index(text, "apple-m3-max-40") > strings.Index(text, "amd-epyc-2") {
		t.Fatal("the text of this test is sorted")
	}
	got, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestFileMode(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "calibration.json")
	mode := func(path string) fs.FileMode {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	if err := Save(path, example()); err != nil {
		t.Fatal(err)
	}
	if got := mode(path); got != 0o644 {
		t.Errorf("a new file has mode %v", got)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link.json")
	if err := os.Symlink("calibration.json", link); err != nil {
		t.Fatal(err)
	}
	if err := Save(link, &File{}); err != nil {
		t.Fatal(err)
	}
	if got := mode(path); got != 0o600 {
		t.Errorf("an old file has mode %v after it was saved", got)
	}
	if mode(link)&fs.ModeSymlink == 0 {
		t.Error("the link was replaced by a file")
	}
	if f, err := Load(path); err != nil || len(f.Hosts) != 0 {
		t.Errorf("behind the link: %v, %v", f, err)
	}
}

func TestFailedSaveLeavesTheOldFile(t *testing.T) {
	broken := example()
	broken.Hosts[1].Method.TieBand = math.NaN()
	full := errors.New("disk full")
	tests := []struct {
		name string
		save func(path string) error
		want string
	}{
		{"a value that is not valid", func(path string) error { return Save(path, broken) },
			`calibration.json: hosts[1] "apple-m3-max-40": method: tie_band is NaN (want a finite number, at least 0)`},
		{"a write that fails half way", func(path string) error {
			return replaceBy(path, func(w io.Writer) error { io.WriteString(w, "half"); return full })
		}, "disk full"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "calibration.json")
			if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			err := test.save(path)
			if err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
			entries, _ := os.ReadDir(filepath.Dir(path))
			if text, _ := os.ReadFile(path); string(text) != "old" || len(entries) != 1 {
				t.Errorf("the old file holds %q, the folder %v", text, entries)
			}
		})
	}

	folder := t.TempDir()
	for path, want := range map[string]string{
		folder:                                   folder + ": is a directory (want a file)",
		filepath.Join(folder, "no", "file.json"): filepath.Join(folder, "no", "file.json") + ": no such file or directory",
	} {
		if err := Save(path, example()); err == nil || err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestHostAndMerge(t *testing.T) {
	f := &File{SchemaVersion: SchemaVersion}
	if f.Host("amd-epyc-2") != nil {
		t.Error("an empty file has a host")
	}
	for _, h := range []Host{m3(), epyc()} {
		if err := f.Merge(h); err != nil {
			t.Fatal(err)
		}
	}
	if f.Hosts[0].ID != "amd-epyc-2" || f.Hosts[1].ID != "apple-m3-max-40" {
		t.Error("hosts are not sorted after a merge")
	}
	fresh := m3()
	fresh.Method.Seed = 7
	if err := f.Merge(fresh); err != nil {
		t.Fatal(err)
	}
	if len(f.Hosts) != 2 || f.Host(fresh.ID).Method.Seed != 7 || f.Host("amd-epyc-2").Method.Seed == 7 {
		t.Errorf("a merge replaced the wrong host: %+v", f.Hosts)
	}
	simulated := m3()
	simulated.Simulated = true
	if err := f.Merge(simulated); err == nil || f.Host(simulated.ID).Simulated {
		t.Errorf("a simulation replaced a measurement (error %v)", err)
	}
	simulated.ID = "apple-m4-10"
	for range 2 {
		if err := f.Merge(simulated); err != nil {
			t.Errorf("a simulation beside measurements, or in place of a simulation: %v", err)
		}
	}
	measured := simulated
	measured.Simulated = false
	if err := f.Merge(measured); err != nil || f.Host(measured.ID).Simulated {
		t.Errorf("a measurement did not replace a simulation (error %v)", err)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(f *File, h *Host, c *Case) // of the example, of its host apple-m3-max-40 and of that host's only case
		want   string
	}{
		{"newer", func(f *File, h *Host, c *Case) { f.SchemaVersion = "3.0" },
			"schema_version 3.0 is newer than 2.3; update crossover"},
		{"older", func(f *File, h *Host, c *Case) { f.SchemaVersion = "0.3" },
			"schema_version 0.3 is older than 2.3; calibrate again"},
		{"no version", func(f *File, h *Host, c *Case) { f.SchemaVersion = "" }, "schema_version is missing (want 2.3)"},
		{"not a version", func(f *File, h *Host, c *Case) { f.SchemaVersion = "1.x\n" },
			`schema_version "1.x\n" is not a version (want 2.3)`},
		{"twin hosts", func(f *File, h *Host, c *Case) { f.Hosts[0].ID = h.ID },
			`hosts[1] "apple-m3-max-40": has the id of hosts[0]`},
		{"no id", func(f *File, h *Host, c *Case) { h.ID = "" }, "hosts[1]: id is missing"},
		{"odd id", func(f *File, h *Host, c *Case) { h.ID = "M3 Max" },
			`hosts[1] "M3 Max": id is not a slug (want lower-case letters and digits, with hyphens between)`},
		{"no time", func(f *File, h *Host, c *Case) { h.Created = time.Time{} }, "host: created is missing"},
		{"far future", func(f *File, h *Host, c *Case) {
			h.Created = time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("west", -7200))
		}, "host: created in the year 10000 (want 1 to 9999)"},
		{"a cache of less than nothing", func(f *File, h *Host, c *Case) { h.Facts.L2Bytes = -1 },
			"host: facts: l2_bytes is -1 (want a finite number, at least 0)"},
		{"no chip", func(f *File, h *Host, c *Case) { h.Facts.Chip = "" }, "host: facts: chip is missing"},
		{"a simulation that says it was measured", func(f *File, h *Host, c *Case) { h.ID = "simulated-apple-m3-max-40" },
			`hosts[1] "simulated-apple-m3-max-40": simulated is false (want true: an id that begins with simulated- is never that of a measured host)`},
		{"odd family", func(f *File, h *Host, c *Case) { h.Facts.Family = "M3!" }, `host: facts: family "M3!" is not a slug`},
		{"no architecture", func(f *File, h *Host, c *Case) { h.Facts.Architecture = "" },
			"host: facts: architecture is missing"},
		{"no cores", func(f *File, h *Host, c *Case) { h.Facts.Cores = 0 }, "host: facts: cores is 0 (want at least 1)"},
		{"negative memory", func(f *File, h *Host, c *Case) { h.Facts.MemoryBytes = -5 },
			"host: facts: memory_bytes is -5 (want a finite number, at least 0)"},
		{"odd power", func(f *File, h *Host, c *Case) { h.Environment.Power = "solar" },
			`host: environment: power is "solar" (want mains, battery, unknown)`},
		{"odd power mode", func(f *File, h *Host, c *Case) { h.Environment.PowerMode = "turbo" },
			`host: environment: power_mode is "turbo" (want normal, low, unknown)`},
		{"odd priority", func(f *File, h *Host, c *Case) { h.Environment.Priority = "high" },
			`host: environment: priority is "high" (want normal, lowered, background, unknown)`},
		{"a kind of core without a name", func(f *File, h *Host, c *Case) {
			h.Facts.PerformanceCores, h.Facts.EfficiencyCores, h.Facts.CoreKinds = 0, 0, []CoreKind{{"Super", 4}, {"", 6}}
		}, `host: facts: core_kinds[1]: name is missing`},
		{"a kind without cores", func(f *File, h *Host, c *Case) {
			h.Facts.PerformanceCores, h.Facts.EfficiencyCores, h.Facts.CoreKinds = 0, 0, []CoreKind{{"Super", 0}}
		}, `host: facts: core_kinds[0]: count is 0 (want at least 1)`},
		{"kinds of cores said twice", func(f *File, h *Host, c *Case) {
			h.Facts.PerformanceCores, h.Facts.EfficiencyCores, h.Facts.CoreKinds = 12, 0, []CoreKind{{"Super", 4}}
		}, `host: facts: core_kinds is there, and performance_cores and efficiency_cores are not both 0 (want one or the other)`},
		{"odd thermal state", func(f *File, h *Host, c *Case) { h.Environment.Thermal = "hot" },
			`host: environment: thermal is "hot" (want nominal, fair, serious, critical, unknown)`},
		{"negative load", func(f *File, h *Host, c *Case) { h.Environment.Load = -2 },
			"host: environment: load is -2 (want a finite number, at least 0)"},
		{"nobody to watch", func(f *File, h *Host, c *Case) { h.Environment.Sentinel.Processors = 0 },
			"host: environment: sentinel: processors is 0 (want at least 1)"},
		{"negative hand-over", func(f *File, h *Host, c *Case) { h.Environment.Sentinel.Baseline.HandoverSeconds = -1e-8 },
			"host: environment: sentinel: baseline: handover_seconds is -1e-08 (want a finite number, at least 0)"},
		{"a ratio of nothing", func(f *File, h *Host, c *Case) { h.Environment.Sentinel.Kept.AllProcessorsRatio = math.NaN() },
			"host: environment: sentinel: kept: all_processors_ratio is NaN (want a finite number, at least 0)"},
		{"endless work", func(f *File, h *Host, c *Case) { h.Environment.Sentinel.Kept.OneProcessorSeconds = math.Inf(1) },
			"host: environment: sentinel: kept: one_processor_seconds is +Inf (want a finite number, at least 0)"},
		{"negative readings", func(f *File, h *Host, c *Case) { h.Environment.Sentinel.Readings = -1 },
			"host: environment: sentinel: readings is -1 (want a finite number, at least 0)"},
		{"negative epochs", func(f *File, h *Host, c *Case) { h.Environment.Sentinel.Epochs = -1 },
			"host: environment: sentinel: epochs is -1 (want a finite number, at least 0)"},
		{"crowded for longer than the run", func(f *File, h *Host, c *Case) { h.Environment.Sentinel.Crowded.Share = 1.1 },
			"host: environment: sentinel: crowded: share is 1.1 (want 0 to 1)"},
		{"crowded for no number", func(f *File, h *Host, c *Case) { h.Environment.Sentinel.Crowded.Share = math.NaN() },
			"host: environment: sentinel: crowded: share is NaN (want 0 to 1)"},
		{"crowded by less than nothing", func(f *File, h *Host, c *Case) { h.Environment.Sentinel.Crowded.AllProcessorsRatio = -2 },
			"host: environment: sentinel: crowded: all_processors_ratio is -2 (want a finite number, at least 0)"},
		{"company for longer than the run", func(f *File, h *Host, c *Case) { h.Environment.Sentinel.Company = new(1.1) },
			"host: environment: sentinel: company is 1.1 (want 0 to 1)"},
		{"company for no number", func(f *File, h *Host, c *Case) { h.Environment.Sentinel.Company = new(math.NaN()) },
			"host: environment: sentinel: company is NaN (want 0 to 1)"},
		{"fewer than no blocks", func(f *File, h *Host, c *Case) { h.Environment.Sentinel.Discarded.Replaced = -1 },
			"host: environment: sentinel: discarded_blocks: replaced is -1 (want a finite number, at least 0)"},
		{"an unknown load, and nobody to watch", func(f *File, h *Host, c *Case) { h.Environment.Load, h.Environment.Sentinel = -1, &Sentinel{} },
			"host: environment: sentinel: processors is 0 (want at least 1)"},
		{"odd mode", func(f *File, h *Host, c *Case) { h.Method.Mode = "fast" },
			`host: method: mode is "fast" (want latency, throughput)`},
		{"odd state", func(f *File, h *Host, c *Case) { h.Method.State = "hot" },
			`host: method: state is "hot" (want warm, cold, after-idle)`},
		{"negative depth", func(f *File, h *Host, c *Case) { h.Method.InFlight = -1 },
			"host: method: in_flight is -1 (want 0 to 1024)"},
		{"too deep", func(f *File, h *Host, c *Case) { h.Method.InFlight = 1 << 40 },
			"host: method: in_flight is 1099511627776 (want 0 to 1024)"},
		{"infinite budget", func(f *File, h *Host, c *Case) { h.Method.BudgetSeconds = math.Inf(1) },
			"host: method: budget_seconds is +Inf (want a finite number, at least 0)"},
		{"no case name", func(f *File, h *Host, c *Case) { c.Name = "" }, "host: cases[0]: name is missing"},
		{"odd case name", func(f *File, h *Host, c *Case) { c.Name = "fft\x00" },
			`host: cases[0]: name "fft\x00" has a space or a control character`},
		{"twin cases", func(f *File, h *Host, c *Case) { h.Cases = []Case{*c, *c} }, "case: is cases[0] and cases[1]"},
		{"no operation", func(f *File, h *Host, c *Case) { c.Operation = "" }, "case: operation is missing"},
		{"another operation", func(f *File, h *Host, c *Case) { c.Operation = "ff" },
			`case: operation is "ff" (want what the name begins with)`},
		{"no axis name", func(f *File, h *Host, c *Case) { c.Axis.Name = "" }, "case: axis: name is missing"},
		{"no unit", func(f *File, h *Host, c *Case) { c.Axis.Unit = "" }, "case: axis: unit is missing"},
		{"unit of two lines", func(f *File, h *Host, c *Case) { c.Axis.Unit = "ro\nws" },
			`case: axis: unit "ro\nws" has a control character or is not UTF-8`},
		{"unit of another encoding", func(f *File, h *Host, c *Case) { c.Axis.Unit = "\xb5s" },
			`case: axis: unit "\xb5s" has a control character or is not UTF-8`},
		{"long unit", func(f *File, h *Host, c *Case) { c.Axis.Unit = strings.Repeat("é", 33) },
			"case: axis: unit has 33 characters (want at most 32)"},
		{"axis from zero", func(f *File, h *Host, c *Case) { c.Axis.From = 0 }, "case: axis: from is 0 (want at least 1)"},
		{"axis backwards", func(f *File, h *Host, c *Case) { c.Axis.To = 63 }, "case: axis: to is 63, below from, 64"},
		{"no implementations", func(f *File, h *Host, c *Case) { c.Implementations = nil }, "case: has no implementations"},
		{"nameless implementation", func(f *File, h *Host, c *Case) { c.Implementations[1].Name = "" },
			"case: implementations[1]: name is missing"},
		{"twin implementations", func(f *File, h *Host, c *Case) { c.Implementations[1].Name = "go" },
			`case: implementation "go": is there twice`},
		{"unknown processor", func(f *File, h *Host, c *Case) { c.Implementations[0].Processor = "tpu" },
			`case: implementation "go": processor is "tpu" (want cpu, gpu)`},
		{"no error and not excluded", func(f *File, h *Host, c *Case) { c.Implementations[0].RelativeError = -1 },
			`case: implementation "go": relative_error is -1 (want a finite number, at least 0)`},
		{"wrong and not excluded", func(f *File, h *Host, c *Case) { c.Implementations[0].Wrong = true },
			`case: implementation "go": wrong is true, and excluded does not say why`},
		{"negative bound", func(f *File, h *Host, c *Case) { c.Implementations[0].ErrorBound = -1 },
			`case: implementation "go": error_bound is -1 (want a finite number, at least 0)`},
		{"negative revision", func(f *File, h *Host, c *Case) { c.Implementations[1].Revision = -1 },
			`case: implementation "accelerate": revision is -1 (want 0 to 2147483647)`},
		{"a bound of nothing", func(f *File, h *Host, c *Case) { c.Within[0].MaxError = 0 },
			"case: within[0]: max_error is 0 (want a finite number above 0)"},
		{"a bound twice", func(f *File, h *Host, c *Case) { c.Within = append(c.Within, c.Within[0]) },
			"case: within[1]: max_error is 1e-06 (want a finite number above 1e-06)"},
		{"nothing within a bound", func(f *File, h *Host, c *Case) { c.Within[0].Verdict, c.Within[0].Segments = Unresolved, nil },
			"case: within[0]: has no segments"},
		{"beyond the bound", func(f *File, h *Host, c *Case) { c.Implementations[1].ErrorBound = 2e-6 },
			`case: within[0]: segment 1 names "accelerate", which does not promise the bound`},
		{"without a bound", func(f *File, h *Host, c *Case) { c.Implementations[0].ErrorBound = 0 },
			`case: within[0]: segment 1 names "go", which does not promise the bound`},
		{"a part within a bound", func(f *File, h *Host, c *Case) { c.Within[0].Segments[1].To = 65535 },
			"case: within[0]: segment 2 ends at 65535 (want 65536, where the axis ends)"},
		{"another verdict within a bound", func(f *File, h *Host, c *Case) { c.Within[0].Verdict = Always },
			`case: within[0]: verdict "always" with 2 segments (want 1)`},
		{"infinite error", func(f *File, h *Host, c *Case) { c.Implementations[3].RelativeError = math.Inf(1) },
			`case: implementation "mps": relative_error is +Inf (want a finite number, at least 0)`},
		{"negative cost", func(f *File, h *Host, c *Case) {
			c.Implementations[0].Cost = &Cost{FixedSeconds: -1}
		}, `case: implementation "go": cost: fixed_seconds is -1 (want a finite number, at least 0)`},
		{"GPU times of a processor", func(f *File, h *Host, c *Case) {
			c.Implementations[0].GPUTimes = c.Implementations[2].GPUTimes
		}, `case: implementation "go": has gpu_times, but its processor is "cpu"`},
		{"GPU times at no size", func(f *File, h *Host, c *Case) { c.Implementations[2].GPUTimes[0].Size = 0 },
			`case: implementation "metal": gpu_times[0]: size is 0 (want at least 1)`},
		{"GPU times twice at a size", func(f *File, h *Host, c *Case) { c.Implementations[2].GPUTimes[1].Size = 64 },
			`case: implementation "metal": gpu_times[1]: size is 64 after 64 (want ascending sizes)`},
		{"negative GPU time", func(f *File, h *Host, c *Case) { c.Implementations[2].GPUTimes[1].GPUSeconds = -1 },
			`case: implementation "metal": gpu_times[1]: gpu_seconds is -1 (want a finite number, at least 0)`},
		{"infinite efficiency", func(f *File, h *Host, c *Case) { c.Implementations[2].GPUTimes[0].LaunchEfficiency = math.Inf(1) },
			`case: implementation "metal": gpu_times[0]: launch_efficiency is +Inf (want a finite number, at least 0)`},
		{"unknown verdict", func(f *File, h *Host, c *Case) { c.Verdict = "maybe" },
			`case: verdict is "maybe" (want crossover, always, tie, unresolved)`},
		{"always with three segments", func(f *File, h *Host, c *Case) { c.Verdict = Always },
			`case: verdict "always" with 3 segments (want 1)`},
		{"crossover with no segment", func(f *File, h *Host, c *Case) { c.Segments = nil },
			`case: verdict "crossover" with 0 segments (want at least 2)`},
		{"crossover without a change", func(f *File, h *Host, c *Case) {
			c.Segments[1].Implementation, c.Segments[1].Next = "go", nil
		}, `case: segments 1 and 2 are both "go", with no crossover between`},
		{"late first segment", func(f *File, h *Host, c *Case) { c.Segments[0].From = 100 },
			"case: segment 1 starts at 100 (want 64, where the axis starts)"},
		{"first segment with an interval", func(f *File, h *Host, c *Case) { c.Segments[0].Interval = &Interval{Low: 60, High: 70} },
			"case: segment 1 has an interval, but it starts with the axis and not at a threshold"},
		{"overlap", func(f *File, h *Host, c *Case) { c.Segments[2].From, c.Segments[2].Interval = 4096, nil },
			"case: segment 3 starts at 4096 inside segment 2 (512..8191)"},
		{"gap", func(f *File, h *Host, c *Case) { c.Segments[2].From = 9000 },
			"case: segment 3 starts at 9000, which leaves a gap behind segment 2 (512..8191)"},
		{"out of order", func(f *File, h *Host, c *Case) { c.Segments[2].From, c.Segments[2].Interval = 100, nil },
			"case: segment 3 starts at 100 before segment 2 (512..8191)"},
		{"early end", func(f *File, h *Host, c *Case) { c.Segments[2].To = 65535 },
			"case: segment 3 ends at 65535 (want 65536, where the axis ends)"},
		{"segment backwards", func(f *File, h *Host, c *Case) { c.Segments[1].To = 100 },
			"case: segment 2 ends at 100 before it starts at 512"},
		{"segment from zero", func(f *File, h *Host, c *Case) { c.Segments[0].From = 0 },
			"case: segment 1 starts at 0 (want at least 1)"},
		{"greatest size", func(f *File, h *Host, c *Case) {
			c.Axis.To, c.Segments[1].To, c.Segments[2].To = math.MaxInt, math.MaxInt, math.MaxInt
		}, "case: segment 3 starts at 8192 inside segment 2 (512..9223372036854775807)"},
		{"segment of nobody", func(f *File, h *Host, c *Case) { c.Segments[1].Implementation = "" },
			"case: segment 2 names no implementation"},
		{"segment of a stranger", func(f *File, h *Host, c *Case) { c.Segments[1].Implementation = "cuda" },
			`case: segment 2 names "cuda", which is not among the implementations`},
		{"segment of an excluded one", func(f *File, h *Host, c *Case) { c.Segments[1].Implementation = "mps" },
			`case: segment 2 names "mps", which is excluded`},
		{"alternative to itself", func(f *File, h *Host, c *Case) { c.Segments[1].Next[1].Implementation = "accelerate" },
			`case: segment 2 next[1] names "accelerate" again`},
		{"excluded alternative", func(f *File, h *Host, c *Case) { c.Segments[1].Next[0].Implementation = "mps" },
			`case: segment 2 next[0] names "mps", which is excluded`},
		{"negative slowdown", func(f *File, h *Host, c *Case) { c.Segments[1].Next[0].Slowdown = -0.5 },
			"case: segment 2 next[0] slowdown is -0.5 (want a finite number, at least 0)"},
		{"interval backwards", func(f *File, h *Host, c *Case) { c.Segments[1].Interval = &Interval{Low: 600, High: 400} },
			"case: segment 2 has an interval from 600 down to 400"},
		{"interval from zero", func(f *File, h *Host, c *Case) { c.Segments[1].Interval = &Interval{Low: 0, High: 600} },
			"case: segment 2 has an interval from 0 (want at least 1)"},
		{"interval elsewhere", func(f *File, h *Host, c *Case) { c.Segments[1].Interval = &Interval{Low: 2000, High: 3000} },
			"case: segment 2 starts at 512, far from its interval 2000..3000"},
		{"size outside", func(f *File, h *Host, c *Case) { c.Sizes[0] = 32 },
			"case: sizes[0] is 32 (want one from 64 to 65536, the axis)"},
		{"sizes out of order", func(f *File, h *Host, c *Case) { c.Sizes[1] = 64 },
			"case: sizes[1] is 64 after 64 (want ascending sizes)"},
		{"negative blocks", func(f *File, h *Host, c *Case) { c.Blocks = -1 },
			"case: blocks is -1 (want a finite number, at least 0)"},
		{"regret is not a number", func(f *File, h *Host, c *Case) { c.ExpectedRegret = math.NaN() },
			"case: expected_regret is NaN (want a finite number, at least 0)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := example()
			test.change(f, &f.Hosts[1], &f.Hosts[1].Cases[0])
			want := strings.Replace(test.want, "case: ", `host: case "fft/batch=1": `, 1)
			want = "calibration: " + strings.Replace(want, "host: ", `hosts[1] "apple-m3-max-40": `, 1)
			if err := f.Validate(); err == nil || err.Error() != want {
				t.Errorf("error\n got %v\nwant %s", err, want)
			}
		})
	}

	accepted := map[string]func(f *File, h *Host, c *Case){
		"as it is":                  func(f *File, h *Host, c *Case) {},
		"an older version":          func(f *File, h *Host, c *Case) { f.SchemaVersion = "1.1" },
		"a newer minor version":     func(f *File, h *Host, c *Case) { f.SchemaVersion = "2.12" },
		"an interval a little off":  func(f *File, h *Host, c *Case) { c.Segments[1].Interval = &Interval{Low: 520, High: 600} },
		"a threshold without one":   func(f *File, h *Host, c *Case) { c.Segments[1].Interval = nil },
		"unresolved with segments":  func(f *File, h *Host, c *Case) { c.Verdict = Unresolved },
		"an operation without case": func(f *File, h *Host, c *Case) { c.Name = "fft" },
		"a family that is unknown":  func(f *File, h *Host, c *Case) { h.Facts.Family = "" },
	}
	for name, change := range accepted {
		f := example()
		change(f, &f.Hosts[1], &f.Hosts[1].Cases[0])
		if err := f.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	h := m3()
	if err := h.Validate(); err != nil {
		t.Error(err)
	}
	h.Cases[0].Blocks = -1
	want := `calibration: "apple-m3-max-40": case "fft/batch=1": blocks is -1 (want a finite number, at least 0)`
	if err := h.Validate(); err == nil || err.Error() != want {
		t.Errorf("error\n got %v\nwant %s", err, want)
	}
}

func TestReadRefuses(t *testing.T) {
	valid := string(encoded(t, example()))
	replace := func(old, new string) string {
		if !strings.Contains(valid, old) {
			t.Fatalf("the example lacks %q", old)
		}
		return strings.Replace(valid, old, new, 1)
	}
	lineOf := func(part string) int { return 1 + strings.Count(valid[:strings.Index(valid, part)], "\n") }
	tests := []struct {
		name, text, want string
	}{
		{"nothing", "", "the file is empty (" + remedy + ")"},
		{"white space", " \n\t", "the file is empty (" + remedy + ")"},
		{"prose", "hello", "line 1: not JSON, invalid character 'h' looking for beginning of value (" + remedy + ")"},
		{"an array", "[]", "line 1: want '{', as calibrate writes it (" + remedy + ")"},
		{"no hosts", `{"schema_version": "1.0"}`, "hosts is missing (want a list)"},
		{"hosts null", `{"schema_version": "1.0", "hosts": null}`, "line 1: want '[', as calibrate writes it (" + remedy + ")"},
		{"no version", `{"hosts": []}`, "schema_version is missing (want 2.3)"},
		{"numeric version", `{"schema_version": 1, "hosts": []}`, "schema_version: line 1: got number (want a string)"},
		{"another version", replace(`"2.3"`, `"3.1"`), "schema_version 3.1 is newer than 2.3; update crossover"},
		{"two lists of hosts", `{"schema_version": "1.0", "hosts": [], "Hosts": []}`, "hosts is given 2 times"},
		{"a host that is none", `{"schema_version": "1.0", "hosts": [7]}`, "hosts[0]: line 1: want '{', as calibrate writes it (" + remedy + ")"},
		{"two ids", replace(`"simulated"`, `"ID": "other", "simulated"`), `hosts[0] "other": id is given 2 times`},
		{"twin hosts", replace(`"apple-m3-max-40"`, `"amd-epyc-2"`), `hosts[1] "amd-epyc-2": has the id of hosts[0]`},
		{"cut short", valid[:len(valid)/2], fmt.Sprintf("line %d: the file is cut short (%s)", 1+strings.Count(valid[:len(valid)/2], "\n"), remedy)},
		{"a tail", valid + "x", fmt.Sprintf("line %d: not JSON, invalid character 'x' after top-level value (%s)",
			1+strings.Count(valid, "\n"), remedy)},
		{"a merge conflict", replace(" \"hosts\"", "<<<<<<< HEAD\n  \"hosts\""),
			"line 4: not JSON, invalid character '<' looking for beginning of object key string (" + remedy + ")"},
		{"a bracket of the wrong kind", `{"schema_version": "1.0", "hosts": [], "x": [}]}`,
			"line 1: not JSON, invalid character '}' looking for beginning of value (" + remedy + ")"},
		{"a string for a number", replace(`"cores": 2`, `"cores": "2"`),
			fmt.Sprintf(`hosts[0] "amd-epyc-2": facts: line %d: cores: got string (want a whole number)`, lineOf(`"cores": 2`))},
		{"a fraction for a size", replace(`"blocks": 60`, `"blocks": 1.5`),
			fmt.Sprintf(`hosts[1] "apple-m3-max-40": line %d: cases.blocks: got number 1.5 (want a whole number)`, lineOf(`"blocks": 60`))},
		{"a number out of range", replace(`"tie_band": 0.03`, `"tie_band": 1e999`),
			fmt.Sprintf(`hosts[0] "amd-epyc-2": line %d: method.tie_band: got number 1e999 (want a number)`, lineOf(`"tie_band": 0.03`))},
		{"a date that is none", replace(`"2026-11-01T12:00:00Z"`, `"yesterday"`),
			fmt.Sprintf(`hosts[0] "amd-epyc-2": line %d: created: got "yesterday" (want a time such as "2026-11-03T12:00:00Z")`, lineOf(`"2026-11-01T12:00:00Z"`))},
		{"a number for a date", replace(`"2026-11-03T12:00:00Z"`, `5`),
			fmt.Sprintf(`hosts[0] "amd-epyc-2": line %d: created: got 5 (want a time such as "2026-11-03T12:00:00Z")`, lineOf(`"2026-11-03T12:00:00Z"`))},
		{"a date of a pipeline that is none", replace(`"2026-11-03T12:00:00Z"`, `"2026-02-30T00:00:00Z"`),
			fmt.Sprintf(`hosts[0] "amd-epyc-2": line %d: created: got "2026-02-30T00:00:00Z" (want a time such as "2026-11-03T12:00:00Z")`, lineOf(`"2026-11-03T12:00:00Z"`))},
		{"an overlap", replace(`"from": 8192`, `"from": 4096`),
			`hosts[1] "apple-m3-max-40": case "fft/batch=1": segment 3 starts at 4096 inside segment 2 (512..8191)`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(test.text))
			if err == nil || err.Error() != "calibration: "+test.want {
				t.Errorf("error\n got %v\nwant calibration: %s", err, test.want)
			}
			path := filepath.Join(t.TempDir(), "calibration.json")
			if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(path); err == nil || err.Error() != path+": "+test.want {
				t.Errorf("error\n got %v\nwant %s", err, test.want)
			}
		})
	}
	broken := errors.New("cable pulled")
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

func TestReadIgnoresUnknownFields(t *testing.T) {
	want := example()
	want.normalise()
	text := string(encoded(t, want))
	for _, place := range []string{`"schema_version"`, `"simulated"`, `"chip"`, `"operation"`, `"processor"`, `"low":`} {
		text = strings.ReplaceAll(text, place, `"future": {"hosts": [1, "]}"], "id": null}, `+place)
	}
	for i := range want.Hosts {
		want.Hosts[i].Edited = true
	}
	got, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestLoadRefusesFiles(t *testing.T) {
	folder := t.TempDir()
	loaders := map[string]func(string) error{
		"Load": func(path string) error { _, err := Load(path); return err },
		"View": func(path string) error { return View(path, func([]Entry) error { return nil }) },
	}
	huge := filepath.Join(folder, "huge.json")
	if err := os.WriteFile(huge, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 600<<20); err != nil {
		t.Fatal(err)
	}
	for name, load := range loaders {
		missing := filepath.Join(folder, "missing.json")
		err := load(missing)
		if want := missing + ": no such file or directory (calibrate writes it)"; err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v does not wrap fs.ErrNotExist", name, err)
		}
		if err, want := load(folder), folder+": is a directory (want a file)"; err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
		allocated := allocatedBy(func() { err = load(huge) })
		if want := huge + ": holds 629145600 bytes (want at most 536870912)"; err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
		if allocated > 1<<20 {
			t.Errorf("%s allocated %d bytes to refuse a huge file", name, allocated)
		}
	}
	endless := io.MultiReader(strings.NewReader(`{"schema_version": "1.0", "hosts": [`), spaces{})
	_, err := readAll(endless, 1<<20)
	if want := "holds more than 1048576 bytes"; err == nil || err.Error() != want {
		t.Errorf("endless text: error %v, want %s", err, want)
	}
}

func TestSaveRefusesWhatCannotBeRead(t *testing.T) {
	f := example()
	f.Hosts[0].Warnings = slices.Repeat([]string{strings.Repeat("x", 1000)}, MaxHostBytes/1000)
	if _, err := f.WriteTo(io.Discard); err == nil {
		t.Error("a file that is too large was written")
	}
}

func TestIndex(t *testing.T) {
	want := example()
	want.normalise()
	text := encoded(t, want)
	x, err := ReadIndex(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Entries) != 2 || x.SchemaVersion != "2.3" {
		t.Fatalf("index %+v", x)
	}
	for i := range x.Entries {
		e := &x.Entries[i]
		host := want.Host(e.ID)
		if host == nil || !reflect.DeepEqual(e.Facts, host.Facts) || e.Simulated != host.Simulated ||
			e.Created != host.Created.Format(time.RFC3339) {
			t.Errorf("entry %+v", e)
		}
		got, err := e.Host()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(host, got); diff != "" {
			t.Errorf("host (-want +got):\n%s", diff)
		}
	}

	// A mistake in one host leaves the others usable.
	broken := bytes.Replace(text, []byte(`"blocks": 60`), []byte(`"blocks": -1`), 1)
	x, err = ReadIndex(bytes.NewReader(broken))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Entries[0].Host(); err != nil {
		t.Error(err)
	}
	message := `hosts[1] "apple-m3-max-40": case "fft/batch=1": blocks is -1 (want a finite number, at least 0)`
	if _, err := x.Entries[1].Host(); err == nil || err.Error() != message {
		t.Errorf("error\n got %v\nwant %s", err, message)
	}

	for name, text := range map[string]string{
		"line 1: the file is cut short (" + remedy + ")":                                                      `{"schema_version": "1.0", "hosts": [{"id": "a"`,
		"line 2: not JSON, invalid character '}' after top-level value (" + remedy + ")":                      "{\"schema_version\": \"1.0\", \"hosts\": []}\n}",
		"line 1: not JSON, invalid character '{' after array element (" + remedy + ")":                        `{"schema_version": "1.0", "hosts": [{"id": "a"} {}]}`,
		"line 1: not JSON, invalid character '\"' after object key (" + remedy + ")":                          `{"schema_version" "1.0"}`,
		"line 1: not JSON, invalid character '7' looking for beginning of object key string (" + remedy + ")": `{7: "1.0"}`,
		"line 1: not JSON, invalid character ',' looking for beginning of value (" + remedy + ")":             `{"x": ,}`,
		"line 2: not JSON, invalid character '<' looking for beginning of object key string (" + remedy + ")": "{\"schema_version\": \"1.0\", \"hosts\": [{\"facts\": {\n<<<<<<< \"}}]}",
		"the file is empty (" + remedy + ")":                                                                  "",
		"the file is compressed (decompress it with gunzip)":                                                  gzipMagic,
		"schema_version 7.0 is newer than 2.3; update crossover":                                              `{"schema_version": "7.0", "hosts": []}`,
	} {
		if _, err := ReadIndex(strings.NewReader(text)); err == nil || err.Error() != "calibration: "+name {
			t.Errorf("%s: error %v, want %s", text, err, name)
		}
	}
}

// FuzzRead looks for text that panics, that Save would not write back, or that the index and the whole file read
// differently.
func FuzzRead(f *testing.F) {
	valid := example()
	f.Add(encoded(f, valid))
	f.Add(encoded(f, &File{}))
	f.Add([]byte(encodedAsIs(f, valid)))
	f.Add(bytes.Replace(encoded(f, valid), []byte(`"cores": 16,`), []byte(`"cores": 16, "core_kinds": [],`), 1))
	for _, seed := range []string{
		"", "{", "[]", "null", `"\`, `{"schema_version":"2.9","hosts":[]}`, `{"schema_version":"1.0","hosts":[{}]}`,
		`{"schema_version":"1.0","hosts":[{"id":"a","ID":"b"}],"hosts":[]}`, `{"schema_version":"1.0","hosts":[]}x`,
		`{"\u0068osts":[],"schema_version":"1.0"}`, "\ufeff{}", `{"hosts":[[[[[[`, `{"a":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		index, indexErr := ReadIndex(bytes.NewReader(text))
		if indexErr == nil {
			for i := range index.Entries {
				index.Entries[i].Host()
			}
		} else if strings.Contains(indexErr.Error(), "\n") {
			t.Errorf("the error has more than one line: %q", indexErr)
		}
		file, err := Read(bytes.NewReader(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has more than one line: %q", err)
			}
			return
		}
		if indexErr != nil {
			t.Fatalf("Read accepts what ReadIndex refuses: %v", indexErr)
		}
		for i := range index.Entries {
			host, err := index.Entries[i].Host()
			if err != nil {
				t.Fatalf("Read accepts what Entry.Host refuses: %v", err)
			}
			if !reflect.DeepEqual(host, file.Host(index.Entries[i].ID)) {
				t.Fatalf("Read and Entry.Host differ on %q", host.ID)
			}
		}
		file.SchemaVersion = SchemaVersion
		for i := range file.Hosts {
			file.Hosts[i].Edited = false
		}
		first := encoded(t, file)
		again, err := Read(bytes.NewReader(first))
		if err != nil {
			t.Fatalf("Read refuses what was saved: %v\n%s", err, first)
		}
		if !reflect.DeepEqual(file, again) {
			t.Fatalf("saved and read again (-want +got):\n%s", cmp.Diff(file, again))
		}
		if second := encoded(t, again); !bytes.Equal(first, second) {
			t.Fatalf("the second save differs:\n%s", cmp.Diff(string(first), string(second)))
		}
	})
}

// Fields that a sweep did not record are left out. A file from before these fields existed is still valid.
func TestWhatTheSentinelDidNotSee(t *testing.T) {
	f := &File{SchemaVersion: SchemaVersion, Hosts: []Host{m3()}}
	h := &f.Hosts[0]
	h.Warnings = nil
	h.Environment.Sentinel = &Sentinel{Processors: 1, Baseline: SentinelTimes{OneProcessorSeconds: 65e-6}}
	text := string(encoded(t, f))
	for _, absent := range []string{"handover", "processors_ratio", "kept"} {
		if strings.Contains(text, absent) {
			t.Errorf("the file has %q:\n%s", absent, text)
		}
	}
	var fields struct{ Hosts []map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	if _, warned := fields.Hosts[0]["warnings"]; warned {
		t.Errorf("the host has warnings:\n%s", text)
	}
	if err := validateText(t, compiledSchema(t), []byte(text)); err != nil {
		t.Error(err)
	}
	h.Environment.Sentinel = nil
	text = string(encoded(t, f))
	if strings.Contains(text, "sentinel") {
		t.Errorf("the file has a sentinel:\n%s", text)
	}
	if err := validateText(t, compiledSchema(t), []byte(text)); err != nil {
		t.Error(err)
	}
	noted := strings.Replace(text, `"cases"`, `"warnings": [], "cases"`, 1)
	read, err := Read(strings.NewReader(noted))
	if err != nil || read.Hosts[0].Environment.Sentinel != nil {
		t.Fatalf("%v, %+v", err, read)
	}
	if diff := cmp.Diff(text, string(encoded(t, read))); diff != "" {
		t.Errorf("no warnings and an empty list of them differ:\n%s", diff)
	}
	read.Hosts[0].Edited = false
	again, err := Read(strings.NewReader(text))
	if err != nil || !reflect.DeepEqual(read, again) {
		t.Errorf("%v; read back differs:\n%s", err, cmp.Diff(read, again))
	}
}
