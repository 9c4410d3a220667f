package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"crossover/audio"
	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
	"crossover/kernels"
	"crossover/songs/race"
	"crossover/sweeps"
)

// defaultOutput is the calibration file if the command line names none.
const defaultOutput = "calibration.json"

// The default budgets. defaultBudget is for a run over cases only. The others are for runs that also measure shapes of whole
// operations, which package harness gives a share of the budget. With a discrete GPU there are three times as many cases and
// twice as many shapes.
const (
	defaultBudget    = 2 * time.Minute
	withShapes       = 3 * time.Minute
	withShapesAndGPU = 6 * time.Minute
)

// quickBudget is the budget of --quick. With fits and charts such a run ends within 30 s.
const quickBudget = 22 * time.Second

// options holds the command line.
type options struct {
	ops        string
	shape      []string
	shapesFile string
	lines      []string // that --shape and --shapes ask for
	asked      []asked
	impl       []string
	sizes      string
	budget     time.Duration
	precision  float64
	mode       string
	inFlight   int
	state      string
	audio      string
	seed       uint64
	output     string
	data       string
	plots      string
	from       string
	simulate   string
	choose     string
	pipelines  []string

	arguments []string // those that are no flags: the size of --choose

	list, dryRun, quick, json, quiet, verbose, noProgress, force, fresh bool

	sizeRange command.SizeRange      // the parsed form of sizes, if given
	given     func(flag string) bool // reports whether the command line has the flag
}

func parse(args []string, stdout io.Writer) (o *options, done bool, err error) {
	o = &options{}
	flags := pflag.NewFlagSet("calibrate", pflag.ContinueOnError)
	flags.StringVar(&o.ops, "ops", "", "measure only the cases whose name matches this `regexp`; with --shapes, only the shapes of which the name, the operation or a case of the operation matches")
	flags.StringArrayVar(&o.shape, "shape", nil, "measure only this `shape`, fft/n=441,batch=64, or this line of shapes, all axes fixed but one: stft/n_fft=1024,hop=256; may be repeated")
	flags.StringVar(&o.shapesFile, "shapes", "", "measure the shapes in this `file` first, by their counts, and then their operations; dispatch's Record writes such a file")
	flags.StringSliceVar(&o.impl, "impl", nil, "let only these implementations compete, e.g. go,fftw,go/direct")
	flags.StringVar(&o.sizes, "sizes", "", "sizes as `lo:hi:xN`, e.g. 64:1Mi:x2")
	flags.DurationVar(&o.budget, "budget", defaultBudget, "time to spend on measuring; by default 3m (6m with a GPU), and 2m for cases without shapes around them")
	flags.Lookup("budget").DefValue = "0s" // its help says what the default is
	flags.Float64Var(&o.precision, "precision", 0.1, "half width of a threshold's interval to aim at, relative")
	flags.StringVar(&o.mode, "mode", string(sweeps.Latency), "latency (one call, then wait) or throughput (calls without a pause)")
	flags.IntVar(&o.inFlight, "in-flight", sweeps.DefaultInFlight, "GPU calls under way at a time, in throughput mode")
	flags.StringVar(&o.state, "state", string(sweeps.Warm), "warm, cold (first call: planned, compiled) or after-idle (after a pause)")
	flags.StringVar(&o.audio, "audio", "", "feed this PCM WAV `file` to the audio operations")
	flags.Uint64Var(&o.seed, "seed", 0, "seed of everything random (default: from the clock, printed and saved)")
	flags.StringVarP(&o.output, "output", "o", defaultOutput, "calibration `file`; the result goes into this host's entry")
	flags.StringVar(&o.data, "data", filepath.Join("sweeps", "data"), "`folder` for the raw samples, one folder a host in it; with -o NAME.json it is NAME/data, beside that file")
	flags.StringVar(&o.plots, "plots", "plots", "`folder` for the charts, one folder a host in it; with -o NAME.json it is NAME/plots")
	flags.StringVar(&o.from, "from", "", "refit the samples saved in this `folder`, of a run or of a host; measure nothing")
	flags.StringVar(&o.simulate, "simulate", "", "calibrate a modelled Apple `chip`, e.g. m3-max, into simulated/; \"list\" prints them")
	flags.StringVar(&o.choose, "choose", "", "print what calibration.json chooses for a `case` on this host, and why; the size follows: --choose fft/batch=1 4096")
	flags.StringSliceVar(&o.pipelines, "pipelines", nil, "measure whole `pipelines` by several routes, and write which is fastest into this host's entry: analysis, separator, synthesiser, decoder, by default all, in 3m by default")
	flags.Lookup("pipelines").NoOptDefVal = race.All
	flags.BoolVar(&o.list, "list", false, "list the cases, their implementations and what is missing here")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print what would be measured, and how long it would take")
	flags.BoolVar(&o.quick, "quick", false, "a smoke run of at most 30 s")
	flags.BoolVar(&o.json, "json", false, "print this host's entry as JSON instead of the table")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but errors, and of --choose the name alone")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print a line for every visit to a size")
	flags.BoolVar(&o.noProgress, "no-progress", false, "draw no progress bar")
	flags.BoolVar(&o.fresh, "fresh", false, "forget the earlier runs of the cases that are measured")
	flags.BoolVar(&o.force, "force", false, "replace better cases, an entry of another method or a file that is not valid; what was there is kept as FILE.bak")
	if done, err = command.Parse(flags, args, stdout,
		"Calibrate finds the input sizes at which the fastest implementation changes on this machine.",
		func() bool { return o.choose != "" }); done || err != nil {
		return nil, done, o.negativeSize(err)
	}
	o.given, o.arguments = flags.Changed, flags.Args()
	if err := o.readNames(); err != nil {
		return nil, false, err
	}
	if o.quick && !flags.Changed("budget") {
		o.budget = quickBudget
	}
	o.placeOutputs()
	return o, false, o.check()
}

func (o *options) check() (err error) {
	if o.given("from") {
		if err := o.checkFrom(); err != nil {
			return err
		}
	}
	if o.given("shape") && o.given("ops") {
		return command.Usage("--shape with --ops: want one of the two")
	}
	if o.sizes != "" && len(o.asked) > 0 {
		return command.Usage("--sizes with %s %s: the shape has its sizes (leave one of the two out)", o.asked[0].origin, o.asked[0].Name)
	}
	if o.sizes != "" {
		if o.sizeRange, err = command.ParseSizes(o.sizes); err != nil {
			return err
		}
	}
	if o.given("choose") {
		return o.checkChoose()
	}
	if err := o.checkOutputs(); err != nil {
		return err
	}
	if o.given("pipelines") {
		if err := o.checkPipelines(); err != nil {
			return err
		}
	}
	switch {
	case o.budget < time.Second || o.budget > 24*time.Hour:
		return command.Usage("--budget %v: want a duration from 1s to 24h, e.g. 2m", o.budget)
	case !(o.precision >= 0.01 && o.precision <= 1):
		return command.Usage("--precision %v: want a number from 0.01 to 1, e.g. 0.1", o.precision)
	case o.mode != string(sweeps.Latency) && o.mode != string(sweeps.Throughput):
		return command.Usage("--mode %q: want latency or throughput", o.mode)
	case o.given("in-flight") && o.mode != string(sweeps.Throughput):
		return command.Usage("--in-flight %d with --mode %s: each call is waited for (want --mode throughput)", o.inFlight, o.mode)
	case o.inFlight < 1 || o.inFlight > calibration.MaxInFlight:
		return command.Usage("--in-flight %d: want a number from 1 to %d, e.g. %d", o.inFlight, calibration.MaxInFlight, sweeps.DefaultInFlight)
	case o.state != string(sweeps.Warm) && o.state != string(sweeps.Cold) && o.state != string(sweeps.AfterIdle):
		return command.Usage("--state %q: want warm, cold or after-idle", o.state)
	case o.state != string(sweeps.Warm) && o.mode == string(sweeps.Throughput):
		return command.Usage("--state %s with --mode throughput: calls in a row are warm (want --mode latency)", o.state)
	case o.given("simulate"):
		return o.checkSimulation()
	}
	return nil
}

// checkFrom refuses flags of a measurement, because --from measures nothing.
func (o *options) checkFrom() error {
	for _, flag := range []string{
		"ops", "shape", "shapes", "impl", "sizes", "budget", "precision", "mode", "in-flight", "state", "audio", "seed", "list", "dry-run", "quick",
	} {
		if o.given(flag) {
			return command.Usage("--from %s with --%s: saved samples are fitted as they were measured (leave one of the two out)", o.from, flag)
		}
	}
	return nil
}

// placeOutputs sets the outputs that the command line does not name. A simulation does not write where measurements are.
// Samples and charts lie beside a calibration file other than the default one, so that they never mix with those of the
// default file.
func (o *options) placeOutputs() {
	if o.simulate != "" && !o.given("output") {
		o.output = o.simulatedFolder() + ".json"
	}
	if command.SamePlace(o.output, defaultOutput) {
		return
	}
	beside := strings.TrimSuffix(o.output, filepath.Ext(o.output))
	if beside == o.output {
		beside += ".d"
	}
	if !o.given("data") {
		o.data = filepath.Join(beside, "data")
	}
	if !o.given("plots") {
		o.plots = filepath.Join(beside, "plots")
	}
}

// checkOutputs refuses places that exclude each other. The calibration file is written last, so its place would only then turn
// out to be a folder of the same run.
func (o *options) checkOutputs() error {
	if info, err := os.Stat(o.output); err == nil && info.IsDir() || os.IsPathSeparator(o.output[len(o.output)-1]) {
		return command.Usage("--output %s: that is a folder (want the name of a file, e.g. %s)", o.output, filepath.Join(o.output, defaultOutput))
	}
	for _, folder := range []struct{ flag, path string }{{"data", o.data}, {"plots", o.plots}} {
		if within(folder.path, o.output) {
			return command.Usage("--%s %s with --output %s: one place cannot be a folder and the calibration file (want another name for one of the two)",
				folder.flag, folder.path, o.output)
		}
	}
	return nil
}

// within reports whether a path is a place or lies below it.
func within(path, place string) bool {
	at, err := filepath.Abs(path)
	for err == nil {
		if command.SamePlace(at, place) {
			return true
		}
		above := filepath.Dir(at)
		if above == at {
			break
		}
		at = above
	}
	return false
}

// again returns a command line that fits the samples in a folder, writes to the same places as this command line, and treats what
// is there alike.
func (o *options) again(folder string) string {
	words := []string{"calibrate", "--from", quoted(folder)}
	for _, flag := range []struct{ name, value string }{
		{"simulate", o.simulate}, {"output", o.output}, {"data", o.data}, {"plots", o.plots},
	} {
		if o.given(flag.name) {
			words = append(words, "--"+flag.name, quoted(flag.value))
		}
	}
	if o.fresh {
		words = append(words, "--fresh")
	}
	if o.force {
		words = append(words, "--force")
	}
	return strings.Join(words, " ")
}

// quoted returns a word quoted for a shell, if need be.
func quoted(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=,:@%", r))
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// drawSeed draws a seed if the command line has none.
func (o *options) drawSeed() {
	if !o.given("seed") {
		o.seed = uint64(time.Now().UnixNano()) ^ uint64(os.Getpid())
		o.seed %= 1 << 32 // short enough to type
	}
}

// cases returns the cases that --ops, --shape, --shapes and --sizes select.
func (o *options) cases(all []kernels.Case, stderr io.Writer) ([]kernels.Case, error) {
	cases, err := o.selectCases(all, stderr)
	if err != nil {
		return nil, err
	}
	if o.sizes == "" {
		return cases, nil
	}
	var kept []kernels.Case
	var ranges []string
	for _, c := range cases {
		low, high := max(o.sizeRange.Low, c.Axis.Min), min(o.sizeRange.High, c.Axis.Max)
		if low > high {
			ranges = append(ranges, fmt.Sprintf("%s takes %d to %d %s", c.Name, c.Axis.Min, c.Axis.Max, c.Axis.Unit))
			continue
		}
		c.Axis.Min, c.Axis.Max = low, high
		kept = append(kept, c)
	}
	if len(kept) == 0 {
		return nil, command.Usage("--sizes %q lies outside every case (%s)", o.sizes, strings.Join(ranges, "; "))
	}
	for _, r := range ranges {
		fmt.Fprintf(stderr, "calibrate: left out: %s\n", r)
	}
	return kept, nil
}

// checkImplementations refuses names of --impl that are in no case, and names of which none can run here, because no budget is
// enough to measure those. --list says what is missing itself.
func (o *options) checkImplementations(cases []kernels.Case, spaces []*kernels.Space) error {
	var known []string
	var missing facts
	runs := false
	cases = slices.Clone(cases)
	for _, s := range spaces {
		cases = append(cases, s.Case)
	}
	for _, c := range cases {
		for _, i := range c.Implementations {
			first := !slices.Contains(known, i.Name)
			if first {
				known = append(known, i.Name)
			}
			if runs || !o.include(i.Name) {
				continue
			}
			err := i.Missing()
			if err != nil && first {
				missing.add(i.Name, err.Error())
			}
			runs = err == nil
		}
	}
	slices.Sort(known)
	for _, name := range o.impl {
		if !slices.Contains(known, name) {
			return command.Usage("--impl %q: no such implementation in these cases (there are %s)", name, strings.Join(known, ", "))
		}
	}
	if len(o.impl) > 0 && !runs && !o.list {
		return command.Usage("--impl %s: none can run here; %s", strings.Join(o.impl, ","), strings.Join(missing.lines("missing"), "; "))
	}
	return nil
}

// withImplementations returns the cases and the spaces that have an implementation of --impl. An entry has no others. stderr says which
// cases are left out.
func (o *options) withImplementations(cases []kernels.Case, spaces []*kernels.Space, stderr io.Writer) ([]kernels.Case, []*kernels.Space) {
	lacks := func(c *kernels.Case) bool {
		return !slices.ContainsFunc(c.Implementations, func(i kernels.Implementation) bool { return o.include(i.Name) })
	}
	var kept []kernels.Case
	var left []string
	for _, c := range cases {
		if lacks(&c) {
			left = append(left, c.Name)
		} else {
			kept = append(kept, c)
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(stderr, "calibrate: left out, without an implementation of --impl: %s\n", command.Few(left, ", "))
	}
	return kept, slices.DeleteFunc(slices.Clone(spaces), func(s *kernels.Space) bool { return lacks(&s.Case) })
}

func (o *options) include(implementation string) bool {
	return len(o.impl) == 0 || slices.Contains(o.impl, implementation)
}

// competes reports whether an implementation is measured: it may, and can run here.
func (o *options) competes(i kernels.Implementation) bool {
	return o.include(i.Name) && i.Missing() == nil
}

// input returns the input of the audio operations.
func (o *options) input() (kernels.Input, error) {
	if o.audio == "" {
		return kernels.GeneratedInput(), nil
	}
	input, err := audio.ReadWAV(o.audio)
	if err != nil {
		return kernels.Input{}, fmt.Errorf("--audio: %w", err)
	}
	return input, nil
}

// runOptions returns the options of a run.
func (o *options) runOptions() harness.Options {
	return harness.Options{
		Budget: o.budget, Seed: o.seed, Precision: o.precision, Ratio: o.sizeRange.Ratio,
		Mode: sweeps.Mode(o.mode), State: sweeps.State(o.state), InFlight: o.inFlight, Include: o.include,
	}
}
