package main

import (
	"slices"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/kernels/catalogue"
)

// shown returns an entry in the form of the table and the charts. Its cases are in the catalogue's order. On a machine
// without a GPU it leaves out the GPU implementations that did not compete, because that is no news, and --list gives the
// reason. It keeps them if the machine has a GPU without a driver.
func shown(h *calibration.Host) *calibration.Host {
	out := *h
	out.Cases = slices.Clone(h.Cases)
	slices.SortFunc(out.Cases, func(a, b calibration.Case) int { return catalogue.Compare(a.Name, b.Name) })
	if h.Facts.GPU != "" || h.Environment.UndrivenGPU != "" {
		return &out
	}
	for k := range out.Cases {
		c := &out.Cases[k]
		c.Implementations = slices.DeleteFunc(slices.Clone(c.Implementations), func(i calibration.Implementation) bool {
			return i.Processor == string(kernels.GPU) && i.Excluded != ""
		})
	}
	return &out
}
