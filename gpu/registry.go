package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

var (
	registryMu sync.Mutex
	registry   = map[string]*Backend{}
)

// Register makes an API known. A platform's package calls it when it is initialised, on the systems that have the API
// at all; open is called once, when the API is first asked for. Registering a name twice panics.
func Register(api string, open func() (Driver, error)) {
	registryMu.Lock()
	defer registryMu.Unlock()
	if registry[api] != nil {
		panic("gpu: " + api + " is registered twice")
	}
	registry[api] = NewBackend(api, open)
}

// Opened returns the devices that Open has opened so far. It opens none.
func Opened() []*Device {
	var opened []*Device
	for _, b := range Backends() {
		if d := b.Opened(); d != nil {
			opened = append(opened, d)
		}
	}
	return opened
}

// Backends returns the backends that are registered, sorted by name. It opens none.
func Backends() []*Backend {
	registryMu.Lock()
	defer registryMu.Unlock()
	var all []*Backend
	for _, b := range registry {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *Backend) int { return cmp.Compare(a.API, b.API) })
	return all
}

// APIs returns the names that are registered, sorted.
func APIs() []string {
	registryMu.Lock()
	defer registryMu.Unlock()
	var names []string
	for name := range registry {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Open returns the device of an API, the same one each time. Where there is none it fails with one line that says what
// is missing.
func Open(api string) (*Device, error) {
	registryMu.Lock()
	b := registry[api]
	registryMu.Unlock()
	if b == nil {
		return nil, fmt.Errorf("gpu: %q is no API of this system (have %q)", api, APIs())
	}
	return b.Open()
}

// OpenFit is Open for who runs kernels: it fails on a device that lacks what they need, too. Such a device can be asked
// for its facts, and compiles.
func OpenFit(api string) (*Device, error) {
	registryMu.Lock()
	b := registry[api]
	registryMu.Unlock()
	if b == nil {
		return Open(api)
	}
	return b.OpenFit()
}

// Probe returns nil where OpenFit succeeds, else why it does not.
func Probe(api string) error {
	_, err := OpenFit(api)
	return err
}
