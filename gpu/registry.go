package gpu

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

var (
	registryMu sync.Mutex
	registry   = map[string]func() (*Device, error){}
	opened     []*Device
)

// Register makes an API known. A platform's package calls it when it is initialised, on the systems that have the API
// at all; open is called once, when the API is first asked for. Registering a name twice panics.
func Register(api string, open func() (Driver, error)) {
	registryMu.Lock()
	defer registryMu.Unlock()
	if registry[api] != nil {
		panic("gpu: " + api + " is registered twice")
	}
	registry[api] = sync.OnceValues(func() (*Device, error) {
		driver, err := open()
		if err != nil {
			return nil, err
		}
		device, err := NewDevice(driver)
		if err != nil {
			return nil, err
		}
		registryMu.Lock()
		defer registryMu.Unlock()
		opened = append(opened, device)
		return device, nil
	})
}

// Opened returns the devices that Open has opened so far. It opens none.
func Opened() []*Device {
	registryMu.Lock()
	defer registryMu.Unlock()
	return slices.Clone(opened)
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
	open := registry[api]
	registryMu.Unlock()
	if open == nil {
		return nil, fmt.Errorf("gpu: %q is no API of this system (have %q)", api, APIs())
	}
	return open()
}

// OpenFit is Open for who runs kernels: it fails on a device that lacks what they need, too. Such a device can be asked
// for its facts, and compiles.
func OpenFit(api string) (*Device, error) {
	device, err := Open(api)
	if err != nil {
		return nil, err
	}
	if lacks := device.facts.Lacks; lacks != "" {
		return nil, errors.New(lacks)
	}
	return device, nil
}

// Probe returns nil where OpenFit succeeds, else why it does not.
func Probe(api string) error {
	_, err := OpenFit(api)
	return err
}
