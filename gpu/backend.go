package gpu

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Backend is a GPU API that this system may have, such as Metal or CUDA. Its device is opened when it is first asked for.
type Backend struct {
	API string // "metal", "cuda": the name of our implementations on it

	once   sync.Once
	open   func() (Driver, error)
	device atomic.Pointer[Device]
	err    error

	reopening sync.Mutex
}

// NewBackend returns a backend whose device open makes. open is called when the device is first
// asked for, and by Reopen.
func NewBackend(api string, open func() (Driver, error)) *Backend {
	return &Backend{API: api, open: open}
}

// Open returns the backend's device, the same one each time until Reopen. If there is none, Open fails with one line that says what
// is missing. Every later Open fails with the same line.
func (b *Backend) Open() (*Device, error) {
	b.once.Do(func() {
		driver, err := b.open()
		if err != nil {
			b.err = err
			return
		}
		device, err := NewDevice(driver)
		if err != nil {
			driver.Close()
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

// OpenFit is Open for a caller that runs kernels. It also fails if the device lacks what kernels need, or was closed. Such a device
// can still be opened with Open, asked for its facts, and made to compile.
func (b *Backend) OpenFit() (*Device, error) {
	device, err := b.Open()
	if err != nil {
		return nil, err
	}
	if device.life.closed.Load() {
		return nil, errDeviceClosed
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

// Reopen closes the device and opens another one, for a program whose device was lost for good: see [Device.Close]. What was made
// of the old device fails, and memory of the old one is no longer known as shared. If the runtime cannot open another device, Reopen
// fails, the backend keeps the closed one, and the next Reopen tries again. A device that was never opened stays so.
//
// The old device is closed first. As long as a process holds a lost context of CUDA, it is given the same one again.
func (b *Backend) Reopen() error {
	b.reopening.Lock()
	defer b.reopening.Unlock()
	old := b.Opened()
	if old == nil {
		return nil
	}
	old.Close()
	driver, err := b.open()
	if err != nil {
		return err
	}
	device, err := NewDevice(driver)
	if err != nil {
		driver.Close()
		return err
	}
	b.device.Store(device)
	return nil
}

// Opened returns the device where it has been opened, else nil. It opens none.
func (b *Backend) Opened() *Device { return b.device.Load() }
