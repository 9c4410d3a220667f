// Package standin lets a test put a device of its own in the place of an API: the tables of contenders, which are made
// when packages are initialised, then list the API, and the operations' own tables, problems and tolerances serve as
// tests of the device. It is for tests alone.
//
// The name has to be registered before the tables are made. Go initialises the packages that are ready in the order of
// their import paths (https://go.dev/ref/spec#Program_initialization), and this one, which needs nothing but package gpu,
// comes before every crossover/kernels/….
package standin

import (
	"errors"
	"sync"

	"crossover/gpu"
)

// API is the name that is registered.
const API = "metal"

var (
	mu   sync.Mutex
	open func() (gpu.Driver, error)
)

func init() {
	gpu.Register(API, func() (gpu.Driver, error) {
		mu.Lock()
		defer mu.Unlock()
		if open == nil {
			return nil, errors.New("standin: the test has named no driver")
		}
		return open()
	})
}

// Use names what opens the driver. It counts until the API is opened for the first time.
func Use(f func() (gpu.Driver, error)) {
	mu.Lock()
	defer mu.Unlock()
	open = f
}
