package profiles

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Roof is what a processor or a GPU can do at most, as a short probe has measured it.
type Roof struct {
	Place Place `json:"place"`
	// Copies are the rates of copying, by the bytes that a copy reads and writes in all. Few bytes stay in a cache.
	Copies []CopyRate `json:"copies"`
	// Operations is the rate of multiply-adds on all cores, and OneCore that on one. A multiply-add counts as two.
	Operations float64 `json:"operations_per_second"`
	OneCore    float64 `json:"operations_per_second_on_one_core,omitempty"`
}

// CopyRate is the rate of a copy.
type CopyRate struct {
	Bytes float64 `json:"bytes"`
	Rate  float64 `json:"bytes_per_second"`
}

// rate returns the rate of copying so many bytes: that of the measured copy that is nearest on a logarithmic scale.
func (r *Roof) rate(bytes float64) float64 {
	nearest := slices.MinFunc(r.Copies, func(a, b CopyRate) int {
		return cmp.Compare(math.Abs(math.Log(a.Bytes/bytes)), math.Abs(math.Log(b.Bytes/bytes)))
	})
	return nearest.Rate
}

// Bound is the least time that a stage's work takes on the machine, as far as copies and multiply-adds tell. It is no promise
// that a program can reach it. It is not a lower bound of a cleverer algorithm, of stages that are fused, or of a stage whose
// input another one has left in a faster cache than a copy of as many bytes finds.
type Bound struct {
	Seconds float64
	By      string // "memory" or "arithmetic"
}

// Bound returns the bound of a stage, or false if its work or its roof is not known.
func (p *Profile) Bound(st *Stage) (Bound, bool) {
	place := st.Place
	if place == Transfer {
		place = Processor
	}
	at := slices.IndexFunc(p.Roofs, func(r Roof) bool { return r.Place == place })
	if at < 0 || st.Times == 0 || st.Work.Bytes <= 0 || len(p.Roofs[at].Copies) == 0 {
		return Bound{}, false
	}
	r := &p.Roofs[at]
	b := Bound{st.Work.Bytes / r.rate(st.Work.Bytes/float64(st.Times)), "memory"}
	operations := r.Operations
	if st.Work.Pieces > 0 && r.OneCore > 0 {
		operations = min(operations, st.Work.Pieces*r.OneCore)
	}
	if operations > 0 {
		if seconds := st.Work.Operations / operations; seconds > b.Seconds {
			b = Bound{seconds, "arithmetic"}
		}
	}
	return b, b.Seconds > 0
}

// Bottleneck is a part of a call that takes longer than it would have to.
type Bottleneck struct {
	Name     string
	Share    float64 // of the call's time
	Reach    float64 // the bound divided by the part's time; 0 if there is no bound but zero
	At       float64 // what the call would take at the bound, as a share of what it takes
	Sentence string
}

// Bottlenecks returns the parts of a call at whose bounds the call would gain most, at most n of them, the greatest gain first.
// A part is the work of a stage, what it takes on a GPU besides its kernels, or the time outside of all stages.
func (p *Profile) Bottlenecks(n int) []Bottleneck {
	call := Quantile(p.Calls, 0.5)
	var all []Bottleneck
	add := func(name string, seconds, bound float64, words func(b Bottleneck) string) {
		b := Bottleneck{Name: name, Share: seconds / call, Reach: bound / seconds, At: 1 - max(0, seconds-bound)/call}
		if seconds > 0 && b.At < 1 {
			b.Sentence = words(b)
			all = append(all, b)
		}
	}
	for i := range p.Stages {
		st := &p.Stages[i]
		work, besides := st.divided()
		if o, ok := st.Overheads(); ok {
			add(st.Name+" (launch, copies and waits)", Quantile(besides, 0.5), 0, func(b Bottleneck) string {
				return fmt.Sprintf("%s: launching, copying and waiting take %s of the call, of which copies are %s: with kernels alone the call would take %.2f of its time.",
					st.Name, Percent(b.Share), Percent(Quantile(o.Copies, 0.5)/call), b.At)
			})
		}
		bound, known := p.Bound(st)
		if !known {
			continue
		}
		add(st.Name, Quantile(work, 0.5), bound.Seconds, func(b Bottleneck) string {
			return fmt.Sprintf("%s takes %s of the call and reaches %s of %s: at this roof the call would take %.2f of its time%s.",
				st.Name, Percent(b.Share), Percent(b.Reach), map[string]string{
					"memory": "the speed of a copy of as many bytes", "arithmetic": "the machine's rate of multiply-adds"}[bound.By],
				b.At, chain(st))
		})
	}
	add("between the stages", Quantile(p.Between, 0.5), 0, func(b Bottleneck) string {
		return fmt.Sprintf("The time outside of all stages is %s of the call: without it the call would take %.2f of its time.", Percent(b.Share), b.At)
	})
	slices.SortStableFunc(all, func(a, b Bottleneck) int { return cmp.Compare(a.At, b.At) })
	return all[:min(n, len(all))]
}

// chain says what the roof leaves out.
func chain(st *Stage) string {
	if st.Work.Chain == 0 {
		return ""
	}
	return fmt.Sprintf(" (the roof leaves out that %.0f steps must follow each other)", st.Work.Chain)
}

// Percent writes a share with two digits.
func Percent(share float64) string {
	if share < 0.0995 {
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
