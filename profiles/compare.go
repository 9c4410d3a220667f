package profiles

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Change is how a part of a call has changed from one profile to another. Ratio is the median after divided by the median before.
type Change struct {
	Name          string
	Before, After float64 // median seconds; 0 if the part is not there
	Ratio         float64
	Low, High     float64 // 95 % interval of Ratio; 0 where there is none
	Verdict       Verdict
	By            [2]string // implementations before and after
}

// Verdict says whether a change is beyond the noise.
type Verdict string

// The verdicts.
const (
	Faster  Verdict = "faster"
	Slower  Verdict = "slower"
	Alike   Verdict = "no change beyond the noise"
	Added   Verdict = "only after"
	TooFew  Verdict = "too few calls to say"
	Removed Verdict = "only before"
)

// tieBand is the least change that counts. Two runs of one program differ by as much, because memory lies elsewhere: an interval
// over the calls of one run does not see that.
const tieBand = 0.03

// Compare compares two profiles part by part: the whole call, then stages in the order of the second profile, then those that only
// the first one has, and then the time outside of all stages. seed makes the intervals reproducible.
//
// A change counts if the whole interval lies outside of ±3 %. The interval is over the calls of the two runs. So what differs from
// run to run, such as the machine's clock, is not in it: see [Comparable].
func Compare(before, after *Profile, seed uint64) []Change {
	r := rand.New(rand.NewPCG(seed, 1))
	all := []Change{change("call", before.Calls, after.Calls, r)}
	find := func(p *Profile, name string) *Stage {
		if at := slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Name == name }); at >= 0 {
			return &p.Stages[at]
		}
		return &Stage{Name: name}
	}
	pair := func(a, b *Stage) {
		c := change(b.Name, a.Wall, b.Wall, r)
		c.By = [2]string{a.Implementation, b.Implementation}
		all = append(all, c)
	}
	for i := range after.Stages {
		pair(find(before, after.Stages[i].Name), &after.Stages[i])
	}
	for i := range before.Stages {
		if b := find(after, before.Stages[i].Name); len(b.Wall) == 0 {
			pair(&before.Stages[i], b)
		}
	}
	return append(all, change("between the stages", before.Between, after.Between, r))
}

// resamples is the number of resamples of the bootstrap, and blockCalls the greatest number of calls that are drawn together,
// because calls that follow each other share the state of the machine. There are at least blocks of them in a resample: with fewer,
// all resamples are nearly alike, and the interval is too narrow. With fewer than fewestCalls there is no interval.
const (
	resamples   = 1000
	blockCalls  = 5
	blocks      = 10
	fewestCalls = 5
)

func change(name string, before, after []float64, r *rand.Rand) Change {
	c := Change{Name: name, Verdict: Alike}
	switch {
	case len(before) == 0 && len(after) == 0:
		return c
	case len(before) == 0:
		c.After, c.Verdict = Quantile(after, 0.5), Added
		return c
	case len(after) == 0:
		c.Before, c.Verdict = Quantile(before, 0.5), Removed
		return c
	}
	c.Before, c.After = Quantile(before, 0.5), Quantile(after, 0.5)
	if c.Before <= 0 || c.After <= 0 {
		return c
	}
	c.Ratio = c.After / c.Before
	if min(len(before), len(after)) < fewestCalls {
		c.Verdict = TooFew
		return c
	}
	ratios := make([]float64, 0, resamples)
	scratch := make([]float64, 0, max(len(before), len(after))+blockCalls)
	for range resamples {
		if b := resampled(scratch, before, r); b > 0 {
			ratios = append(ratios, resampled(scratch, after, r)/b)
		}
	}
	if len(ratios) < resamples {
		return c
	}
	c.Low, c.High = Quantile(ratios, 0.025), Quantile(ratios, 0.975)
	switch {
	case c.High < 1-tieBand:
		c.Verdict = Faster
	case c.Low > 1+tieBand:
		c.Verdict = Slower
	}
	return c
}

// resampled returns the median of as many values, drawn in blocks of neighbours. It overwrites scratch.
func resampled(scratch, values []float64, r *rand.Rand) float64 {
	block := min(blockCalls, max(1, len(values)/blocks))
	drawn := scratch[:0]
	for len(drawn) < len(values) {
		from := r.IntN(len(values) - block + 1)
		drawn = append(drawn, values[from:from+block]...)
	}
	drawn = drawn[:len(values)]
	slices.Sort(drawn)
	return (drawn[(len(drawn)-1)/2] + drawn[len(drawn)/2]) / 2
}

// Comparable returns in one line what makes a comparison of two profiles of a pipeline doubtful, or "": another recording, plan or
// machine, or a machine of another speed.
func Comparable(before, after *Profile) string {
	for _, f := range []struct{ what, a, b string }{
		{"machine", before.Host, after.Host},
		{"recording", fmt.Sprintf("%s of %d samples", before.Recording, before.Samples), fmt.Sprintf("%s of %d samples", after.Recording, after.Samples)},
		{"plan", before.Plan, after.Plan},
	} {
		if f.a != f.b {
			return fmt.Sprintf("another %s: %q before, %q after", f.what, f.a, f.b)
		}
	}
	const most = 1.1
	for _, a := range before.Roofs {
		for _, b := range after.Roofs {
			if a.Place == b.Place && a.Operations > 0 && b.Operations > 0 && (a.Operations > most*b.Operations || b.Operations > most*a.Operations) {
				return fmt.Sprintf("another speed of the machine: its multiply-adds on the %s took %.2f of their time before", a.Place,
					a.Operations/b.Operations)
			}
		}
	}
	return ""
}
