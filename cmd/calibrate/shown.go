package main

import (
	"slices"
	"strings"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/kernels"
	"crossover/kernels/catalogue"
)

// shown returns an entry in the form of the table and the charts. Its cases and operations are in the catalogue's order. On a machine
// without a GPU it leaves out the GPU implementations that did not compete, because that is no news, and --list gives the
// reason. It keeps them if the machine has a GPU without a driver.
func shown(h *calibration.Host) *calibration.Host {
	out := *h
	out.Cases = slices.Clone(h.Cases)
	slices.SortFunc(out.Cases, func(a, b calibration.Case) int { return catalogue.Compare(a.Name, b.Name) })
	out.Operations = slices.Clone(h.Operations)
	slices.SortStableFunc(out.Operations, func(a, b calibration.Operation) int { return catalogue.Compare(placedName(&a), placedName(&b)) })
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

// partOf returns an entry with only the cases and operations that a run measured, and with what the run says of itself. It also
// says how much is left out, "" if nothing is, and how many cases no run has measured.
func partOf(measured, h *calibration.Host) (part *calibration.Host, others string, unmeasured int) {
	part = new(*h)
	part.Created, part.Environment, part.Method = measured.Created, measured.Environment, measured.Method
	part.Cases = slices.DeleteFunc(slices.Clone(h.Cases), func(c calibration.Case) bool {
		return !slices.ContainsFunc(measured.Cases, func(m calibration.Case) bool { return m.Name == c.Name && m.Blocks > 0 })
	})
	part.Operations = slices.DeleteFunc(slices.Clone(h.Operations), func(o calibration.Operation) bool {
		return measured.Operation(o.Name, o.Placement) == nil
	})
	for i := range h.Cases {
		if h.Cases[i].Blocks == 0 && len(h.Cases[i].Segments) == 0 {
			unmeasured++
		}
	}
	var left []string
	if n := len(h.Cases) - len(part.Cases) - unmeasured; n > 0 {
		left = append(left, command.Plural(n, "other case"))
	}
	if n := len(h.Operations) - len(part.Operations); n > 0 {
		left = append(left, command.Plural(n, "other operation"))
	}
	return part, strings.Join(left, " and "), unmeasured
}
