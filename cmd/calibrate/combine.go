package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"crossover/calibration"
	"crossover/harness"
)

// publication is a fitted and saved run that replaces a host's entry, samples and charts.
type publication struct {
	run      *harness.Run // the run of the new entry
	measured *harness.Run // the run that was measured or loaded: all of run, or a part of it
	replaced *harness.Run // the run of the old entry; nil if there is none or its samples are elsewhere
	changes  []string     // implementations whose earlier times are left out, a line for each operation
	kept     []string     // measured cases whose old entry is better and that add nothing to it, each with the reason
	behind   int          // number of measured cases whose old entry is better, and to which they add
	known    int          // number of measured cases whose old entry is better, and has what they add already
	backup   string       // name of the copy of the file; "" if none was made
	drawn    string       // folder of the drawn charts
	charts   int          // number of charts that moved to their places
}

// errBetter is the error that nothing of a run is good enough for the entry. A fit of the same samples ends with it again.
var errBetter = errors.New("holds a better calibration of this host")

// combine decides which cases of a run and of the old entry become the new entry.
func (o *output) combine(ctx context.Context, r *harness.Run) (*publication, error) {
	if measured(r) == 0 {
		return nil, errors.New("nothing could be measured: want a larger --budget")
	}
	p := &publication{run: r, measured: r}
	if o.old == nil {
		return p, nil
	}
	base, baseErr := harness.Find(o.samples, o.old)
	if baseErr == nil {
		p.replaced = base
	}
	if o.replacesAll(&r.Entry) {
		return p, nil
	}
	stay := o.compare(r, p)
	switch {
	case len(p.kept) > 0 && len(p.kept) == count(&r.Entry) && len(r.Entry.Operations) == 0:
		return nil, fmt.Errorf("%s %w (%s): want a larger --budget, or -o FILE for a trial (--force replaces it, and forgets its runs)",
			o.output, errBetter, p.kept[0])
	case len(stay) == 0 && (o.forgets() || baseErr != nil || !adds(base, r)):
		return p, nil
	case errors.Is(baseErr, fs.ErrNotExist):
		return nil, o.withoutSamples(len(stay), baseErr)
	case baseErr != nil:
		return nil, baseErr
	}
	var err error
	p.run, p.changes, err = o.join(ctx, base, r, stay)
	return p, err
}

// replacesAll reports whether the new entry has nothing of the old one.
func (o *output) replacesAll(now *calibration.Host) bool {
	return o.force && (!o.partial() || methodName(&o.old.Method) != methodName(&now.Method) || another(now, o.old) != "")
}

// compare returns the cases of the old entry that stay: those of which the run measured nothing and, unless forced, those
// that it measured less well. It puts what becomes of the latter into p. If the samples of the old entry are not there, nothing stands
// behind it.
func (o *output) compare(r *harness.Run, p *publication) (stay []string) {
	now := &r.Entry
	for k := range o.old.Cases {
		was := &o.old.Cases[k]
		n := slices.IndexFunc(now.Cases, func(c calibration.Case) bool { return c.Name == was.Name })
		if n < 0 || now.Cases[n].Blocks == 0 {
			stay = append(stay, was.Name)
			continue
		}
		if o.force || refitted(o.old, was, now, &now.Cases[n]) {
			continue
		}
		reason := harness.Poorer(&now.Cases[n], was, r.Declared(was.Name), o.old.Processors())
		if reason == "" {
			continue
		}
		stay = append(stay, was.Name)
		why := reason
		if p.replaced != nil {
			why = p.replaced.NothingToAdd(&now.Cases[n], was, r.Timings[was.Name], r.Declared(was.Name))
		}
		switch {
		case why == "" && !o.forgets() && isEarlier(o.old, was, now.RunOf(&now.Cases[n])):
			p.known++
			continue
		case why == "" && !o.forgets():
			p.behind++
			continue
		case why != "" && why != reason:
			reason += ", and " + why
		}
		p.kept = append(p.kept, was.Name+": "+reason)
	}
	return stay
}

// isEarlier reports whether a run is among the earlier ones of a case.
func isEarlier(h *calibration.Host, c *calibration.Case, run calibration.Run) bool {
	return slices.ContainsFunc(c.Earlier, func(e calibration.Earlier) bool { return h.EarlierRun(e).Created.Equal(run.Created) })
}

// refitted reports whether a case of the new entry is the old one, fitted again from the same samples.
func refitted(before *calibration.Host, was *calibration.Case, now *calibration.Host, is *calibration.Case) bool {
	from, of := before.RunOf(was), now.RunOf(is)
	return from.Created.Equal(of.Created) && from.Method.Seed == of.Method.Seed && is.Blocks >= was.Blocks
}

// join saves the kept cases of the old run together with the other cases of the new run, and fits them as one run. changes
// says which implementations have changed since the old run.
func (o *output) join(ctx context.Context, base, r *harness.Run, kept []string) (joined *harness.Run, changes []string, err error) {
	newer, err := harness.Load(r.Folder) // without the fit
	if err != nil {
		return nil, nil, err
	}
	newer.DeclaredAs(r)
	folder, err := harness.NewFolder(o.samples)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			harness.Discard(folder)
		}
	}()
	joined = harness.Join(base, newer,
		func(name string) bool { return slices.Contains(kept, name) }, func(string) bool { return o.forgets() })
	if err := joined.Save(ctx, folder); err != nil {
		return nil, nil, err
	}
	changes = joined.Changes
	if joined, err = harness.Load(folder); err != nil { // in the same order as for a later refit
		return nil, nil, err
	}
	joined.Resamples = r.Resamples
	return joined, changes, joined.Fit(ctx)
}

// forgets reports whether earlier runs of the measured cases are dropped.
func (o *options) forgets() bool { return o.fresh || o.force }

// adds reports whether a run has other timings than the base in a case of both. The base's timings then become those of an
// earlier run.
func adds(base, r *harness.Run) bool {
	for name, set := range base.Shapes {
		if now := r.Shapes[name]; now == nil || now.Digest() != set.Digest() {
			return true
		}
	}
	return slices.ContainsFunc(r.Entry.Cases, func(c calibration.Case) bool {
		set, known := base.Timings[c.Name]
		return known && set.Digest() != r.Timings[c.Name].Digest()
	})
}

// partial reports whether the command line asks for a part of the cases or sizes.
func (o *options) partial() bool {
	return o.given("ops") || o.picks() || o.given("sizes") || o.given("from")
}

// count returns the number of an entry's cases with blocks.
func count(entry *calibration.Host) int {
	n := 0
	for _, c := range entry.Cases {
		if c.Blocks > 0 {
			n++
		}
	}
	return n
}

// measured returns the number of a run's blocks.
func measured(r *harness.Run) int {
	blocks := 0
	for _, c := range r.Entry.Cases {
		blocks += c.Blocks
	}
	for _, o := range r.Entry.Operations {
		blocks += o.Blocks
	}
	return blocks
}
