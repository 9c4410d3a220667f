package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"crossover/audio"
	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/dispatch"
	"crossover/host"
	"crossover/plots"
	"crossover/songs"
	"crossover/songs/stream"
)

// streaming holds the flags of --stream.
type streaming struct {
	block, streams int
	rate, seconds  float64
	fast           bool
	seed           uint64
	fault          []string
	faults         []fault // of the flag

	pipeline, audio, calibration, afterIdle, json, plots string
}

const (
	synthesiser = "synthesiser"
	effects     = "effects"
)

var streamed = []string{synthesiser, effects}

func (s *streaming) flags(flags *pflag.FlagSet) {
	flags.IntVar(&s.block, "block", 512, "with --stream: samples of a block")
	flags.Float64Var(&s.rate, "rate", 44100, "with --stream: samples a second")
	flags.IntVar(&s.streams, "streams", 1, "with --stream: streams at a time")
	flags.Float64Var(&s.seconds, "seconds", 80, "with --stream: seconds of audio; a quarter of them is for trying implementations")
	flags.StringVar(&s.afterIdle, "after-idle", "", "with --stream: compare with the choices of this `file` too, which go run ./cmd/calibrate --state after-idle -o FILE wrote")
	flags.BoolVar(&s.fast, "fast", false, "with --stream: one block after the other, without waiting for its time, all by the route of the calibration")
	flags.StringSliceVar(&s.fault, "fault", nil, "with --stream: make these `faults` while streams play on the GPU, and say what streams did: NAME@SECONDS or NAME@SECONDS+DURATION, such as thermal@10+5; names: "+strings.Join(faultNames, ", "))
	flags.Uint64Var(&s.seed, "seed", 1, "with --stream: seed of the order in which routes take turns")
}

// streamFlags are the flags that say nothing without --stream.
var streamFlags = []string{"block", "rate", "streams", "seconds", "after-idle", "fast", "fault", "seed"}

// profileFlags are the flags that say nothing with --stream.
var profileFlags = []string{"plan", "calls", "before", "trace", "signposts"}

// check completes the flags of --stream, and fails if one is out of its range. named and faulty report whether the command line
// has --pipeline and --fault.
func (s *streaming) check(o *options, named, faulty bool) error {
	s.audio, s.calibration, s.json, s.plots, s.pipeline = o.audio, o.calibration, o.json, o.plots, synthesiser
	switch {
	case named:
		s.pipeline = o.pipeline
	case s.audio != "":
		s.pipeline = effects
	}
	switch {
	case !slices.Contains(streamed, s.pipeline):
		return command.Usage("--pipeline %q: it has no stream (want %s)", s.pipeline, strings.Join(streamed, ", "))
	case s.block < 1 || s.block > stream.MostBlock:
		return command.Usage("--block %d: want 1 to %d samples", s.block, stream.MostBlock)
	case !(s.rate >= stream.LeastRate && s.rate <= stream.MostRate):
		return command.Usage("--rate %g: want %d to %d samples a second", s.rate, stream.LeastRate, stream.MostRate)
	case s.streams < 1 || s.streams > stream.MostStreams:
		return command.Usage("--streams %d: want 1 to %d", s.streams, stream.MostStreams)
	case !(s.seconds > 0 && s.seconds <= stream.MostSeconds):
		return command.Usage("--seconds %g: want more than 0, and at most %d", s.seconds, stream.MostSeconds)
	case s.fast && s.afterIdle != "":
		return command.Usage("--after-idle with --fast: one route is played, and nothing is compared (leave one of the two out)")
	case s.pipeline == effects && s.audio == "":
		return command.Usage("--pipeline effects: no recording is named (want a PCM WAV file, such as --audio song.wav)")
	case s.pipeline == synthesiser && s.audio != "":
		return command.Usage("--audio %s: the synthesiser plays no recording (want --pipeline effects)", s.audio)
	}
	if faulty && len(s.fault) == 0 { // a variable that a script has not set
		return command.Usage("--fault is empty: %s", faultForm)
	}
	return s.checkFaults()
}

// source returns what is played.
func (s *streaming) source(stderr io.Writer) (*stream.Source, error) {
	if s.pipeline == synthesiser {
		return stream.Synthesiser(s.block, s.rate)
	}
	recording, err := audio.ReadWAV(s.audio)
	if err != nil {
		return nil, err
	}
	if own := recording.SampleRate; own != s.rate {
		note := fmt.Sprintf("profile: %s has %g samples a second and is played with %g, so at another pitch", s.audio, own, s.rate)
		if own >= stream.LeastRate && own <= stream.MostRate {
			note += fmt.Sprintf(" (--rate %g plays it as it is)", own)
		}
		fmt.Fprintln(stderr, note)
	}
	return stream.Effects(s.block, s.rate, recording.Samples)
}

// idle returns the dispatcher by the times of calls after a pause, nil if no file is named.
func (s *streaming) idle(stderr io.Writer) (*dispatch.Dispatcher, error) {
	if s.afterIdle == "" {
		return nil, nil
	}
	file, err := calibration.Load(s.afterIdle)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(file.Hosts, func(h calibration.Host) bool { return h.Method.State != "after-idle" }) {
		return nil, fmt.Errorf("%s has times of other calls than those after a pause (go run ./cmd/calibrate --state after-idle -o FILE writes such a file)", s.afterIdle)
	}
	return load(s.afterIdle, stderr)
}

// tuning is the share of the time in which implementations are tried.
const tuning = 0.25

// play plays streams and prints what it found.
func (s *streaming) play(ctx context.Context, m machine, stdout, stderr io.Writer) error {
	source, err := s.source(stderr)
	if err != nil {
		return err
	}
	d, err := load(s.calibration, stderr)
	if err != nil {
		return err
	}
	idle, err := s.idle(stderr)
	if err != nil {
		return err
	}
	o := stream.Options{Backends: m.Backends, Dispatcher: d, AfterIdle: idle, Source: source, Streams: s.streams, Seconds: s.seconds, Fast: s.fast, Seed: s.seed,
		Guard: stream.NewGuard(d, host.Observe)}
	defer d.OnMemoryPressure(func() { m.Trim() })()
	routes, err := stream.Routes(o)
	if err != nil {
		return err
	}
	serial := routes[slices.IndexFunc(routes, func(r songs.Entrant) bool { return r.Name == stream.Serial })]
	o.Routes, o.Spare = routes, serial
	switch {
	case s.fast:
		o.Routes = routes[:1]
	case len(s.faults) > 0:
		if err := s.inject(&o, m); err != nil {
			return err
		}
	default:
		if err := s.tune(ctx, &o, serial, stderr); err != nil {
			return interrupted(ctx, err)
		}
	}
	if ctx.Err() != nil {
		return command.Interrupted(errors.New("interrupted before a block was compared"))
	}
	report, err := stream.Run(ctx, o)
	if err != nil {
		return interrupted(ctx, err)
	}
	s.print(report, stdout)
	if s.json != "" {
		if err := save(report, s.json); err != nil {
			return err
		}
	}
	if s.plots != "" {
		to := filepath.Join(s.plots, latencies)
		if err := plots.Save(context.WithoutCancel(ctx), to, func() *plots.Chart { return picture(report) }); err != nil {
			return fmt.Errorf("--plots %s: %w", s.plots, command.Cause(err))
		}
		fmt.Fprintln(stdout, to)
	}
	if report.Interrupted {
		return command.Interrupted(fmt.Errorf("interrupted after %.1f of %g seconds: the report has these", report.AudioSeconds, o.Seconds))
	}
	return nil
}

// tune adds the route that is fastest in a stream.
func (s *streaming) tune(ctx context.Context, o *stream.Options, serial songs.Entrant, stderr io.Writer) error {
	trial := *o
	trial.Seconds = tuning * s.seconds
	o.Seconds -= trial.Seconds
	fmt.Fprintf(stderr, "profile: %.3g s of trying each implementation, then %.3g s of comparing routes\n", trial.Seconds, o.Seconds)
	tuned, err := stream.Tune(ctx, trial, serial)
	if err != nil {
		return err
	}
	o.Routes = append(o.Routes, tuned)
	return nil
}

// latencies is the file of the chart.
const latencies = "latencies.png"

// save writes a report to a file.
func save(r *stream.Report, file string) error {
	return command.Replace(file, func(w io.Writer) error {
		indented := json.NewEncoder(w)
		indented.SetIndent("", "  ")
		return indented.Encode(r)
	})
}

func (s *streaming) print(r *stream.Report, stdout io.Writer) {
	fmt.Fprintf(stdout, "%s: %s of %s at %g Hz, so a block is due every %s; %s of audio in %s\n\n", r.Pipeline,
		command.Plural(r.Streams, "stream"), command.Plural(r.Block, "sample"), r.RateHz, milli(r.DeadlineSeconds), clockTime(r.AudioSeconds), clockTime(r.WallSeconds))
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ROUTE\tBLOCKS\tUNDERRUNS\tCOMPUTED IN: MEDIAN\tP95\tP99\tP99.9\tWORST\tDONE AFTER ITS TIME: P99.9\tWORST")
	for _, route := range r.Routes {
		c, l := route.Compute, route.Latency
		if route.Blocks == 0 {
			continue // a spare route that was not needed
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", route.Name, command.Thousands(route.Blocks), command.Thousands(route.Underruns), milli(c.P50),
			rare(c.P95, 20, route.Blocks), rare(c.P99, 100, route.Blocks), rare(c.P999, rarest, route.Blocks), milli(c.Worst),
			rare(l.P999, rarest, route.Blocks), milli(l.Worst))
	}
	t.Flush()
	fmt.Fprintln(stdout)
	for _, route := range r.Routes {
		if route.Blocks == 0 {
			continue
		}
		fmt.Fprintf(stdout, "%s is %s.\n", route.Name, strings.Join(route.Stages, ", "))
		if len(route.Unknown) > 0 {
			fmt.Fprintln(stdout, command.Wrap(fmt.Sprintf("  The calibration knows nothing of %s, so Go computes %s on one core there.",
				strings.Join(route.Unknown, ", "), them(len(route.Unknown)))))
		}
	}
	fmt.Fprintln(stdout)
	if len(r.Faults) > 0 {
		printFaults(r, stdout)
		fmt.Fprintln(stdout)
	}
	for _, finding := range findings(r) {
		fmt.Fprintln(stdout, finding)
	}
	fewest := rarest
	for _, route := range r.Routes {
		if route.Blocks > 0 {
			fewest = min(fewest, route.Blocks)
		}
	}
	if enough := math.Ceil(1.05 * s.seconds * rarest / float64(fewest)); fewest < rarest && enough <= stream.MostSeconds {
		fmt.Fprintf(stdout, "A dash stands where a route has too few blocks: about --seconds %.0f has enough.\n", enough)
	}
}

// rarest is the number of blocks of which the rarest quantile leaves one out.
const rarest = 1000

// findings says what a report shows, in a sentence each.
func findings(r *stream.Report) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	blocks, underruns := r.Skipped, r.Skipped
	by := map[string]stream.RouteReport{}
	for _, route := range r.Routes {
		blocks, underruns = blocks+route.Blocks, underruns+route.Underruns
		if route.Blocks > 0 {
			by[route.Name] = route
		}
	}
	switch {
	case blocks == 0:
		return []string{"Nothing was measured."}
	case r.Fast:
		say("%s of %s blocks took longer than their deadline.", command.Thousands(underruns), command.Thousands(blocks))
	default:
		say("%s of %s blocks were not done in time, and %s of them were not begun, because their time was over.", command.Thousands(underruns),
			command.Thousands(blocks), command.Thousands(r.Skipped))
		say("The goroutine woke %s after a block's time in the median, and at worst %s.", milli(r.Wake.P50), milli(r.Wake.Worst))
	}
	switch {
	case r.Silent == 1:
		say("1 block of a stream was silent, because every implementation of a stage failed: %s.", r.Failure)
	case r.Silent > 1:
		say("%s blocks of a stream were silent, because every implementation of a stage failed: %s.", command.Thousands(r.Silent), r.Failure)
	case r.Failure != "":
		say("A route did not go on where another one was, so that a sound was cut: %s.", r.Failure)
	}
	for _, route := range r.Routes {
		if route.Name == stream.Warm && route.Blocks > 0 {
			worst := ""
			if route.Blocks >= 100 {
				worst = fmt.Sprintf(", and at most %s in 99 of 100 blocks", percent(route.Each.P99/r.DeadlineSeconds))
			}
			say("By the calibration's choices a stream takes %s of its deadline in the median%s.", percent(route.Each.P50/r.DeadlineSeconds), worst)
		}
	}
	warm, serial := by[stream.Warm], by[stream.Serial]
	fastest := warm
	for _, route := range r.Routes {
		if route.Blocks > 0 && route.Compute.P50 < fastest.Compute.P50 {
			fastest = route
		}
	}
	switch {
	case warm.Blocks == 0 || len(by) == 1:
	case fastest.Name == stream.Warm:
		say("The calibration's choices, made for calls one after the other, are also the fastest for these blocks, which come after a pause.")
	default:
		say("The calibration's choices, made for calls one after the other, take %s the time of the fastest route for these blocks, which come after a pause (%s, and %s by the %s route, in the median).",
			times(warm.Compute.P50/fastest.Compute.P50), milli(warm.Compute.P50), milli(fastest.Compute.P50), fastest.Name)
	}
	if idle := by[stream.Idle]; idle.Blocks > 0 && warm.Blocks > 0 {
		say("The choices for calls after a pause take %s the time of those for calls one after the other (%s in the median).",
			times(idle.Compute.P50/warm.Compute.P50), milli(idle.Compute.P50))
	}
	for _, name := range []string{stream.Pooled, stream.GPU} {
		if other := by[name]; other.Blocks > 0 && serial.Blocks > 0 {
			worst := ""
			if min(other.Blocks, serial.Blocks) >= 100 {
				worst = fmt.Sprintf(", and %s in the slowest of 100 blocks", times(other.Compute.P99/serial.Compute.P99))
			}
			say("The %s route takes %s the time of the serial one in the median%s.", name, times(other.Compute.P50/serial.Compute.P50), worst)
		}
	}
	if r.ProcessorLoad != nil {
		say("The process took %s of one core.", percent(*r.ProcessorLoad))
	}
	changed := "The heap " + growth(r.HeapGrowthBytes)
	if r.ResidentGrowthBytes != nil {
		changed += ", and resident memory " + growth(*r.ResidentGrowthBytes)
	}
	say("%s.", changed)
	for _, c := range r.Changes {
		verb := "left"
		if !c.Begins {
			verb = "could go back to"
		}
		say("Streams %s the GPU after %.1f s: %s.", verb, c.Seconds, c.Cause)
	}
	return append(all, faultFindings(r)...)
}

func milli(seconds float64) string {
	return strconv.FormatFloat(1e3*seconds, 'f', max(0, 2-int(math.Log10(max(1, 1e3*seconds)))), 64) + " ms"
}

// rare writes the time of the slowest of so many blocks, or a dash if there are fewer.
func rare(seconds float64, of, blocks int) string {
	if blocks < of {
		return "–"
	}
	return milli(seconds)
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

func times(factor float64) string { return strconv.FormatFloat(factor, 'f', 2, 64) + "×" }

// growth says by how much memory grew or shrank.
func growth(bytes int64) string {
	verb := "grew"
	if bytes <= -50_000 { // which are 0.1 MB
		verb = "shrank"
	}
	return fmt.Sprintf("%s by %.1f MB", verb, math.Abs(float64(bytes))/1e6)
}

func clockTime(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// picture draws the distribution of a report's latencies.
func picture(r *stream.Report) *plots.Chart {
	facts, id := command.HostFacts()
	about := plots.Latencies{
		Title: fmt.Sprintf("How long until a block of the %s is done", r.Pipeline),
		About: []string{command.Plural(r.Streams, "stream"), fmt.Sprintf("%s at %g Hz", command.Plural(r.Block, "sample"), r.RateHz), clockTime(r.AudioSeconds) + " of audio"},
		Caption: []string{facts.Chip, command.Plural(facts.Cores, "core"), id, host.Observe().OSVersion, runtime.Version(),
			time.Now().UTC().Format("2006-01-02 15:04 UTC"), "routes take turns, block by block"},
		DeadlineSeconds: r.DeadlineSeconds,
	}
	for _, route := range r.Routes {
		one := plots.Latency{Name: route.Name, Words: routeWords[route.Name], Underruns: route.Underruns}
		for _, b := range route.Latencies {
			one.Seconds, one.Counts = append(one.Seconds, b.AtMost), append(one.Counts, b.Count)
		}
		if route.Blocks > 0 {
			about.Of = append(about.Of, one)
		}
	}
	return plots.LatencyChart(about)
}

var routeWords = map[string]string{
	stream.Warm:   "as the calibration chooses",
	stream.Idle:   "as a calibration of calls after a pause chooses",
	stream.Serial: "on one core",
	stream.Pooled: "on all cores",
	stream.GPU:    "on the GPU",
	stream.Tuned:  "stage by stage the fastest in a stream",
}
