package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/dispatch"
	"crossover/host"
	"crossover/kernels"
	"crossover/songs/race"
	"crossover/sweeps"
)

// pipelinesBudget is the default budget of --pipelines.
const pipelinesBudget = 3 * time.Minute

// checkPipelines refuses flags that --pipelines has no use for, and names of no pipeline.
func (o *options) checkPipelines() error {
	for _, flag := range []string{
		"ops", "shape", "shapes", "impl", "sizes", "precision", "mode", "in-flight", "state", "data", "plots", "from", "simulate", "choose", "list",
		"dry-run", "quick", "json", "force", "fresh",
	} {
		if o.given(flag) {
			return command.Usage("--pipelines with --%s: whole pipelines are measured, warm and one call at a time (leave one of the two out)", flag)
		}
	}
	var err error
	if o.pipelines, err = race.Named(o.pipelines); err != nil {
		return command.Usage("%w", err)
	}
	if !o.given("budget") {
		o.budget = pipelinesBudget
	}
	return nil
}

// measurePipelines measures whole pipelines by the routes that the calibration of this host predicts to be fastest, and writes
// what was measured into its entry. Until then the file stays as it was.
func measurePipelines(ctx context.Context, of *subject, b *kernels.Backends, o *options, stdout, stderr io.Writer) error {
	input, err := o.input()
	if err != nil {
		return err
	}
	d, know, err := o.pipelinesDispatcher(of)
	if err != nil {
		return err
	}
	file, err := filepath.EvalSymlinks(o.output)
	if err != nil {
		return fmt.Errorf("%s: %w", o.output, command.Cause(err))
	}
	if err := command.Writable(filepath.Dir(file)); err != nil {
		return err
	}
	sessions, err := race.AllUsual(o.pipelines, input)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "calibrate: %s · %s · budget %.0f s · seed %d\n", of.host.ID, command.Plural(len(o.pipelines), "pipeline"), o.budget.Seconds(), o.seed)
	begin := time.Now()
	asItWas := func() error {
		return command.Interrupted(fmt.Errorf("interrupted after %.0f s: %s is as it was", time.Since(begin).Seconds(), o.output))
	}
	command.Farewell(ctx, asItWas)
	options := of.Sweep()
	options.Budget, options.Seed, options.Input = o.budget, o.seed, input
	var clear func()
	options.Progress, clear = command.Progress(stderr, o.verbose, o.noProgress)
	all, err := race.Measure(ctx, b, d, sessions, options, know)
	clear()
	pipelinesTable(stdout, all) // also if the file cannot be written
	pipelines := race.Pipelines(all, begin)
	forecastErrors(stdout, pipelines)
	if err == nil && len(pipelines) > 0 {
		err = o.writePipelines(ctx, of.host.ID, pipelines)
	}
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return asItWas()
	case err != nil:
		return err
	}
	untimed := 0
	for _, m := range all {
		if m.Why != "" {
			untimed++
			remedy := ""
			if m.Why == race.TooShort {
				remedy = fmt.Sprintf(" (--budget %s is enough for all, by the times that are forecast)", shortly(race.Enough(all, o.budget)))
			}
			fmt.Fprintf(stderr, "calibrate: warning: %s of %s was not measured: %s%s\n", m.Graph.Name, m.Length, m.Why, remedy)
		}
	}
	if untimed == len(all) {
		return &command.Error{Code: command.ExitTooLittle, Err: fmt.Errorf("no pipeline could be measured in %v: %s is as it was", o.budget, o.output)}
	}
	fmt.Fprintf(stderr, "\nwrote the pipelines of %s into %s\n", of.host.ID, o.output)
	return nil
}

// pipelinesDispatcher returns a dispatcher by this host's entry, which must be there and of warm calls. know returns one that
// also knows pipelines which are not in the file.
func (o *options) pipelinesDispatcher(of *subject) (d *dispatch.Dispatcher, know race.Know, err error) {
	file, err := calibration.LoadForUpdate(o.output)
	if err != nil {
		return nil, nil, err
	}
	entry, err := entryFor(file, of, o.output)
	if err != nil {
		return nil, nil, err
	}
	know = func(more []calibration.Pipeline) (*dispatch.Dispatcher, error) {
		with := *entry
		for _, p := range more {
			with.SetPipeline(p)
		}
		one := &calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{with}}
		return dispatch.New(one, dispatch.WithHost(host.Facts(of.host.Facts)), dispatch.Unforced())
	}
	d, err = know(nil)
	return d, know, err
}

// entryFor returns the entry of this host in a file, or the error that says to make one.
func entryFor(file *calibration.Index, of *subject, path string) (*calibration.Host, error) {
	entry, err := file.Host(of.host.ID)
	switch {
	case err != nil:
		return nil, orElsewhere(fmt.Errorf("%s: %w", path, err), "mend it")
	case entry == nil:
		return nil, fmt.Errorf("%s has no entry of %s: run calibrate without --pipelines first, or -o FILE names another file", path, of.host.ID)
	case another(&of.host, entry) != "":
		return nil, fmt.Errorf("%s holds another machine as %s (%s): calibrate this one first, or -o FILE names another file", path, entry.ID, another(&of.host, entry))
	case methodName(&entry.Method) != string(sweeps.Latency):
		return nil, fmt.Errorf("%s holds a calibration of this host for %s (want one for %s, warm: -o FILE names another file)", path,
			methodName(&entry.Method), sweeps.Latency)
	}
	return entry, nil
}

// writePipelines puts pipelines into the entry of this host, and changes nothing else. Lengths that were measured before, and not
// by this run, stay.
func (o *options) writePipelines(ctx context.Context, id string, pipelines []calibration.Pipeline) error {
	return calibration.Update(ctx, o.output, func(file *calibration.Index) error {
		entry, err := file.Host(id)
		if err != nil {
			return err
		}
		if entry == nil {
			return fmt.Errorf("%s lost the entry of %s meanwhile: run calibrate without --pipelines first", o.output, id)
		}
		for _, p := range pipelines {
			if old := entry.Pipeline(p.Name); old != nil && slices.Equal(old.Stages, p.Stages) {
				for _, l := range old.Lengths {
					if len(p.Lengths) < calibration.MostLengths && len(l.Elements) == len(p.Lengths[0].Elements) &&
						!slices.ContainsFunc(p.Lengths, func(m calibration.PipelineLength) bool { return slices.Equal(l.Elements, m.Elements) }) {
						p.Lengths = append(p.Lengths, l)
					}
				}
			}
			entry.SetPipeline(p)
		}
		return file.Merge(*entry)
	})
}

// shortly returns a duration without parts that are 0: "3m" instead of "3m0s".
func shortly(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// pipelinesTable prints what was measured: the routes of each length, the fastest first.
func pipelinesTable(w io.Writer, all []race.Measured) {
	rows := [][]string{{"PIPELINE", "LENGTH", "ROUTE", "PREDICTED", "MEASURED", "TIMES THE BEST", "MARGIN"}}
	for _, m := range all {
		name, length, margin := m.Graph.Name, m.Length, ""
		if len(m.Routes) > 1 {
			margin = fmt.Sprintf("%.1f %%", 100*m.Margin)
		}
		for i := range m.Routes {
			r := &m.Routes[i]
			rows = append(rows, []string{name, length, r.Title(), duration(r.PredictedSeconds), duration(r.MedianSeconds),
				fmt.Sprintf("%.2f", r.MedianSeconds/m.Routes[0].MedianSeconds), margin})
			name, length, margin = "", "", ""
		}
	}
	if len(rows) == 1 {
		return
	}
	for _, line := range command.Align(rows, 3, 4, 5, 6) {
		fmt.Fprintln(w, line)
	}
}

// forecastErrors prints by how much forecasts of each pipeline are off, and those of all of them.
func forecastErrors(w io.Writer, pipelines []calibration.Pipeline) {
	for i := range pipelines {
		if off := calibration.ForecastError(pipelines[i]); off > 0 {
			fmt.Fprintf(w, "Forecasts of %s are off by %.0f %% in the median. Each is by what was measured at the other lengths.\n", pipelines[i].Name, 100*off)
		}
	}
	if off := calibration.ForecastError(pipelines...); off > 0 && len(pipelines) > 1 {
		fmt.Fprintf(w, "Forecasts of all are off by %.0f %% in the median.\n", 100*off)
	}
}
