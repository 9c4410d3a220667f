package dispatch_test

import (
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
