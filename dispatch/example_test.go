package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"crossover/dispatch"
	"crossover/host"
)

// The examples run as if on this machine, on this day, so that their output never changes.
var (
	machine = dispatch.WithHost(host.Facts{Chip: "Apple M3 Max", Family: "apple-m3", Architecture: "arm64", Cores: 16,
		Vendor: "Apple", CPUFamily: "0x72015832", CPUModel: "0x5", GPU: "Apple M3 Max", GPUCores: 40})
	today = dispatch.WithClock(func() time.Time { return time.Date(2026, 11, 13, 12, 0, 0, 0, time.UTC) })
)

func ExampleLoad() {
	d, err := dispatch.Load("testdata/calibration.json", machine) // without options: the entry for this host
	if err != nil {
		log.Fatal(err)
	}
	fft := d.Case("fft/batch=1", "go", "metal") // what this program has
	for _, size := range []int{256, 4096, 65536} {
		switch fft.Choose(size) {
		case "metal":
			fmt.Println(size, "goes to the GPU")
		default:
			fmt.Println(size, "stays on the CPU")
		}
	}
	// Output:
	// 256 stays on the CPU
	// 4096 stays on the CPU
	// 65536 goes to the GPU
}

func ExampleCase_Explain() {
	d, err := dispatch.Load("testdata/calibration.json", machine, today)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Case("fft/batch=1").Explain(4096))
	fmt.Println(d.Case("fft/batch=1", "go").Explain(1 << 20))
	// Output:
	// fft/batch=1 at 4096 samples: accelerate, fastest measured; segment 512 to 8191, its threshold within 400 to 600 at 95 %; measured on apple-m3-max-40 12 days ago
	// fft/batch=1 at 1048576 samples: go, next best, as metal is not there, accelerate is not there; segment 8192 to 65536, its threshold within 7000 to 9000 at 95 %; beyond the measured range, 64 to 65536; measured on apple-m3-max-40 12 days ago
}

func ExampleDispatcher_OnFailure() {
	d, err := dispatch.Load("testdata/calibration.json", machine)
	if err != nil {
		log.Fatal(err)
	}
	d.OnFailure(func(f dispatch.Failure) { fmt.Println(f.Implementation, "failed:", f.Err) })

	// Plans report failures, each implementation once. The example does so in place of a plan.
	d.Failed("metal", errors.New("the device was lost"))
	d.Failed("metal", errors.New("the device was lost"))

	d.Retry() // the GPU is back: plans try it again, and a second failure is reported again
	d.Failed("metal", errors.New("out of memory"))
	// Output:
	// metal failed: the device was lost
	// metal failed: out of memory
}

func ExampleDispatcher_Record() {
	d, err := dispatch.Load("testdata/calibration.json", machine)
	if err != nil {
		log.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "shapes.txt")

	r, err := d.Record(path) // from now on, the shapes of all calls are counted
	if err != nil {
		log.Fatal(err)
	}
	fft := d.Case("fft/batch=1", "go", "metal")
	for range 1000 {
		fft.Choose(441)
	}
	fft.Choose(4096)
	if err := r.Close(); err != nil { // writes the file
		log.Fatal(err)
	}

	called, err := dispatch.ReadShapes(path) // as calibrate --shapes does
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range called {
		fmt.Println(c.Name, c.Calls)
	}
	// Output:
	// fft/batch=1,n=441 1000
	// fft/batch=1,n=4096 1
}

// This program has implementations of its own, and so it times calls itself. Plans do so without being told to.
func ExampleDispatcher_Watch() {
	d, err := dispatch.Load("testdata/calibration.json", machine, today)
	if err != nil {
		log.Fatal(err)
	}
	w, err := d.Watch(0) // from now on, one call in a thousand is timed
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()

	// takes are the microseconds of a call.
	takes := map[string]time.Duration{"accelerate": 11, "go": 20}
	trial := func(implementation string, shape []int) (run func() error, end func(), err error) {
		return func() error { // computes, for a duel
			for start := time.Now(); time.Since(start) < takes[implementation]*time.Microsecond; {
			}
			return nil
		}, nil, nil
	}
	fft, sum, lstm := d.Case("fft/batch=1", "go", "accelerate"), d.Case("sum", "go"), d.Case("lstm/hidden=64", "go")
	turn := w.Turn() // one for each goroutine
	call := func(c *dispatch.Case, size int) {
		chosen := c.Choose(size)
		// Here a program asks turn.Due whether to time the call. The example times every call, and knows how long it takes.
		turn.Case(c, size, dispatch.Timed{Implementation: chosen, Took: takes[chosen] * time.Microsecond, Trial: trial})
	}
	for n := range 100 {
		if n == 50 {
			takes["accelerate"] = 44 // it became four times as slow, and the machine did not
		}
		call(fft, 1024)
		call(sum, 1024)
		call(lstm, 1024)
	}

	for _, doubt := range w.Doubtful() {
		fmt.Println(doubt)
	}
	fmt.Println("still", fft.Choose(1024))
	results, err := w.Duel(context.Background(), 50*time.Millisecond) // at a quiet moment
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Println(r.Case, r.Verdict, "to", r.Chosen)
	}
	fmt.Println("now", fft.Choose(1024), fft.Explain(1024).Answer)
	// Output:
	// fft/batch=1 at 1024 to 2047: accelerate is doubtful, because its calls take 4.00 times as long as before, beside the other operations; go may be faster
	// still accelerate
	// fft/batch=1 changed to go
	// now go swapped
}
