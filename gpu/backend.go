package gpu

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Backend is an API that this system may have, and its device once somebody has asked for it.
type Backend struct {
	API string // "metal", "cuda": the name of our implementations on it

	once   sync.Once
	open   func() (Driver, error)
	device atomic.Pointer[Device]
	err    error
}

// NewBackend returns a backend that opens its device with open when it is first asked to.
func NewBackend(api string, open func() (Driver, error)) *Backend {
	return &Backend{API: api, open: open}
}

// Open returns the backend's device, the same one each time. Where there is none it fails with one line that says what
// is missing.
func (b *Backend) Open() (*Device, error) {
	b.once.Do(func() {
		driver, err := b.open()
		if err != nil {
			b.err = err
			return
		}
		device, err := NewDevice(driver)
		if err != nil {
			b.err = err
			return
		}
		b.device.Store(device)
	})
	if b.err != nil {
		return nil, b.err
	}
	return b.device.Load(), nil
}

// OpenFit is Open for who runs kernels: it fails on a device that lacks what they need, too. Such a device can be asked
// for its facts, and compiles.
func (b *Backend) OpenFit() (*Device, error) {
	device, err := b.Open()
	if err != nil {
		return nil, err
	}
	if lacks := device.facts.Lacks; lacks != "" {
		return nil, errors.New(lacks)
	}
	return device, nil
}

// Probe returns nil where OpenFit succeeds, else why it does not.
func (b *Backend) Probe() error {
	_, err := b.OpenFit()
	return err
}

// Opened returns the device where it has been opened, else nil. It opens none.
func (b *Backend) Opened() *Device { return b.device.Load() }
