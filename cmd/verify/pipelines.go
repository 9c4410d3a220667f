package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"crossover/audio"
	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/songs/race"
	"crossover/thresholds"
)

// pipelinesBudget is the default budget of --pipelines.
const pipelinesBudget = 2 * time.Minute

// checkPipelines checks the flags beside --pipelines, and the names.
func (o *options) checkPipelines() (err error) {
	if o.ops != "" || o.shapes != "" {
		return command.Usage("--pipelines with --ops or --shapes: whole pipelines are checked (leave one of the two out)")
	}
	if o.pipelines, err = race.Named(o.pipelines); err != nil {
		return command.Usage("%w", err)
	}
	if o.defaults {
		o.budget = pipelinesBudget
	}
	return nil
}

// pipelinesReport is what was found of pipelines. Its JSON is the output of --json.
type pipelinesReport struct {
	Host      string           `json:"host"`
	Seed      uint64           `json:"seed"`
	Audio     string           `json:"audio"` // "generated" or the recording's file
	Pipelines []pipelineReport `json:"pipelines"`
}

type pipelineReport struct {
	Name    string   `json:"name"`
	Length  string   `json:"length"`
	Verdict string   `json:"verdict"` // HOLDS, DRIFTED, AMBIGUOUS or UNMEASURED
	Follows string   `json:"follows"` // the route
	Reason  string   `json:"reason"`  // why it is followed
	Visits  int      `json:"visits"`
	Regret  *float64 `json:"regret"`       // null if nothing was measured, as the next three
	Lower   *float64 `json:"regret_lower"` // each with 95 % confidence
	Upper   *float64 `json:"regret_upper"`
	OneSide *float64 `json:"one_side"` // time of everything on one side, divided by that of the route
	Why     string   `json:"why"`      // why nothing was measured

	finding thresholds.Finding
}

// judgePipelines times the routes that pipelines follow by the file against others, and says whether they are still the best ones.
func (o *options) judgePipelines(ctx context.Context, machine command.Machine, entry *calibration.Host, d *dispatch.Dispatcher, stdout, stderr io.Writer) error {
	r := &pipelinesReport{Host: entry.ID, Seed: o.seed, Audio: "generated", Pipelines: []pipelineReport{}}
	input := kernels.GeneratedInput()
	if o.audio != "" {
		var err error
		if input, err = audio.ReadWAV(o.audio); err != nil {
			return fmt.Errorf("--audio: %w", err)
		}
		r.Audio = o.audio
	}
	sessions, err := race.AllUsual(o.pipelines, input)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "verify: %s: %s · %s · budget %.0f s · seed %d\n", o.calibration, entry.ID, command.Plural(len(o.pipelines), "pipeline"),
		o.budget.Seconds(), o.seed)
	options := machine.Sweep()
	options.Budget, options.Seed, options.Input = o.budget, o.seed, input
	var clear func()
	options.Progress, clear = command.Progress(stderr, false, o.noProgress)
	all, err := race.Judge(ctx, kernels.Here(), d, sessions, options)
	clear()
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return errInterrupted
	case err != nil:
		return err
	}
	for i := range all {
		r.Pipelines = append(r.Pipelines, pipelineReportOf(&all[i]))
	}
	if err := r.write(stdout, o.json); err != nil {
		return err
	}
	if err := r.verdict(o.calibration); err != nil || o.json {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s still holds for pipelines: no route has drifted\n", o.calibration)
	return err
}

func pipelineReportOf(j *race.Judged) pipelineReport {
	r := pipelineReport{Name: j.Graph.Name, Length: j.Length, Follows: j.Followed, Reason: j.Reason, Visits: j.Visits, Why: j.Why, finding: j.Finding()}
	r.Verdict = verdictNames[r.finding]
	if j.Why == "" {
		r.Regret, r.Lower, r.Upper, r.OneSide = number(j.Regret), number(j.Lower), number(j.Upper), number(j.OneSide)
	}
	return r
}

// number returns a number in the form of a report. JSON has no NaN and no infinity.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func (r *pipelinesReport) count(f thresholds.Finding) (n int) {
	for i := range r.Pipelines {
		if r.Pipelines[i].finding == f {
			n++
		}
	}
	return n
}

// write prints the table, or the report as JSON.
func (r *pipelinesReport) write(w io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	rows := [][]string{{"PIPELINE", "LENGTH", "VERDICT", "REGRET", "AT LEAST", "AT MOST", "ONE SIDE", "FOLLOWS"}}
	for i := range r.Pipelines {
		p := &r.Pipelines[i]
		side := "-"
		if p.OneSide != nil {
			side = fmt.Sprintf("%.2f times", *p.OneSide)
		}
		rows = append(rows, []string{p.Name, p.Length, p.Verdict, percentOf(p.Regret), percentOf(p.Lower), percentOf(p.Upper), side, p.Follows})
	}
	for k, line := range command.Align(rows, 3, 4, 5, 6) {
		fmt.Fprintln(w, line)
		if k > 0 && r.Pipelines[k-1].Why != "" {
			fmt.Fprintln(w, command.Wrap("    not measured: "+r.Pipelines[k-1].Why))
		}
	}
	fmt.Fprintf(w, pipelinesLegend, 100*race.Limit, 100*race.Unsure)
	_, err := fmt.Fprintf(w, "\n%d HOLDS, %d AMBIGUOUS, %d DRIFTED, %d UNMEASURED\n", r.count(thresholds.Holds), r.count(thresholds.Ambiguous),
		r.count(thresholds.Drifted), r.count(thresholds.Unmeasured))
	return err
}

const pipelinesLegend = `
REGRET is how much longer calls take by the route that pipelines follow than by the best route of
this run. AT LEAST and AT MOST are bounds of it, each with 95 %% confidence.
ONE SIDE is how many times as long as the followed route the better one of two routes takes:
everything on the processor, or everything on the GPU.
HOLDS says that the regret is at most %.0[1]f %%, and not above %.0[2]f %% with 95 %% confidence. DRIFTED says
that it is above %.0[1]f %% with that confidence. AMBIGUOUS says that the times do not decide, and
UNMEASURED that there are too few. A larger --budget or a quiet machine may decide both.
`

// verdict returns nil if no route has drifted, or else the error that says what to do.
func (r *pipelinesReport) verdict(path string) error {
	switch drifted := r.count(thresholds.Drifted); {
	case drifted > 0:
		return &command.Error{Code: command.ExitDrifted, Err: fmt.Errorf(
			"%s no longer holds: at %d of %s the route that is followed takes over %.0f %% longer than the best one (go run ./cmd/calibrate --pipelines measures them again)",
			path, drifted, command.Plural(len(r.Pipelines), "length"), 100*race.Limit)}
	case float64(r.count(thresholds.Unmeasured)) > mostUnproven*float64(len(r.Pipelines)):
		return &command.Error{Code: command.ExitTooLittle, Err: fmt.Errorf(
			"too little could be measured: nothing is said of %d of %s (a larger --budget or a quiet machine helps)",
			r.count(thresholds.Unmeasured), command.Plural(len(r.Pipelines), "length"))}
	}
	return nil
}
