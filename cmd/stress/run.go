package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"crossover/cmd/internal/command"
)

// options holds the command line.
type options struct {
	rounds   int
	only     int // the only round to run, or -1 for all
	seed     uint64
	kinds    []string
	commands string
	keep     string
	verbose  bool
}

func parse(args []string, stdout io.Writer) (o *options, done bool, err error) {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	o = &options{}
	flags := pflag.NewFlagSet("stress", pflag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 50, "number of rounds; the kinds take turns")
	flags.IntVar(&o.only, "round", -1, "run this round alone, again")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of what is done and when")
	flags.StringSliceVar(&o.kinds, "kinds", names, "only rounds of these `kinds`")
	flags.StringVar(&o.commands, "commands", "", "`folder` with calibrate and verify (default: they are built)")
	flags.StringVar(&o.keep, "folder", "", "`folder` for the rounds' own folders, of which those that lost something stay (default: a temporary one)")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print a line for every command that a round runs")
	done, err = command.Parse(flags, args, stdout,
		"Stress runs calibrate and verify in rounds of random faults and tests that nothing is lost.")
	if done || err != nil {
		return nil, done, err
	}
	for _, name := range o.kinds {
		if !slices.Contains(names, name) {
			return nil, false, command.Usage("--kinds %q: no such kind (want some of %s)", name, strings.Join(names, ", "))
		}
	}
	if o.rounds < 1 {
		return nil, false, command.Usage("--rounds %d: want at least 1", o.rounds)
	}
	return o, false, nil
}

var errInterrupted = command.Interrupted(errors.New("interrupted: rounds that were under way say nothing"))

// run parses the arguments, makes the fixture and does the rounds.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	o, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	folder, remove, err := o.folder()
	if err != nil {
		return err
	}
	f, err := newFixture(ctx, folder, o.commands)
	if err != nil {
		remove()
		return err
	}
	losses, err := o.doRounds(ctx, stdout, stderr, f, folder)
	if losses == 0 {
		remove()
	}
	return err
}

// doRounds does rounds in subfolders of a folder and prints a table of what they found. It returns the number of losses.
func (o *options) doRounds(ctx context.Context, stdout, stderr io.Writer, f *fixture, folder string) (losses int, err error) {
	command.Farewell(ctx, func() error { // for a round that does not end soon enough
		f.mounts.undo()
		return errInterrupted
	})
	table := make([]tally, len(kinds))
	for number, left := max(o.only, 0), o.rounds; left > 0 && ctx.Err() == nil; number++ {
		k := number % len(kinds)
		if o.only < 0 && !slices.Contains(o.kinds, kinds[k].name) {
			continue
		}
		r := &round{
			fixture: f, kind: kinds[k].name, random: rand.New(rand.NewPCG(o.seed, uint64(number))),
			folder: filepath.Join(folder, fmt.Sprintf("round-%d", number)),
		}
		if o.verbose {
			r.log = stderr
		}
		r.do(ctx, kinds[k].do)
		if ctx.Err() != nil {
			os.RemoveAll(r.folder)
			break
		}
		table[k].add(r)
		losses += len(r.losses)
		o.tell(stderr, number, r)
		if left--; o.only >= 0 {
			break
		}
	}
	if err := printTable(stdout, table); err != nil {
		return losses, err
	}
	switch {
	case ctx.Err() != nil:
		return losses, errInterrupted
	case losses > 0:
		return losses, fmt.Errorf("%d lost; the lines above say what and in which rounds of seed %d", losses, o.seed)
	}
	return losses, nil
}

// tell prints what a round lost, and how to run the round again.
func (o *options) tell(stderr io.Writer, number int, r *round) {
	if r.skipped != "" {
		fmt.Fprintf(stderr, "stress: round %d (%s) is skipped: %s\n", number, r.kind, r.skipped)
	}
	for _, loss := range r.losses {
		fmt.Fprintf(stderr, "stress: round %d (%s): %s\n", number, r.kind, loss)
	}
	if len(r.losses) > 0 {
		fmt.Fprintf(stderr, "stress: its folder is %s; --seed %d --round %d runs it again\n", r.folder, o.seed, number)
	}
}

// folder makes the folder of all rounds. remove removes the folder. If the command line names the folder, remove only
// removes the fixture in it.
func (o *options) folder() (path string, remove func(), err error) {
	if o.keep == "" {
		path, err = os.MkdirTemp("", "stress-*")
		return path, func() { os.RemoveAll(path) }, err
	}
	if path, err = filepath.Abs(o.keep); err == nil {
		err = os.MkdirAll(path, 0o755)
	}
	return path, func() { os.RemoveAll(filepath.Join(path, fixtureFolder)) }, err
}

// tally sums up the rounds of a kind.
type tally struct {
	rounds, skipped, losses int
	longest                 time.Duration // longest time from a signal to the end of the command
	ends                    map[string]int
}

func (t *tally) add(r *round) {
	if t.ends == nil {
		t.ends = map[string]int{}
	}
	t.rounds++
	if r.skipped != "" {
		t.skipped++
	}
	t.losses += len(r.losses)
	t.longest = max(t.longest, r.longest)
	for _, end := range r.ends {
		t.ends[end]++
	}
}

func printTable(w io.Writer, table []tally) error {
	var total tally
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(out, "KIND\tROUNDS\tSKIPPED\tLOSSES\tLONGEST END AFTER A SIGNAL\tCOMMANDS ENDED WITH")
	line := func(name string, t *tally, ends string) {
		longest := "-"
		if t.longest > 0 {
			longest = fmt.Sprintf("%.2f s", t.longest.Seconds())
		}
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%s\t%s\n", name, t.rounds, t.skipped, t.losses, longest, ends)
	}
	for k := range table {
		t := &table[k]
		if t.rounds == 0 {
			continue
		}
		var ends []string
		for end, n := range t.ends {
			ends = append(ends, fmt.Sprintf("%s: %d", end, n))
		}
		slices.Sort(ends)
		line(kinds[k].name, t, strings.Join(ends, ", "))
		total.rounds += t.rounds
		total.skipped += t.skipped
		total.losses += t.losses
		total.longest = max(total.longest, t.longest)
	}
	line("all", &total, "")
	return out.Flush()
}
