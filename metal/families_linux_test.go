//go:build amd64 || arm64

package metal_test

import (
	"fmt"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/pool"
)

// vendors are the implementations that a library of Apple's computes.
var vendors = []string{"mps", "mpsgraph"}

// metalName is the name of our implementations on the driver.
const metalName = "metal"

// ours reports whether this package runs an implementation.
func ours(name string) bool {
	for _, own := range append([]string{metalName}, vendors...) {
		if name == own || strings.HasPrefix(name, own+"/") {
			return true
		}
	}
	return false
}

// Every launch plan of every operation runs through the driver, and gives the values of the operation's reference.
func TestOperations(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles every kernel text")
	}
	if err := loadFake(); err != nil {
		t.Skip(err)
	}
	run := map[string]bool{}
	for _, c := range catalogue.Cases(&kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{gpu.NewBackend(metalName, openDriver)}}) {
		for _, i := range c.Implementations {
			if !ours(i.Name) {
				continue
			}
			run[i.Name] = true
			if err := i.Missing(); err != nil {
				t.Errorf("%s: %s is missing: %v", c.Name, i.Name, err)
				continue
			}
			for _, size := range sizes(c.Axis) {
				least := size == sizes(c.Axis)[0]
				t.Run(fmt.Sprintf("%s/%s/%s=%d", c.Name, i.Name, c.Axis.Name, size), func(t *testing.T) { compute(t, c, i.Name, size, least) })
			}
		}
	}
	for _, name := range append([]string{metalName}, vendors...) {
		if !run[name] {
			t.Errorf("no operation runs on %s", name)
		}
	}
}

// quick is how many floating-point operations the emulator computes in a moment.
const quick = 2 << 20

// compute runs a call twice, and compares its values with the reference. A call that is not quick has its values compared once,
// at the smallest size alone. Otherwise the fake checks its dispatches and does not run them: the tests of the operations
// compare those values.
func compute(t *testing.T, c kernels.Case, implementation string, size int, least bool) {
	problem := c.Problem(size, kernels.GeneratedInput())
	call, err := problem.Bind(implementation)
	if err != nil {
		t.Fatal(err)
	}
	defer call.Release()
	dear := c.Work(size, "").Flops > quick
	compared := least || !dear
	var want []float64
	if compared {
		want = problem.Reference()
	} else {
		option(t, "idle", 1)
	}
	for again := range 2 {
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		if !compared || dear && again > 0 {
			continue
		}
		if dear {
			option(t, "idle", 1) // the values need not be computed once more
		}
		if e, tolerance := call.ErrorAgainst(want), c.Allowed(implementation, size); !(e <= tolerance) {
			t.Fatalf("error %.2g, want at most %.2g", e, tolerance)
		}
	}
	if call.GPU.BusBytes != 0 {
		t.Errorf("%g bytes go over a bus, where memory is unified", call.GPU.BusBytes)
	}
	times, err := call.GPU.Time()
	if err != nil || times.Span <= 0 {
		t.Errorf("times %+v, %v", times, err)
	}
	if underRace() {
		return
	}
	// The emulator allocates. So the fake checks these dispatches and does not run them.
	option(t, "idle", 1)
	if allocations := testing.AllocsPerRun(5, func() {
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
	}); allocations != 0 {
		t.Errorf("%g allocations a call", allocations)
	}
}
