// Profile says where the time of a pipeline goes: by stage and by list of kernels, on the processor, on a GPU and between them. It
// compares each stage with what the machine could do, and names the worst bottlenecks.
//
// With --stream it plays a pipeline in real time instead, and measures each block against its deadline.
//
// Usage: go run ./cmd/profile --audio song.wav [flags], or --pipeline decoder [flags]; --help lists them. The exit code is 0 if it profiled, 1 if it could
// not, and 2 for a wrong command line.
package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"crossover/cmd/internal/command"
	"crossover/cmd/internal/harm"
	"crossover/cmd/internal/roof"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/profiles"
	"crossover/songs"
	"crossover/songs/race"
)

func main() { command.Main("profile", run) }

// options holds the command line.
type options struct {
	audio       string
	pipeline    string
	plan        string
	calibration string
	calls       int
	json        string
	before      string
	plots       string
	trace       string
	signposts   bool
	stream      bool
	occupy      bool

	streaming streaming
	earlier   *profiles.Profile // of before
}

// analysis is the pipeline that --pipeline stands for if it is not given.
const analysis = "analysis"

// Limits of the number of calls. With fewer than the least, a median and an interval mean little. Without --calls, as many calls as
// fit into a time are made.
const (
	leastCalls  = 5
	mostCalls   = 100_000
	usualMost   = 200
	callSeconds = 10.0
)

func parse(args []string, stdout io.Writer) (o *options, done bool, err error) {
	o = &options{}
	flags := pflag.NewFlagSet("profile", pflag.ContinueOnError)
	flags.StringVar(&o.audio, "audio", "", "the recording, a PCM WAV `file`; the synthesiser and the decoder take none")
	flags.StringVar(&o.pipeline, "pipeline", analysis, "the pipeline: "+strings.Join(race.Names, ", "))
	flags.StringVar(&o.plan, "plan", songs.Best, "where stages are computed: "+strings.Join(songs.PlanNames, ", "))
	flags.StringVar(&o.calibration, "calibration", "calibration.json", "the `file` that the stages are chosen by; without it they are computed in Go on one core")
	flags.IntVar(&o.calls, "calls", 0, "timed calls (default: as many as fit into ten seconds, from 5 to 200)")
	flags.StringVar(&o.json, "json", "", "save the profile, or the report on streams, to this `file`")
	flags.StringVar(&o.before, "before", "", "compare with the profile in this `file`")
	flags.StringVar(&o.plots, "plots", "", "draw charts into this `folder`; the other plans are then timed too")
	flags.StringVar(&o.trace, "trace", "", "write the calls to this `file`, for ui.perfetto.dev")
	flags.BoolVar(&o.signposts, "signposts", false, "emit each timed call, its stages and their kernels as signposts, for Apple's Instruments; they take a little time")
	flags.BoolVar(&o.stream, "stream", false, "play the pipeline in real time, block by block: "+strings.Join(streamed, ", "))
	o.streaming.flags(flags)
	flags.BoolVar(&o.occupy, "occupy", false, "do nothing but keep the GPU busy, until the standard input ends: the other program of --stream --fault busy")
	done, err = command.Parse(flags, args, stdout,
		"Profile runs a pipeline again and again, and says where the time goes. The "+strings.Join(onRecordings, " and the ")+
			" want a recording (--audio), and the others have inputs of their own.")
	if done || err != nil {
		return nil, done, err
	}
	if o.occupy {
		return o, false, alone(flags)
	}
	if o.stream {
		for _, name := range profileFlags {
			if flags.Changed(name) {
				return nil, false, command.Usage("--%s: it says nothing about streams (leave it or --stream out)", name)
			}
		}
		return o, false, o.streaming.check(o, flags.Changed("pipeline"), flags.Changed("fault"))
	}
	for _, name := range streamFlags {
		if flags.Changed(name) {
			return nil, false, command.Usage("--%s: it is about streams (want --stream, too)", name)
		}
	}
	switch {
	case !slices.Contains(race.Names, o.pipeline):
		err = command.Usage("--pipeline %q: no such pipeline (want %s)", o.pipeline, strings.Join(race.Names, ", "))
	case !slices.Contains(songs.PlanNames, o.plan):
		err = command.Usage("--plan %q: no such plan (want %s)", o.plan, strings.Join(songs.PlanNames, ", "))
	case flags.Changed("calls") && (o.calls < leastCalls || o.calls > mostCalls):
		err = command.Usage("--calls %d: want %d to %d", o.calls, leastCalls, mostCalls)
	case o.audio != "" && !slices.Contains(onRecordings, o.pipeline):
		err = command.Usage("--audio %s: the %s takes no recording (leave it out)", o.audio, o.pipeline)
	case o.audio == "" && slices.Contains(onRecordings, o.pipeline):
		err = command.Usage("--audio: no recording is named (want a PCM WAV file, such as --audio song.wav; the %s want none)", strings.Join(onOthers(), " and the "))
	}
	return o, false, err
}

// run runs the command on this machine.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	return runOn(ctx, machine{kernels.Here(), roof.Processor, roof.GPU, ofMacOS, anotherProgram, harm.Lose}, stdout, stderr, args)
}

// machine is what a profile is made on: backends, what measures their roofs, what signposts need, and what makes its GPU busy or
// loses it.
type machine struct {
	*kernels.Backends
	processor func(context.Context, *kernels.Backends) (profiles.Roof, error)
	gpu       func(context.Context, *gpu.Device) (profiles.Roof, error)
	signposts intervals
	occupy    func(context.Context) (end func() error, err error)
	lose      func(*gpu.Device) error
}

// runOn runs the command on a machine.
func runOn(ctx context.Context, m machine, stdout, stderr io.Writer, args []string) error {
	o, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	if err := o.ready(); err != nil {
		return err
	}
	switch {
	case o.occupy:
		return occupy(ctx, m, os.Stdin, stdout)
	case o.stream:
		return o.streaming.play(ctx, m, stdout, stderr)
	}
	return profile(ctx, m, o, stdout, stderr)
}

// ready reads the earlier profile, and tests that results can be written, before time is spent.
func (o *options) ready() (err error) {
	if err := o.distinct(); err != nil {
		return err
	}
	if o.before != "" {
		if o.earlier, err = profiles.Load(o.before); err != nil {
			return err
		}
		if of := o.earlier.Pipeline; of != o.pipeline {
			return command.Usage("--before %s is a profile of %s, and this is one of %s (want two of one pipeline: --pipeline %[2]s)", o.before, of, o.pipeline)
		}
	}
	if o.plots != "" { // first, because it makes folders that another output may not be
		if err := command.Writable(o.plots); err != nil {
			return err
		}
	}
	for _, file := range []string{o.json, o.trace} {
		if file == "" {
			continue
		}
		if err := command.WritableFile(file); err != nil {
			return err
		}
	}
	return nil
}

// The charts that --plots draws, without and with --stream.
var (
	profileCharts = []string{"gantt.png", "stages.png"}
	streamCharts  = []string{latencies}
)

// named is a path that a flag names, or a chart in the folder that it names.
type named struct{ flag, path string }

// distinct fails if an output would overwrite an input or another output. Only --json may be the file of --before, which is read
// before anything is written.
func (o *options) distinct() error {
	inputs := []named{{"audio", o.audio}, {"calibration", o.calibration}, {"after-idle", o.streaming.afterIdle}, {"before", o.before}}
	outputs := []named{{"json", o.json}, {"trace", o.trace}}
	if o.plots != "" {
		charts := profileCharts
		if o.stream {
			charts = streamCharts
		}
		outputs = append(outputs, named{"plots", o.plots})
		for _, chart := range charts {
			outputs = append(outputs, named{"plots", filepath.Join(o.plots, chart)})
		}
	}
	for i, out := range outputs {
		for _, in := range inputs {
			if command.SamePlace(out.path, in.path) && !(out.flag == "json" && in.flag == "before") {
				return command.Usage("--%s would overwrite %s, which --%s names (want another %s)", out.flag, in.path, in.flag, kindOf(out))
			}
		}
		for _, earlier := range outputs[:i] {
			if out.flag != earlier.flag && command.SamePlace(out.path, earlier.path) {
				return command.Usage("--%s and --%s would both write %s (want another %s)", earlier.flag, out.flag, out.path, kindOf(out))
			}
		}
	}
	return nil
}

// kindOf says what a flag names.
func kindOf(n named) string {
	if n.flag == "plots" {
		return "folder"
	}
	return "file"
}
