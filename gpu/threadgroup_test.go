package gpu

import (
	"slices"
	"testing"
)

// A device of which the driver does not say how much threadgroup memory there is besides what kernels declare has that. The driver
// of a device that has more gets what a launch says.
func TestThreadgroupMemory(t *testing.T) {
	driver, device := newFake(t, true)
	if got := device.Facts().MostThreadgroupBytes; got != 32<<10 {
		t.Errorf("%d bytes", got)
	}
	driver.facts.MostThreadgroupBytes = 227 << 10
	device, err := NewDevice(driver)
	if err != nil {
		t.Fatal(err)
	}
	if got := device.Facts().MostThreadgroupBytes; got != 227<<10 {
		t.Errorf("%d bytes", got)
	}
	driver.submitted = make([][]Command, 0, 1)
	b := device.NewPlan()
	sharing(100 << 10)(b)
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, c := range driver.submitted[0] {
		for _, a := range c.Arguments {
			got = append(got, a.Threadgroup)
		}
	}
	if want := []int{0, 100 << 10}; !slices.Equal(got, want) {
		t.Errorf("the driver is given %d; want %d", got, want)
	}
}
