package emulator

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"crossover/gpu"
	"crossover/gpu/msl"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/pool"
)

// changer is a driver that notes the sources that it compiles, and changes them.
type changer struct {
	gpu.Driver
	mu       sync.Mutex
	compiled []gpu.Source
	change   func(gpu.Source) gpu.Source
}

func (c *changer) Compile(src gpu.Source, functions []msl.Function) (gpu.Library, error) {
	c.mu.Lock()
	c.compiled = append(c.compiled, src)
	if c.change != nil {
		src = c.change(src)
	}
	c.mu.Unlock()
	return c.Driver.Compile(src, functions)
}

// Forget does nothing. Package gpu forgets its own programs, and so asks this driver again.
func (c *changer) Forget() {}

// use is a call that runs kernels with barriers.
type use struct {
	c              kernels.Case
	implementation string
	size           int
	sources        []gpu.Source
}

func (u use) String() string { return fmt.Sprintf("%s %s at %d", u.c.Name, u.implementation, u.size) }

// run binds and runs the call, and compares its output with the reference.
func (u use) run() error {
	problem := u.c.Problem(u.size, kernels.GeneratedInput())
	call, err := problem.Bind(u.implementation)
	if err != nil {
		return err
	}
	defer call.Release()
	if err := call.Run(); err != nil {
		return err
	}
	if e, allowed := call.ErrorAgainst(problem.Reference()), u.c.Allowed(u.implementation, u.size); !(e <= allowed) {
		return fmt.Errorf("error %.2g; want at most %.2g", e, allowed)
	}
	return nil
}

// Every case of the catalogue is computed right at small sizes, and every text with barriers needs at least one of them
// there. The tests of the operations have the sizes that need the other barriers.
func TestCatalogueOnTheEmulator(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles every kernel text several times")
	}
	inner, err := New(Unified(true))
	if err != nil {
		t.Skip(err)
	}
	driver := &changer{Driver: inner}
	backend := gpu.NewBackend("emulator", func() (gpu.Driver, error) { return driver, nil })
	device, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}

	var uses []use
	for _, c := range catalogue.Cases(&kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{backend}}) {
		for _, i := range c.Implementations {
			if i.Processor != kernels.GPU || i.Missing() != nil {
				continue
			}
			for _, size := range sizes(c) {
				u := use{c: c, implementation: i.Name, size: size}
				driver.compiled = nil
				device.Forget()
				if err := u.run(); err != nil {
					t.Errorf("%v: %v", u, err)
					continue
				}
				u.sources = driver.compiled
				uses = append(uses, u)
			}
		}
	}
	if len(uses) == 0 {
		t.Fatal("no case runs on the device")
	}

	for text, barriers := range barriersOf(uses) {
		needed := false
		for i := 0; i < barriers && !needed; i++ {
			needed = slices.ContainsFunc(uses, func(u use) bool { return u.failsWithout(driver, device, text, i) })
		}
		if barriers > 0 && !needed {
			t.Errorf("no small size needs a barrier of %d in\n%s", barriers, excerpt(text, 0))
		}
	}
}

// sizes returns sizes of a case, odd ones too. Operands have at most 256 KiB, and a call above the smallest size has at most
// 16 Mi floating-point operations, so that emulating them is quick.
func sizes(c kernels.Case) []int {
	var list []int
	for _, n := range []int{1, 37, 130, 300, 4096, 8192, 16_400} {
		if n = c.Axis.Nearest(n); c.Bytes(n) <= 256<<10 && !slices.Contains(list, n) && (len(list) == 0 || c.Work(n, "").Flops <= 16<<20) {
			list = append(list, n)
		}
	}
	return list
}

// barriersOf returns the texts that were compiled with the numbers of their barriers.
func barriersOf(uses []use) map[string]int {
	found := map[string]int{}
	for _, u := range uses {
		for _, s := range u.sources {
			found[s.Text] = Barriers(s)
		}
	}
	return found
}

// failsWithout says whether the call fails, or computes something else, when the text lacks a barrier.
func (u use) failsWithout(driver *changer, device *gpu.Device, text string, barrier int) bool {
	if !slices.ContainsFunc(u.sources, func(s gpu.Source) bool { return s.Text == text }) {
		return false
	}
	driver.change = func(s gpu.Source) gpu.Source {
		if s.Text == text {
			return WithoutBarrier(s, barrier)
		}
		return s
	}
	defer func() { driver.change = nil }()
	device.Forget()
	return u.run() != nil
}

// excerpt returns the lines around a barrier.
func excerpt(text string, i int) string {
	text = msl.Uncommented(text)
	line := strings.Count(text[:barrier.FindAllStringIndex(text, -1)[i][0]], "\n")
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(line-4, 0):min(line+5, len(lines))], "\n")
}
