package dispatch

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/host"
)

var update = flag.Bool("update", false, "write testdata anew")

var (
	m3Max = host.Facts{Chip: "Apple M3 Max", Family: "apple-m3", Architecture: "arm64", Cores: 16, Vendor: "Apple",
		CPUFamily: "0x72015832", CPUModel: "0x5", GPU: "Apple M3 Max", GPUCores: 40}
	m3 = host.Facts{Chip: "Apple M3", Family: "apple-m3", Architecture: "arm64", Cores: 8, Vendor: "Apple",
		CPUFamily: "0xfa33415e", CPUModel: "0x2", GPU: "Apple M3", GPUCores: 10}
	// epyc has no GPU, and epycH200 has one. The calibration of one is not that of the other.
	epyc     = zen4(2, "")
	epycH200 = zen4(16, "NVIDIA H200")
	xeon     = host.Facts{Chip: "Intel Xeon", Family: "intel-xeon", Architecture: "amd64", Cores: 8, Vendor: "GenuineIntel",
		CPUFamily: "6", CPUModel: "207", Stepping: "2"}
)

// zen4 is a machine in a cloud's description. A Zen 5 has the same chip name there.
func zen4(cores int, gpu string) host.Facts {
	return host.Facts{Chip: "AMD EPYC", Family: "amd-epyc", Architecture: "amd64", Cores: cores, Vendor: "AuthenticAMD",
		CPUFamily: "25", CPUModel: "17", Stepping: "1", L1DataBytes: 32 << 10, L2Bytes: 1 << 20, GPU: gpu}
}

var calibrated = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// newHost returns a valid entry without cases.
func newHost(facts host.Facts) calibration.Host {
	return calibration.Host{
		ID: facts.ID(), Facts: calibration.Facts(facts), Created: calibrated,
		Environment: calibration.Environment{OS: "linux", ToolVersion: "made up for tests", Power: "mains", Thermal: "nominal", Load: -1},
		Method:      calibration.Method{Mode: "latency", State: "warm", TieBand: 0.03},
	}
}

// testCases returns an FFT with segments of go, accelerate and a GPU and with costs, and a case of each other verdict.
func testCases(gpu string) []calibration.Case {
	cost := func(fixed, size float64) *calibration.Cost {
		return &calibration.Cost{FixedSeconds: fixed, SizeSeconds: size, Exponent: 1}
	}
	next := func(names ...string) (alternatives []calibration.Alternative) {
		for i, name := range names {
			alternatives = append(alternatives, calibration.Alternative{Implementation: name, Slowdown: 1.5 + float64(i)})
		}
		return alternatives
	}
	implementations := []calibration.Implementation{
		{Name: "go", Processor: "cpu", Cost: cost(0, 20e-9)},
		{Name: "accelerate", Processor: "cpu", Cost: cost(1e-6, 10e-9)},
		{Name: gpu, Processor: "gpu", Cost: cost(50e-6, 1e-9)},
		{Name: "mps", Processor: "gpu", Excluded: "computes NaN"},
	}
	axis := calibration.Axis{Name: "n", Unit: "samples", From: 64, To: 65536}
	return []calibration.Case{
		{Name: "conv1d/taps=512", Operation: "conv1d", Axis: axis, Implementations: implementations,
			Verdict: calibration.Unresolved, Reason: "the machine was never quiet"},
		{Name: "fft/batch=1", Operation: "fft", Axis: axis, Implementations: implementations,
			Verdict: calibration.Crossover, Segments: []calibration.Segment{
				{From: 64, To: 511, Implementation: "go", Next: next("accelerate", gpu)},
				{From: 512, To: 8191, Implementation: "accelerate", Next: next("go", gpu),
					Interval: &calibration.Interval{Low: 400, High: 600}},
				{From: 8192, To: 65536, Implementation: gpu, Next: next("accelerate", "go"),
					Interval: &calibration.Interval{Low: 7000, High: 9000}},
			}},
		{Name: "fft/batch=64", Operation: "fft", Axis: axis, Implementations: implementations, Verdict: calibration.Always,
			Segments: []calibration.Segment{{From: 64, To: 65536, Implementation: gpu, Next: next("accelerate")}}},
		{Name: "lstm/hidden=64", Operation: "lstm", Axis: axis, Implementations: implementations,
			Verdict: calibration.Unresolved, Reason: "few blocks",
			Segments: []calibration.Segment{{From: 64, To: 65536, Implementation: "go"}}},
		{Name: "sum", Operation: "sum", Axis: axis, Implementations: implementations, Verdict: calibration.Tie,
			Segments: []calibration.Segment{{From: 64, To: 65536, Implementation: "go", Next: next("accelerate")}}},
	}
}

// testFile returns the calibration of an M3 Max and of an EPYC with an H200.
func testFile() *calibration.File {
	apple, nvidia := newHost(m3Max), newHost(epycH200)
	apple.Cases, nvidia.Cases = testCases("metal"), testCases("cuda")
	return &calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{nvidia, apple}}
}

// newDispatcherFor returns a dispatcher twelve days after the calibration.
func newDispatcherFor(t *testing.T, file *calibration.File, facts host.Facts, options ...Option) *Dispatcher {
	t.Helper()
	clock := WithClock(func() time.Time { return calibrated.Add(12 * 24 * time.Hour) })
	d, err := New(file, append([]Option{WithHost(facts), clock}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// expect compares Choose and Explain with the wanted implementation and reason.
func expect(t *testing.T, c *Case, size int, want, reason string) {
	t.Helper()
	if got := c.Choose(size); got != want {
		t.Errorf("Choose(%d) = %q, want %q", size, got, want)
	}
	e := c.Explain(size)
	if e.Implementation != want || !strings.Contains(e.Reason, reason) {
		t.Errorf("Explain(%d) = %q because of %q, want %q because of %q", size, e.Implementation, e.Reason, want, reason)
	}
	if text := e.String(); strings.Contains(text, "\n") || !strings.Contains(text, want) {
		t.Errorf("Explain(%d) in a sentence: %q", size, text)
	}
}

func TestChoose(t *testing.T) {
	fft := newDispatcherFor(t, testFile(), m3Max).Case("fft/batch=1")
	for _, test := range []struct {
		size   int
		want   string
		beyond bool
	}{
		{1, "go", true}, {63, "go", true}, {64, "go", false}, {511, "go", false},
		{512, "accelerate", false}, {8191, "accelerate", false}, {8192, "metal", false}, {65536, "metal", false},
		{65537, "metal", true}, {1 << 40, "metal", true},
	} {
		expect(t, fft, test.size, test.want, "fastest measured")
		e := fft.Explain(test.size)
		if e.BeyondRange != test.beyond || strings.Contains(e.String(), "beyond the measured range, 64 to 65536") != test.beyond {
			t.Errorf("%d: beyond the measured range: %v, want %v (%s)", test.size, e.BeyondRange, test.beyond, e)
		}
	}
}

// What was measured while the machine was not quiet is said to be.
func TestExplainDegraded(t *testing.T) {
	file := testFile()
	for _, h := range file.Hosts {
		for k := range h.Cases {
			h.Cases[k].Degraded = h.Cases[k].Name != "sum"
		}
	}
	d := newDispatcherFor(t, file, m3Max)
	const said = "measured on apple-m3-max-40 12 days ago, while the machine was not quiet"
	for name, want := range map[string]bool{"fft/batch=1": true, "sum": false, "quicksort": false} {
		for _, size := range []int{4096, 1 << 20} {
			if e := d.Case(name).Explain(size); e.Degraded != want || strings.Contains(e.String(), said) != want {
				t.Errorf("%s at %d: degraded is %v, want %v (%s)", name, size, e.Degraded, want, e)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	d := newDispatcherFor(t, testFile(), m3Max)
	e := d.Case("fft/batch=1").Explain(4096)
	if e.Case != "fft/batch=1" || e.Size != 4096 || e.Unit != "samples" || e.From != 512 || e.To != 8191 ||
		*e.Interval != (calibration.Interval{Low: 400, High: 600}) || e.MeasuredFrom != 64 || e.MeasuredTo != 65536 ||
		e.Host != "apple-m3-max-40" || e.Simulated || e.Age != 12*24*time.Hour || e.Fallback != "" {
		t.Errorf("explanation %+v", e)
	}
	tests := map[string]string{
		"fft/batch=1": "fft/batch=1 at 4096 samples: accelerate, fastest measured; segment 512 to 8191, " +
			"its threshold within 400 to 600 at 95 %; measured on apple-m3-max-40 12 days ago",
		"fft/batch=64": "fft/batch=64 at 4096 samples: metal, fastest at every measured size; segment 64 to 65536; " +
			"measured on apple-m3-max-40 12 days ago",
		"sum": "sum at 4096 samples: go, as fast as any; segment 64 to 65536; measured on apple-m3-max-40 12 days ago",
		"lstm/hidden=64": "lstm/hidden=64 at 4096 samples: go, likely the fastest, but the measurements do not decide " +
			"(few blocks); segment 64 to 65536; measured on apple-m3-max-40 12 days ago",
		"conv1d/taps=512": "conv1d/taps=512 at 4096 samples: cpu, the measurements do not decide " +
			"(the machine was never quiet)",
		"ftt/batch=1": `ftt/batch=1 at 4096: cpu, the calibration of apple-m3-max-40 has no case "ftt/batch=1" ` +
			"(did you mean fft/batch=1, fft/batch=64?)",
		"fft": `fft at 4096: cpu, the calibration of apple-m3-max-40 has no case "fft" ` +
			"(did you mean fft/batch=1, fft/batch=64?)",
		"quicksort/items=3": `quicksort/items=3 at 4096: cpu, the calibration of apple-m3-max-40 has no case "quicksort/items=3"`,
	}
	for name, want := range tests {
		if got := d.Case(name).Explain(4096).String(); got != want {
			t.Errorf("explanation\n got %s\nwant %s", got, want)
		}
	}
}

// A choice that rests on few sizes is explained with that, whatever the verdict.
func TestExplainFewSizes(t *testing.T) {
	file := testFile()
	for _, h := range file.Hosts {
		for k := range h.Cases {
			h.Cases[k].Reason = "only two sizes were measured"
		}
	}
	d := newDispatcherFor(t, file, m3Max)
	for _, name := range []string{"fft/batch=1", "fft/batch=64", "sum", "lstm/hidden=64"} {
		if e := d.Case(name).Explain(4096); !strings.HasSuffix(e.Reason, " (only two sizes were measured)") {
			t.Errorf("%s: %s", name, e)
		}
	}
}

func TestEntries(t *testing.T) {
	simulated := newHost(m3)
	simulated.Simulated = true
	simulated.Cases = testCases("metal")
	later := newHost(host.Facts{Chip: "Apple M3 Pro", Family: "apple-m3", Architecture: "arm64", Cores: 12, GPUCores: 18,
		GPU: "Apple M3 Pro"})
	later.Created = calibrated.Add(time.Hour)
	rosetta := newHost(host.Facts{Chip: "Apple M3 Ultra", Family: "apple-m3", Architecture: "amd64", Cores: 32})
	rosetta.Created = calibrated.Add(48 * time.Hour)
	simulatedPro := later
	simulatedPro.Simulated = true
	unknown := newHost(host.Facts{Chip: "unknown amd64", Architecture: "amd64", Cores: 4})
	with := func(hosts ...calibration.Host) *calibration.File {
		file := testFile()
		file.Hosts = append(file.Hosts, hosts...)
		return file
	}
	tests := []struct {
		name     string
		file     *calibration.File
		facts    host.Facts
		options  []Option
		want     string // id of the entry
		fallback string
	}{
		{"this host", testFile(), m3Max, nil, "apple-m3-max-40", ""},
		{"a sibling", testFile(), m3, nil, "apple-m3-max-40",
			"no entry for apple-m3-10, so the near match apple-m3-max-40 stands in: its chip is Apple M3 Max and this host's is Apple M3"},
		{"the most recent sibling of the same architecture", with(rosetta, later), m3, nil, "apple-m3-pro-18",
			"no entry for apple-m3-10, so the near match apple-m3-pro-18 stands in: its chip is Apple M3 Pro and this host's is Apple M3"},
		{"a sibling of another architecture", &calibration.File{Hosts: []calibration.Host{rosetta}}, m3, nil,
			"apple-m3-ultra-32", "no entry for apple-m3-10, so the near match apple-m3-ultra-32 stands in: it was measured as amd64 and this program is arm64"},
		{"nobody", testFile(), xeon, nil, "",
			"no entry for intel-xeon-f6m207s2-8 and none for its family, intel-xeon (the file has amd-epyc-f25m17s1-16-nvidia-h200, apple-m3-max-40)"},
		{"nobody, of many", with(later, rosetta, unknown), xeon, nil, "",
			"no entry for intel-xeon-f6m207s2-8 and none for its family, intel-xeon (the file has amd-epyc-f25m17s1-16-nvidia-h200, " +
				"apple-m3-max-40, apple-m3-pro-18, apple-m3-ultra-32 and 1 more)"},
		{"unknown chips are no family", with(unknown),
			host.Facts{Chip: "unknown amd64", Architecture: "amd64", Cores: 2}, nil, "",
			"no entry for unknown-amd64-2 and none for its family (the file has amd-epyc-f25m17s1-16-nvidia-h200, apple-m3-max-40, unknown-amd64-4)"},
		{"a simulation of this host, with a measured sibling", with(simulated), m3, nil, "apple-m3-max-40",
			"no measured entry for apple-m3-10, so the near match apple-m3-max-40 stands in: its chip is Apple M3 Max and this host's is Apple M3"},
		{"a simulation of this host alone", &calibration.File{Hosts: []calibration.Host{simulated}}, m3, nil, "",
			"no measured entry for apple-m3-10 and none for its family, apple-m3 (the file has no measured host)"},
		{"a simulation that is allowed", with(simulated), m3, []Option{AllowSimulated()}, "apple-m3-10", ""},
		{"a measured sibling before a simulated one", with(simulatedPro), m3, []Option{AllowSimulated()}, "apple-m3-max-40",
			"no entry for apple-m3-10, so the near match apple-m3-max-40 stands in: its chip is Apple M3 Max and this host's is Apple M3"},
		{"an empty file", &calibration.File{}, m3, nil, "",
			"no entry for apple-m3-10 and none for its family, apple-m3 (the file has no measured host)"},
		{"no file", nil, m3, nil, "", "no calibration loaded"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := newDispatcherFor(t, test.file, test.facts, test.options...)
			e := d.Case("fft/batch=1").Explain(4096)
			if e.Host != test.want || e.Fallback != test.fallback || d.Fallback() != test.fallback {
				t.Errorf("host %q with fallback %q (dispatcher: %q)\nwant %q with %q", e.Host, e.Fallback, d.Fallback(),
					test.want, test.fallback)
			}
			if test.want == "" {
				expect(t, d.Case("fft/batch=1"), 1<<20, CPU, test.fallback)
			}
			if strings.Count(e.String(), "stands in") > 1 || !strings.Contains(e.String(), test.fallback) {
				t.Errorf("sentence %q", e)
			}

			// The same file, read from disk, gives the same entry.
			if test.file == nil {
				return
			}
			path := filepath.Join(t.TempDir(), "calibration.json")
			if err := calibration.Save(path, test.file); err != nil {
				t.Fatal(err)
			}
			loaded, err := Load(path, append(test.options, WithHost(test.facts))...)
			if err != nil {
				t.Fatal(err)
			}
			if got := loaded.Case("fft/batch=1").Explain(4096).Host; got != test.want || loaded.Fallback() != test.fallback {
				t.Errorf("loaded: host %q with fallback %q", got, loaded.Fallback())
			}
		})
	}
	e := newDispatcherFor(t, with(simulated), m3, AllowSimulated()).Case("sum").Explain(100)
	if !e.Simulated || !strings.Contains(e.String(), "simulated for apple-m3-10") {
		t.Errorf("a simulation is not called one: %s", e)
	}
}

// Two processors with one name are never taken for the same host. Of several near matches the nearest is picked.
func TestNearMatches(t *testing.T) {
	entryOf := func(facts host.Facts, age time.Duration) calibration.Host {
		h := newHost(facts)
		h.Created = calibrated.Add(-age)
		return h
	}
	zen5 := zen4(2, "")
	zen5.CPUFamily, zen5.CPUModel, zen5.L1DataBytes = "26", "2", 48<<10
	legacy := zen4(2, "")
	legacy.Vendor, legacy.CPUFamily, legacy.CPUModel, legacy.Stepping, legacy.L1DataBytes, legacy.L2Bytes = "", "", "", "", 0, 0
	otherCaches := zen4(2, "")
	otherCaches.L2Bytes = 2 << 20
	m2 := m3
	m2.Chip, m2.GPU, m2.Family, m2.CPUFamily = "Apple M2", "Apple M2", "apple-m2", "0xda33d83d"
	m2Pro := m2
	m2Pro.Chip, m2Pro.GPU, m2Pro.CPUModel = "Apple M2 Pro", "Apple M2 Pro", "0x4"

	const first = "no entry for amd-epyc-f25m17s1-2, so the near match "
	for name, c := range map[string]struct {
		facts    host.Facts
		hosts    []calibration.Host
		want     string
		fallback string
	}{
		"a Zen 5 for a Zen 4": {zen4(2, ""), []calibration.Host{entryOf(zen5, 0)}, "amd-epyc-f26m2s1-2", first +
			"amd-epyc-f26m2s1-2 stands in: its processor is AuthenticAMD family 26 model 2 stepping 1 and this host's is AuthenticAMD family 25 model 17 stepping 1"},
		"both": {zen4(2, ""), []calibration.Host{entryOf(zen5, 0), entryOf(zen4(2, ""), time.Hour)}, "amd-epyc-f25m17s1-2", ""},
		"a file of version 1.0": {zen4(2, ""), []calibration.Host{entryOf(legacy, 0)}, "amd-epyc-2", first +
			"amd-epyc-2 stands in: the file does not say which family, model and stepping its processor has"},
		"a system that does not say, either": {legacy, []calibration.Host{entryOf(legacy, 0)}, "amd-epyc-2",
			"no entry for amd-epyc-2, so the near match of that name stands in: neither the file nor this system says which family, model and stepping its processor has"},
		"more cores before another processor, also an older one": {zen4(2, ""),
			[]calibration.Host{entryOf(zen5, 0), entryOf(legacy, 0), entryOf(zen4(4, ""), time.Hour)}, "amd-epyc-f25m17s1-4", first +
				"amd-epyc-f25m17s1-4 stands in: it has 4 cores and this host has 2"},
		"the same GPU before the same processor": {zen4(2, "NVIDIA H200"),
			[]calibration.Host{entryOf(zen4(2, ""), 0), entryOf(withGPU(zen5, "NVIDIA H200"), time.Hour)}, "amd-epyc-f26m2s1-2-nvidia-h200",
			"no entry for amd-epyc-f25m17s1-2-nvidia-h200, so the near match amd-epyc-f26m2s1-2-nvidia-h200 stands in: its processor is " +
				"AuthenticAMD family 26 model 2 stepping 1 and this host's is AuthenticAMD family 25 model 17 stepping 1"},
		"other caches under the same id": {zen4(2, ""), []calibration.Host{entryOf(otherCaches, 0)}, "amd-epyc-f25m17s1-2", first +
			"of that name stands in: its caches are L1 32 KiB, L2 2 MiB and this host's are L1 32 KiB, L2 1 MiB"},
		"an M2 Pro for an M2": {m2, []calibration.Host{entryOf(m2Pro, 0)}, "apple-m2-pro-10",
			"no entry for apple-m2-10, so the near match apple-m2-pro-10 stands in: its chip is Apple M2 Pro and this host's is Apple M2"},
	} {
		d := newDispatcherFor(t, &calibration.File{Hosts: c.hosts}, c.facts)
		if e := d.Case("fft").Explain(1); e.Host != c.want || d.Fallback() != c.fallback {
			t.Errorf("%s: host %q with fallback %q\nwant %q with %q", name, e.Host, d.Fallback(), c.want, c.fallback)
		}
	}
}

func withGPU(f host.Facts, gpu string) host.Facts {
	f.GPU = gpu
	return f
}

func TestGPUOfAnotherHost(t *testing.T) {
	// The built-in GPU of another chip of the family is of the same kind.
	expect(t, newDispatcherFor(t, testFile(), m3).Case("fft/batch=1"), 65536, "metal", "fastest measured")
	// This host lacks the card, so a threshold measured with the card does not choose it.
	reason := "next best, as cuda was measured on another GPU"
	expect(t, newDispatcherFor(t, testFile(), epyc).Case("fft/batch=1"), 65536, "accelerate", reason)
	expect(t, newDispatcherFor(t, testFile(), epyc).Case("fft/batch=1", "cuda", "go"), 65536, "go", reason)
	h100 := epycH200
	h100.GPU = "NVIDIA H100"
	expect(t, newDispatcherFor(t, testFile(), h100).Case("fft/batch=1"), 65536, "accelerate", reason)
	fewer := epycH200
	fewer.Cores = 8
	expect(t, newDispatcherFor(t, testFile(), fewer).Case("fft/batch=1"), 65536, "cuda", "fastest measured")
}

func TestMissingImplementations(t *testing.T) {
	d := newDispatcherFor(t, testFile(), m3Max)
	tests := []struct {
		have   []string
		size   int
		want   string
		reason string
	}{
		{nil, 65536, "metal", "fastest measured"},
		{[]string{"go", "metal", "accelerate"}, 65536, "metal", "fastest measured"},
		{[]string{"go", "accelerate", "fftw"}, 65536, "accelerate", "next best, as metal is not there"},
		{[]string{"go"}, 65536, "go", "next best, as metal is not there, accelerate is not there"},
		{[]string{"go"}, 64, "go", "fastest measured"},
		{[]string{"metal"}, 64, "metal", "next best, as go is not there, accelerate is not there"},
		{[]string{"fftw"}, 64, CPU, "nothing on record can be used: go is not there, accelerate is not there, metal is not there"},
		{[]string{"mps"}, 65536, CPU, "nothing on record can be used"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.have, test.size), func(t *testing.T) {
			expect(t, d.Case("fft/batch=1", test.have...), test.size, test.want, test.reason)
		})
	}
}

func TestCaseIsKept(t *testing.T) {
	d := newDispatcherFor(t, testFile(), m3Max)
	have := []string{"metal", "go", "go"}
	c := d.Case("fft/batch=1", have...)
	if have[0] != "metal" {
		t.Error("Case sorted the caller's names")
	}
	if d.Case("fft/batch=1", "go", "metal") != c {
		t.Error("the same arguments gave another case")
	}
	if d.Case("fft/batch=1", "go") == c || d.Case("fft/batch=64", "go", "metal") == c {
		t.Error("other arguments gave the same case")
	}
}

func TestNilDispatcher(t *testing.T) {
	var d *Dispatcher
	expect(t, d.Case("fft/batch=1", "go", "metal"), 65536, CPU, "no calibration loaded")
	expect(t, new(Case), 65536, CPU, "no calibration loaded")
	if want := "fft at 1: cpu, no calibration loaded"; d.Case("fft").Explain(1).String() != want {
		t.Errorf("got %q, want %q", d.Case("fft").Explain(1), want)
	}
	if d.Fallback() != "no calibration loaded" {
		t.Errorf("fallback %q", d.Fallback())
	}
	if err := d.SetThermal("serious"); err != nil {
		t.Error(err)
	}
	if err := d.SetMemoryPressure("critical"); err != nil {
		t.Error(err)
	}
	d.SetGPUWait(time.Second)
	d.OnMemoryPressure(func() { t.Error("called") })()
	if d.Swap(nil) == nil || d.Reload("calibration.json") == nil {
		t.Error("a nil dispatcher took a calibration")
	}
}

func TestThermal(t *testing.T) {
	d := newDispatcherFor(t, testFile(), m3Max)
	fft, all := d.Case("fft/batch=1"), d.Case("fft/batch=64", "metal")
	for _, test := range []struct{ state, want, wantAlone string }{
		{"nominal", "metal", "metal"}, {"serious", "accelerate", CPU}, {"critical", "accelerate", CPU},
		{"fair", "metal", "metal"}, {"critical", "accelerate", CPU}, {"unknown", "metal", "metal"},
	} {
		if err := d.SetThermal(test.state); err != nil {
			t.Fatal(err)
		}
		reason := "fastest"
		if test.want != "metal" {
			reason = "metal runs on the GPU and the thermal state is " + test.state
		}
		expect(t, fft, 65536, test.want, reason)
		expect(t, fft, 100, "go", "fastest measured")
		expect(t, all, 65536, test.wantAlone, reason)
	}
	if err := d.SetThermal("serious"); err != nil {
		t.Fatal(err)
	}
	want := `dispatch: thermal state "hot" (want nominal, fair, serious, critical, unknown)`
	if err := d.SetThermal("hot"); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	expect(t, fft, 65536, "accelerate", "thermal state is serious")
	expect(t, d.Case("fft/batch=1", "metal", "go"), 65536, "go", "thermal state is serious") // a case taken later
}

func TestGPUWait(t *testing.T) {
	d := newDispatcherFor(t, testFile(), m3Max)
	fft := d.Case("fft/batch=1")
	// At 65536 the GPU is predicted to take 116 µs and accelerate 656 µs. So a wait of up to 541 µs is worth while.
	for _, test := range []struct {
		wait   time.Duration
		size   int
		want   string
		reason string
	}{
		{0, 65536, "metal", "fastest measured"},
		{530 * time.Microsecond, 65536, "metal",
			"the GPU is busy for 530µs, but with 116µs there that is within 656µs for accelerate"},
		{550 * time.Microsecond, 65536, "accelerate",
			"the GPU is busy for 550µs, and with 116µs there for metal that exceeds 656µs here"},
		{550 * time.Microsecond, 4096, "accelerate", "fastest measured"},
		{550 * time.Microsecond, 1 << 20, "metal", "the GPU is busy for 550µs"},
		{-time.Second, 65536, "metal", "fastest measured"},
	} {
		d.SetGPUWait(test.wait)
		expect(t, fft, test.size, test.want, test.reason)
	}

	d.SetGPUWait(time.Hour)
	expect(t, d.Case("fft/batch=1", "metal", "go"), 65536, "go", "the GPU is busy for 1h0m0s")
	expect(t, d.Case("fft/batch=1", "metal"), 65536, "metal", "no cost to predict by")
	file := testFile()
	for i := range file.Hosts {
		file.Hosts[i].Cases[1].Implementations[1].Cost = nil
	}
	if err := d.Swap(file); err != nil {
		t.Fatal(err)
	}
	expect(t, fft, 65536, "metal", "the GPU is busy for 1h0m0s, but the calibration has no cost to predict by")
}

func TestMemoryPressure(t *testing.T) {
	d := newDispatcherFor(t, testFile(), m3Max)
	var first, second int
	stop := d.OnMemoryPressure(func() { first++ })
	d.OnMemoryPressure(func() {
		second++
		d.Case("sum").Choose(1) // no lock is held
	})
	tell := func(level string) {
		t.Helper()
		if err := d.SetMemoryPressure(level); err != nil {
			t.Fatal(err)
		}
	}
	tell("warning")
	tell("normal")
	if first != 0 || second != 0 {
		t.Errorf("released %d and %d times before memory was critical", first, second)
	}
	tell("critical")
	stop()
	tell("critical")
	if first != 1 || second != 2 {
		t.Errorf("released %d and %d times, want 1 and 2", first, second)
	}
	want := `dispatch: memory pressure "low" (want normal, warning, critical)`
	if err := d.SetMemoryPressure("low"); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestForce(t *testing.T) {
	tests := []struct {
		name   string
		force  string
		file   *calibration.File
		ask    string
		have   []string
		want   string // at 65536
		reason string
	}{
		{"an operation", "fft=go", testFile(), "fft/batch=1", nil, "go", "CROSSOVER_FORCE asks for it"},
		{"another operation", "sum=go", testFile(), "fft/batch=1", nil, "metal", "fastest measured"},
		{"a case before its operation", "fft=go,fft/batch=1=accelerate", testFile(), "fft/batch=1", nil, "accelerate",
			"CROSSOVER_FORCE"},
		{"another case of the operation", "fft/batch=1=accelerate,fft=go", testFile(), "fft/batch=64", nil, "go",
			"CROSSOVER_FORCE"},
		{"what the program has", "fft=fftw", testFile(), "fft/batch=1", []string{"go", "fftw"}, "fftw", "CROSSOVER_FORCE"},
		{"what the program lacks", "fft=metal", testFile(), "fft/batch=1", []string{"go"}, "go",
			"next best, as metal is not there, accelerate is not there; CROSSOVER_FORCE asks for metal, which is not there"},
		{"what nobody recorded", "fft=cuda", testFile(), "fft/batch=1", nil, "metal",
			"fastest measured; CROSSOVER_FORCE asks for cuda, which is not there"},
		{"the default", "fft=cpu", testFile(), "fft/batch=1", []string{"go", "metal"}, CPU, "CROSSOVER_FORCE"},
		{"without a calibration", "stft/nfft=2048,hop=512=go", nil, "stft/nfft=2048,hop=512", []string{"go"}, "go",
			"CROSSOVER_FORCE"},
		{"an operation without a calibration", "stft=go", nil, "stft/nfft=2048,hop=512", []string{"go"}, "go",
			"CROSSOVER_FORCE"},
		{"a case that is not known", "mel=go", testFile(), "mel/bins=1025", []string{"go"}, "go", "CROSSOVER_FORCE"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(ForceVariable, test.force)
			d := newDispatcherFor(t, test.file, m3Max)
			expect(t, d.Case(test.ask, test.have...), 65536, test.want, test.reason)
		})
	}

	t.Run("stronger than policies", func(t *testing.T) {
		t.Setenv(ForceVariable, "fft=metal")
		d := newDispatcherFor(t, testFile(), m3Max)
		if err := d.SetThermal("critical"); err != nil {
			t.Fatal(err)
		}
		d.SetGPUWait(time.Hour)
		expect(t, d.Case("fft/batch=1"), 65536, "metal", "CROSSOVER_FORCE")
	})
	t.Run("malformed", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "calibration.json")
		if err := calibration.Save(path, testFile()); err != nil {
			t.Fatal(err)
		}
		t.Setenv(ForceVariable, "fft")
		want := `dispatch: CROSSOVER_FORCE: "fft" does not begin with operation= or operation/parameter=value= ` +
			"(want fft=go,conv1d/taps=512=go/fft)"
		if _, err := Load(path, WithHost(m3Max)); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if _, err := New(nil); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	})
}

func TestParseForce(t *testing.T) {
	known := []string{"fft", "fft/batch=1", "conv1d", "conv1d/taps=512", "stft", "stft/nfft=2048,hop=512", "resample",
		"resample/2:1", "lora/rank=8", "lora/rank"}
	accepted := map[string]map[string]string{
		"":                                   {},
		"  ":                                 {},
		"fft=go":                             {"fft": "go"},
		" fft=go , stft=fftw ":               {"fft": "go", "stft": "fftw"},
		"fft=go,conv1d/taps=512=go/fft":      {"fft": "go", "conv1d/taps=512": "go/fft"},
		"stft/nfft=2048,hop=512=go,fft=fftw": {"stft/nfft=2048,hop=512": "go", "fft": "fftw"},
		"istft/nfft=2048,hop=512=go,fft=x":   {"istft/nfft=2048,hop=512": "go", "fft": "x"},
		"resample/2:1=go":                    {"resample/2:1": "go"},
		"lora/rank=8=go,lora/rank=x":         {"lora/rank=8": "go", "lora/rank": "x"},
		"new/a=1=go":                         {"new/a=1": "go"},
	}
	for text, want := range accepted {
		got, err := parseForce(text, known)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	refused := map[string]string{
		"fft":               "does not begin with operation=",
		"fft=":              `"" is no implementation for "fft"`,
		"=go":               "does not begin with operation=",
		",":                 "does not begin with operation=",
		"fft=go,":           `"" does not begin with operation=`,
		"fft=go,,stft=go":   "does not begin with operation=",
		"fft=go,fft=fftw":   `"fft" is there twice`,
		"*=go":              `"*" is no operation`,
		"fft=go=fast":       `"go=fast" is no implementation for "fft"`,
		"conv1d/taps=512":   "does not begin with operation=",
		"conv1d/=go":        "does not begin with operation=",
		"conv1d/taps":       "does not begin with operation=",
		"conv1d/taps,x=1=a": "does not begin with operation=",
		"conv1d/taps==go":   "does not begin with operation=",
	}
	for text, want := range refused {
		if got, err := parseForce(text, known); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func FuzzParseForce(f *testing.F) {
	for _, seed := range []string{"fft=go", "a/b=1,c=2=d,e=f", "fft/batch=1", "=,/", "\x00", "0\n=", "0\n=a,0\n=a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		force, err := parseForce(text, []string{"fft", "fft/batch=1"})
		for name, implementation := range force {
			if name == "" || implementation == "" {
				t.Errorf("%q: %q = %q", text, name, implementation)
			}
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("the error has more than one line: %q", err)
		}
	})
}

func TestLoadErrors(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "calibration.json")
	_, err := Load(path)
	if want := "dispatch: " + path + ": no such file or directory (calibrate writes it)"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v does not wrap fs.ErrNotExist", err)
	}

	if err := calibration.Save(path, testFile()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(text), `"from": 8192`, `"from": 4096`, 1)
	if err := os.WriteFile(path, []byte(broken), 0o644); err != nil {
		t.Fatal(err)
	}
	want := "dispatch: " + path + `: hosts[0] "amd-epyc-f25m17s1-16-nvidia-h200": case "fft/batch=1": ` +
		"segment 3 starts at 4096 inside segment 2 (512..8191)"
	if _, err := Load(path, WithHost(epycH200)); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := Load(path, WithHost(epyc)); err == nil || err.Error() != want {
		t.Errorf("a sibling that is not valid: error %v, want %s", err, want)
	}
	if _, err := Load(path, WithHost(m3Max)); err != nil {
		t.Errorf("a mistake in another host: %v", err)
	}
	file := testFile()
	file.Hosts[1].Cases[1].Segments[2].From = 4096
	if _, err := New(file, WithHost(m3Max)); err == nil {
		t.Error("New took an entry that is not valid")
	}
}

func TestThisHost(t *testing.T) {
	mine := newHost(host.Identify())
	mine.Cases = testCases("metal")
	d, err := New(&calibration.File{Hosts: []calibration.Host{mine}})
	if err != nil {
		t.Fatal(err)
	}
	if d.Fallback() != "" {
		t.Errorf("this host's own entry was not picked: %s", d.Fallback())
	}
}

func TestSwapAndReload(t *testing.T) {
	d := newDispatcherFor(t, nil, m3Max)
	fft := d.Case("fft/batch=1")
	expect(t, fft, 65536, CPU, "no calibration loaded")
	if err := d.Swap(testFile()); err != nil {
		t.Fatal(err)
	}
	expect(t, fft, 65536, "metal", "fastest measured")

	broken := testFile()
	broken.Hosts[1].Created = time.Time{}
	if err := d.Swap(broken); err == nil {
		t.Error("Swap took an entry that is not valid")
	}
	expect(t, fft, 65536, "metal", "fastest measured")

	path := filepath.Join(t.TempDir(), "calibration.json")
	if err := d.Reload(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Reload of a missing file: %v", err)
	}
	expect(t, fft, 65536, "metal", "fastest measured")
	fresh := testFile()
	fresh.Hosts[1].Cases[1].Segments[1].To = 4095
	fresh.Hosts[1].Cases[1].Segments[2].From = 4096
	fresh.Hosts[1].Cases[1].Segments[2].Interval = nil
	if err := calibration.Save(path, fresh); err != nil {
		t.Fatal(err)
	}
	expect(t, fft, 4096, "accelerate", "fastest measured")
	if err := d.Reload(path); err != nil {
		t.Fatal(err)
	}
	expect(t, fft, 4096, "metal", "fastest measured")
	if err := d.Swap(nil); err != nil {
		t.Fatal(err)
	}
	expect(t, fft, 4096, CPU, "no calibration loaded")
}

// TestSwapUnderLoad changes everything that can change while calls run. It is a test for the race detector.
func TestSwapUnderLoad(t *testing.T) {
	d := newDispatcherFor(t, testFile(), m3Max)
	fft := d.Case("fft/batch=1")
	allowed := map[string]bool{"metal": true, "accelerate": true, CPU: true}
	var done atomic.Bool
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for !done.Load() {
				if got := fft.Choose(65536); !allowed[got] {
					t.Errorf("Choose = %q", got)
					return
				}
				if e := fft.Explain(65536); !allowed[e.Implementation] {
					t.Errorf("Explain = %+v", e)
					return
				}
				d.Case("sum", "go").Choose(100)
			}
		})
	}
	files := []*calibration.File{testFile(), nil, testFile()}
	for i := range 300 {
		if err := d.Swap(files[i%len(files)]); err != nil {
			t.Error(err)
		}
		if err := d.SetThermal([]string{"nominal", "critical"}[i%2]); err != nil {
			t.Error(err)
		}
		d.SetGPUWait(time.Duration(i%3) * time.Millisecond)
		d.OnMemoryPressure(func() {})()
		if err := d.SetMemoryPressure("critical"); err != nil {
			t.Error(err)
		}
		d.Fallback()
	}
	done.Store(true)
	callers.Wait()
}

func TestChooseAllocatesNothing(t *testing.T) {
	d := newDispatcherFor(t, testFile(), m3Max)
	fft, sizes := d.Case("fft/batch=1", "go", "accelerate", "metal"), []int{64, 4096, 65536}
	for name, wait := range map[string]time.Duration{"idle": 0, "GPU busy": time.Millisecond} {
		d.SetGPUWait(wait)
		if allocated := testing.AllocsPerRun(100, func() {
			for _, size := range sizes {
				sink += len(fft.Choose(size))
			}
		}); allocated != 0 {
			t.Errorf("%s: %v allocations", name, allocated)
		}
	}
}

// TestFactsConvert compiles only if the two descriptions of a machine have the same fields.
func TestFactsConvert(t *testing.T) {
	m5Pro := host.Facts{Chip: "Apple M5 Pro", CoreKinds: []host.CoreKind{{Name: "Super", Count: 6}, {Name: "Performance", Count: 12}}}
	for _, facts := range []host.Facts{m3Max, m5Pro, epycH200} {
		if !reflect.DeepEqual(host.Facts(calibration.Facts(facts)), facts) {
			t.Errorf("%s: facts changed on the way to a calibration and back", facts.Chip)
		}
	}
}

func TestNearestNames(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"fft", "stft", 2}, {"same", "same", 0}} {
		if got := editDistance(test.a, test.b); got != test.want || editDistance(test.b, test.a) != test.want {
			t.Errorf("distance of %q and %q = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestAge(t *testing.T) {
	for age, want := range map[time.Duration]string{
		0: "just now", 119 * time.Second: "just now", 2 * time.Minute: "2 minutes ago", 119 * time.Minute: "119 minutes ago",
		2 * time.Hour: "2 hours ago", 47 * time.Hour: "47 hours ago", 48 * time.Hour: "2 days ago",
	} {
		if got := ago(age); got != want {
			t.Errorf("%v: %q, want %q", age, got, want)
		}
	}
	d := newDispatcherFor(t, testFile(), m3Max, WithClock(func() time.Time { return calibrated.Add(-time.Hour) }))
	if age := d.Case("sum").Explain(1).Age; age != 0 {
		t.Errorf("a clock that is behind gives the age %v", age)
	}
}

// The age is that of the newest run that measured what decides, not that of the entry's first run.
func TestAgeOfTheNewestRun(t *testing.T) {
	file := askedFile()
	h := &file.Hosts[1]
	later := func(days int) time.Time { return calibrated.AddDate(0, 0, days) }
	for k := range h.Cases {
		switch h.Cases[k].Name {
		case "fft/batch=1":
			h.Cases[k].Run = 1
		case "matmul/square":
			h.Cases[k].Run = 2
		}
	}
	for _, days := range []int{3, 5} {
		h.Runs = append(h.Runs, calibration.Run{Created: later(days), Environment: h.Environment, Method: h.Method})
	}
	stft := h.Operation("stft", "caller")
	stft.Created = new(later(7))
	d := newDispatcherFor(t, file, m3Max, WithClock(func() time.Time { return later(12) }))
	for name, test := range map[string]struct {
		e    Explanation
		days int
	}{
		"a case of the first run":         {d.Case("fft/batch=64").Explain(4096), 12},
		"a case of a later run":           {d.Case("fft/batch=1").Explain(4096), 12 - 3},
		"a size that was asked for":       {d.Case("fft/batch=64").Explain(441), 12 - 3},
		"a shape that was asked for":      {d.Operation("fft").ExplainShape(441, 64), 12 - 3},
		"a predicted line":                {d.Case("stft/n_fft=1024,hop=256").Explain(9000), 12 - 7},
		"a predicted shape":               {d.Operation("stft").ExplainShape(1024, 256, 9000), 12 - 7},
		"a shape on a measured line":      {d.Operation("matmul").ExplainShape(400, 400, 400), 12 - 5},
		"a predicted shape by its cases":  {d.Operation("matmul").ExplainShape(400, 40, 40), 12 - 5},
		"a size of a line of jumps":       {d.Case("fft/batch=2").Explain(4096), 12 - 3},
		"a measured size where it jumps":  {d.Case("fft/n=512").Explain(1), 12 - 3},
		"an operation that is not known":  {d.Operation("wavelet").ExplainShape(3), 12},
		"a case that nobody has measured": {d.Case("wavelet/levels=3").Explain(3), 12},
	} {
		if want := time.Duration(test.days) * 24 * time.Hour; test.e.Age != want {
			t.Errorf("%s: an age of %v, want %v: %s", name, test.e.Age, want, test.e)
		}
	}
}

// TestDependencies keeps all packages that measure out of a program that only dispatches. On macOS package host asks
// the system's frameworks, which takes purego if cgo is off.
func TestDependencies(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command to list dependencies")
	}
	own := []string{"crossover/calibration", "crossover/calibration/surface", "crossover/dispatch", "crossover/dispatch/drift", "crossover/host"}
	for _, system := range []struct {
		name  string
		asked []string // packages that call the system's frameworks
	}{
		{name: "linux"},
		{name: "windows"},
		{name: "darwin", asked: []string{"github.com/ebitengine/purego", "github.com/ebitengine/purego/internal/fakecgo",
			"github.com/ebitengine/purego/internal/strings"}},
	} {
		list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "crossover/dispatch")
		list.Env = append(os.Environ(), "GOOS="+system.name, "GOARCH=arm64", "CGO_ENABLED=0")
		output, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		dependencies := strings.Fields(string(output))
		slices.Sort(dependencies)
		if want := slices.Concat(own, system.asked); !slices.Equal(dependencies, want) {
			t.Errorf("on %s dispatch depends on %v, want %v", system.name, dependencies, want)
		}
	}
}

// TestExampleFile compares the file of the examples with the one that the other tests use. To write it anew: go test
// -update.
func TestExampleFile(t *testing.T) {
	const path = "testdata/calibration.json"
	if *update {
		if err := calibration.Save(path, testFile()); err != nil {
			t.Fatal(err)
		}
	}
	var want bytes.Buffer
	if _, err := testFile().WriteTo(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is out of date (go test -update)", path)
	}
}
