package main

import (
	"slices"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/kernels/catalogue"
)

// shown returns an entry as a reader finds it, in the table and on the charts: the cases in the catalogue's order, and
// without the GPU implementations of a machine that has no GPU. That there are none is no news; --list says why. Where there
// is a GPU that has no driver, a reader is told.
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
