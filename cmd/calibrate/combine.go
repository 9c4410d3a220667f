package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
)

// publication is what takes the place of a host's entry, runs and charts: a fitted run that is saved in a folder.
type publication struct {
	run      *harness.Run // what the entry becomes
	measured *harness.Run // the run that was made: this one, or a part of it
	replaced *harness.Run // the run of the entry before; nil where there is none or its samples are elsewhere
	kept     []string     // of the cases that were measured, those whose entry before is better, each with the reason
	backup   string       // of the file, "" where none was made
	drawn    string       // folder that the charts are drawn in
	charts   int          // how many took their places
}

// combine decides what a run becomes together with the entry that is there.
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
	stay, better := o.compare(&r.Entry)
	p.kept = better
	switch {
	case len(better) == count(&r.Entry):
		return nil, fmt.Errorf("%s holds a better calibration of this host (%s): --force replaces it, -o FILE writes elsewhere",
			o.output, better[0])
	case len(stay) == 0 && (o.forgets() || baseErr != nil || !adds(base, r)):
		return p, nil
	case errors.Is(baseErr, fs.ErrNotExist):
		return nil, fmt.Errorf("%s holds %s of this host that stay, and their samples are not in %s: --data names their folder, "+
			"-o FILE writes elsewhere", o.output, command.Plural(len(stay), "case"), o.samples)
	case baseErr != nil:
		return nil, baseErr
	}
	var err error
	p.run, err = o.join(ctx, base, r, stay)
	return p, err
}

// replacesAll reports whether the entry becomes what the run measured, and nothing else.
func (o *output) replacesAll(now *calibration.Host) bool {
	return o.force && (!o.partial() || methodName(&o.old.Method) != methodName(&now.Method) || another(now, o.old) != "")
}

// compare returns the cases of the entry that stay: those of which a run measured nothing and, unless forced, those that it
// measured less well. The latter are in better too, each with the reason.
func (o *output) compare(now *calibration.Host) (stay, better []string) {
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
		if reason := harness.Poorer(&now.Cases[n], was); reason != "" {
			stay = append(stay, was.Name)
			better = append(better, was.Name+": "+reason)
		}
	}
	return stay, better
}

// refitted reports whether a case is one that was known before, with the same samples fitted again.
func refitted(before *calibration.Host, was *calibration.Case, now *calibration.Host, is *calibration.Case) bool {
	from, of := before.RunOf(was), now.RunOf(is)
	return from.Created.Equal(of.Created) && from.Method.Seed == of.Method.Seed && is.Blocks >= was.Blocks
}

// join saves the kept cases of the run before and the others of a run that is saved as one, and fits that.
func (o *output) join(ctx context.Context, base, r *harness.Run, kept []string) (joined *harness.Run, err error) {
	newer, err := harness.Load(r.Folder) // as it was before the fit
	if err != nil {
		return nil, err
	}
	folder, err := harness.NewFolder(o.samples)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			harness.Discard(folder)
		}
	}()
	joined = harness.Join(base, newer,
		func(name string) bool { return slices.Contains(kept, name) }, func(string) bool { return o.forgets() })
	if err := joined.Save(ctx, folder); err != nil {
		return nil, err
	}
	if joined, err = harness.Load(folder); err != nil { // in the order in which a refit will find it
		return nil, err
	}
	joined.Resamples = r.Resamples
	return joined, joined.Fit(ctx)
}

// forgets reports whether earlier runs of the cases that are measured are forgotten.
func (o *options) forgets() bool { return o.fresh || o.force }

// adds reports whether a run has timings that those of before do not have, so that these become earlier ones.
func adds(base, r *harness.Run) bool {
	return slices.ContainsFunc(r.Entry.Cases, func(c calibration.Case) bool {
		set, known := base.Timings[c.Name]
		return known && set.Digest() != r.Timings[c.Name].Digest()
	})
}

// partial reports whether the command line asks for less than everything that there is.
func (o *options) partial() bool {
	return o.given("ops") || len(o.shape) > 0 || o.given("sizes") || o.given("from")
}

// count returns how many cases of an entry have blocks.
func count(entry *calibration.Host) int {
	n := 0
	for _, c := range entry.Cases {
		if c.Blocks > 0 {
			n++
		}
	}
	return n
}

// measured counts the blocks of a run.
func measured(r *harness.Run) int {
	blocks := 0
	for _, c := range r.Entry.Cases {
		blocks += c.Blocks
	}
	return blocks
}
