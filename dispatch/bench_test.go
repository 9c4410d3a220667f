package dispatch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/calibration/surface"
	"crossover/host"
)

// sink keeps the compiler from removing code whose result is not used.
var sink int

// Both benchmarks take the next size from the answer before, so that no answer can be computed ahead or left out. Both stay
// within a few sizes of 4096, like a program that always calls with one size.

func BenchmarkChoose(b *testing.B) {
	for _, size := range []int{64, 4096, 1 << 20} {
		b.Run(fmt.Sprintf("case=fft/n=%d", size), func(b *testing.B) {
			d, err := New(testFile(), WithHost(m3Max))
			if err != nil {
				b.Fatal(err)
			}
			fft := d.Case("fft/batch=1")
			n := size
			for b.Loop() {
				n = size + len(fft.Choose(n))&1
			}
			sink = n
		})
	}
}

// threshold is a variable, so that the comparison is with a value from the start of a program and not with a constant.
var threshold = 2048

func BenchmarkHardCoded(b *testing.B) {
	const size = 4096
	b.Run("case=fft/n=4096", func(b *testing.B) {
		n := size
		for b.Loop() {
			implementation := "accelerate"
			if n >= threshold {
				implementation = "metal"
			}
			n = size + len(implementation)&1
		}
		sink = n
	})
}

func BenchmarkChooseGPUBusy(b *testing.B) {
	file := testFile()
	for i := range file.Hosts[1].Cases[1].Implementations[:3] {
		file.Hosts[1].Cases[1].Implementations[i].Cost.Exponent = 1.1
	}
	d, err := New(file, WithHost(m3Max))
	if err != nil {
		b.Fatal(err)
	}
	d.SetGPUWait(time.Millisecond)
	fft := d.Case("fft/batch=1")
	n := 16384
	for b.Loop() {
		n = 16384 + len(fft.Choose(n))&1
	}
	sink = n
}

// BenchmarkDecision compares ways to decide on an implementation, from a comparison in the program's code to a prediction at
// a new shape, and what recording adds. The surface is as large as any: 250 shapes, 8 implementations, 8 features.
func BenchmarkDecision(b *testing.B) {
	d, name := wideDispatcher(b)
	measured, cut, onGPU, operation := d.Case("fft/batch=1"), d.Case(name+"/taps=512"), d.Case("matmul/m=64,k=64"), d.Operation(name)
	recording, _ := wideDispatcher(b)
	r, err := recording.Record(filepath.Join(b.TempDir(), "shapes.txt"))
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	measuredRecorded, operationRecorded := recording.Case("fft/batch=1"), recording.Operation(name)
	for _, by := range []struct {
		name   string
		decide func(n int) string
	}{
		{"if", func(n int) string {
			if n >= threshold {
				return "metal"
			}
			return "accelerate"
		}},
		{"measured", func(n int) string { return measured.Choose(n) }},
		{"cut", func(n int) string { return cut.Choose(n) }},
		{"cut-gpu", func(n int) string { return onGPU.Choose(n) }},
		{"shape-hit", func(n int) string { return operation.ChooseShape(512, n) }},
		{"measured-recorded", func(n int) string { return measuredRecorded.Choose(n) }},
		{"shape-hit-recorded", func(n int) string { return operationRecorded.ChooseShape(512, n) }},
	} {
		b.Run("by="+by.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 4096
			for b.Loop() {
				n = 4096 + len(by.decide(n))&1
			}
			sink = n
		})
	}
	b.Run("by=shape-miss", func(b *testing.B) {
		b.ReportAllocs()
		n := 4096
		for b.Loop() {
			n = 4096 + (n+1)&(1<<20-1) + len(operation.ChooseShape(512, n))&1
		}
		sink = n
	})
}

// wideDispatcher returns a dispatcher with a large surface, and the name of its operation.
func wideDispatcher(tb testing.TB) (d *Dispatcher, operation string) {
	tb.Helper()
	file := predictedFile()
	file.Hosts[1].Operations[2] = randomOperation(rand.New(rand.NewPCG(1, 2)), 250)
	d, err := New(file, WithHost(m3Max))
	if err != nil {
		tb.Fatal(err)
	}
	return d, file.Hosts[1].Operations[2].Name
}

// BenchmarkCase makes a measured case and one that is cut from a surface.
func BenchmarkCase(b *testing.B) {
	d, operation := wideDispatcher(b)
	for _, name := range []string{"fft/batch=1", operation + "/taps=512"} {
		b.Run("case="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := &Case{name: name} // a case that the dispatcher does not know
				d.mu.Lock()
				c.table.Store(d.newTable(c))
				d.mu.Unlock()
				sink += len(c.Choose(4096))
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	path, facts := manyHosts(b, 17, 14)
	file, err := calibration.Load(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("hosts=32/operations=14", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := New(file, WithHost(facts)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkLoad loads one of 32 hosts. The last file has the whole catalogue of fifty operations in two placements, and some
// four megabytes a host.
func BenchmarkLoad(b *testing.B) {
	for _, of := range []struct{ cases, operations int }{{17, 0}, {17, 14}, {200, 100}} {
		b.Run(fmt.Sprintf("hosts=32/cases=%d/operations=%d", of.cases, of.operations), func(b *testing.B) {
			path, facts := manyHosts(b, of.cases, of.operations)
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Load(path, WithHost(facts)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(info.Size())/32, "B/host")
		})
	}
}

// BenchmarkLoadMeasured loads a host that was really calibrated, of 32 copies of the repository's two.
func BenchmarkLoadMeasured(b *testing.B) {
	measured, err := calibration.Load(filepath.Join("..", "calibration.json"))
	if err != nil {
		b.Fatal(err)
	}
	file := &calibration.File{}
	for h := range 32 {
		entry := measured.Hosts[h%len(measured.Hosts)]
		entry.Facts.CPUModel = strconv.Itoa(100 + h)
		entry.ID = host.Facts(entry.Facts).ID()
		file.Hosts = append(file.Hosts, entry)
	}
	path := filepath.Join(b.TempDir(), "calibration.json")
	if err := calibration.Save(path, file); err != nil {
		b.Fatal(err)
	}
	for k := range measured.Hosts {
		facts := host.Facts(measured.Hosts[k].Facts)
		facts.CPUModel = strconv.Itoa(100 + k)
		b.Run("hosts=32/like="+measured.Hosts[k].ID, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d, err := Load(path, WithHost(facts))
				if err != nil || d.Fallback() != "" {
					b.Fatal(err, d.Fallback())
				}
			}
		})
	}
}

// TestLoadAllocation bounds the bytes that Load allocates to read one host of many.
func TestLoadAllocation(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector, which tests run under with -short, doubles what is allocated")
	}
	for _, operations := range []int{0, 14} {
		path, facts := manyHosts(t, 17, operations)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, err := Load(path, WithHost(facts))
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if d.Fallback() != "" {
			t.Fatalf("the host was not found: %s", d.Fallback())
		}
		allocated := after.TotalAlloc - before.TotalAlloc
		t.Logf("%d bytes allocated for a file of %d bytes with %d operations", allocated, info.Size(), operations)
		if most := uint64(4*info.Size()/32 + 1<<20); allocated >= most {
			t.Errorf("Load allocated %d bytes (want less than %d)", allocated, most)
		}
		if got := d.Operation("operation-3").ChooseShape(512, 4096); operations > 0 && got == CPU {
			t.Error("nothing is predicted")
		}
	}
}

// manyHosts saves a file of 32 hosts, with cases of 5 implementations and 3 segments each, and operations with surfaces of 350
// shapes and 8 implementations. It returns the path of the file and the facts of its last host.
func manyHosts(tb testing.TB, cases, operations int) (path string, facts host.Facts) {
	tb.Helper()
	file := &calibration.File{}
	random := rand.New(rand.NewPCG(1, 2))
	for h := range 32 {
		facts = zen4(64, "")
		facts.Chip = fmt.Sprintf("AMD EPYC 9%03d", h)
		entry := newHost(facts)
		for c := range cases {
			recorded := calibration.Case{
				Name: fmt.Sprintf("matmul/m=%d", c), Operation: "matmul", Parameters: map[string]int{"m": c},
				Axis:    calibration.Axis{Name: "n", Unit: "rows", From: 1, To: 3000},
				Verdict: calibration.Crossover, TieBand: 0.03, Blocks: 600, ExpectedRegret: 0.0123,
				Warnings: []string{"the cost model of implementation-2 is off by 12 % at the median"},
			}
			for size := 1; size <= 3000; size += 1 + size/4 {
				recorded.Sizes = append(recorded.Sizes, size)
			}
			for i := range 5 {
				recorded.Implementations = append(recorded.Implementations, calibration.Implementation{
					Name: fmt.Sprintf("implementation-%d", i), Processor: "cpu", Version: "3.21.0", RelativeError: 1.2345e-7,
					Cost: &calibration.Cost{FixedSeconds: 1.2345e-6, SizeSeconds: 2.3456e-9, Exponent: 1.2345, Residual: 0.0456},
				})
			}
			for s := range 3 {
				segment := calibration.Segment{From: 1 + 1000*s, To: 1000 * (s + 1),
					Implementation: recorded.Implementations[s].Name}
				if s > 0 {
					segment.Interval = &calibration.Interval{Low: 1000*s - 90, High: 1000*s + 90}
				}
				for i := range recorded.Implementations {
					if i != s {
						segment.Next = append(segment.Next, calibration.Alternative{
							Implementation: recorded.Implementations[i].Name, Slowdown: 1.2345 + float64(i)})
					}
				}
				recorded.Segments = append(recorded.Segments, segment)
			}
			entry.Cases = append(entry.Cases, recorded)
		}
		for i := range operations {
			o := randomOperation(random, 350)
			o.Name = fmt.Sprintf("operation-%d", i)
			shorten(&o.Surface)
			entry.Operations = append(entry.Operations, o)
		}
		file.Hosts = append(file.Hosts, entry)
	}
	path = filepath.Join(tb.TempDir(), "calibration.json")
	if err := calibration.Save(path, file); err != nil {
		tb.Fatal(err)
	}
	return path, facts
}

// shorten rounds the numbers of a surface as a calibration does.
func shorten(s *surface.Surface) {
	for i := range s.Implementations {
		for k, v := range s.Implementations[i].Linear {
			s.Implementations[i].Linear[k] = math.Round(v*1e7) / 1e7
		}
		for k, v := range s.Implementations[i].Weights {
			s.Implementations[i].Weights[k] = math.Round(v*1e5) / 1e5
		}
	}
}
