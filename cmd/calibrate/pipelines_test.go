package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/songs"
	"crossover/songs/race"
)

// pipelinesOn runs the command on this machine's clock, because pipelines are real ones.
func pipelinesOn(ctx context.Context, args ...string) (stdout, stderr string, code int) {
	var out, log bytes.Buffer
	err := runOn(ctx, command.Machine{}, &out, &log, args)
	code = command.Exit(&log, "calibrate", err)
	return out.String(), log.String(), code
}

func hostOf(t *testing.T, path string) *calibration.Host {
	t.Helper()
	file, err := calibration.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	_, id := command.HostFacts()
	return file.Host(id)
}

// The routes of a pipeline are measured, written beside what is known, and followed. Later runs over cases keep them.
func TestPipelines(t *testing.T) {
	f := newFolders(t)
	if _, stderr, code := calibrateOn(t, twoCases(1), f.args()...); code != 0 {
		t.Fatal(stderr)
	}
	before := hostOf(t, f.file)
	stdout, stderr, code := pipelinesOn(t.Context(), "-o", f.file, "--pipelines=synthesiser,synthesiser", "--budget", "4s", "--seed", "1")
	if code != 0 || !strings.Contains(stderr, " · 1 pipeline · ") || !strings.Contains(stderr, "wrote the pipelines of "+before.ID) {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"PIPELINE     LENGTH", "PREDICTED", "TIMES THE BEST", "synthesiser  1 s by ", "each stage chosen alone", "1.00"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	after := hostOf(t, f.file)
	measured := after.Pipeline("synthesiser")
	if measured == nil || len(after.Pipelines) != 1 {
		t.Fatalf("pipelines %v", after.Pipelines)
	}
	for _, l := range measured.Lengths {
		for _, r := range l.Routes {
			if r.PredictedSeconds > 0 && len(l.Parts) == 0 {
				t.Errorf("%v: a forecast, but no parts", l.Elements)
			}
		}
	}
	kept := *after
	kept.Pipelines = nil
	if difference := cmp.Diff(before, &kept); difference != "" {
		t.Errorf("more than the pipelines changed:\n%s", difference)
	}

	d, err := dispatch.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := race.Usual("synthesiser", kernels.GeneratedInput())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range measured.Lengths {
		i := slices.Index([]int{64, 128, 256, 512, 1024}, l.Elements[1]) // the block
		p, err := songs.New(d, sessions[i].Graph)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(sessions[i].Calls[0]...); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(p.Explain(), "\n"); !strings.Contains(got, " at [2] elements") {
			t.Errorf("at %v it does not go by what was measured: %s", l.Elements, got)
		}
		p.Close()
	}

	if _, stderr, code := calibrateOn(t, twoCases(2), f.args("--ops", "^sum$")...); code != 0 {
		t.Fatal(stderr)
	}
	if difference := cmp.Diff(after.Pipelines, hostOf(t, f.file).Pipelines); difference != "" {
		t.Errorf("a run over cases changed pipelines:\n%s", difference)
	}
}

// Routes that were measured with other revisions are not believed, and the next run measures them again.
func TestPipelinesMeasuredAgain(t *testing.T) {
	f := newFolders(t)
	if _, stderr, code := calibrateOn(t, twoCases(1), f.args()...); code != 0 {
		t.Fatal(stderr)
	}
	measure := func() {
		t.Helper()
		if _, stderr, code := pipelinesOn(t.Context(), "-o", f.file, "--pipelines=synthesiser", "--budget", "4s", "--seed", "1"); code != 0 {
			t.Fatal(stderr)
		}
	}
	sessions, err := race.Usual("synthesiser", kernels.GeneratedInput())
	if err != nil {
		t.Fatal(err)
	}
	// doubts returns how many of the measured lengths are not believed, and how many there are.
	doubts := func() (n, of int) {
		t.Helper()
		d, err := dispatch.Load(f.file)
		if err != nil {
			t.Fatal(err)
		}
		lengths := hostOf(t, f.file).Pipeline("synthesiser").Lengths
		for _, l := range lengths {
			i := slices.Index([]int{64, 128, 256, 512, 1024}, l.Elements[1]) // the block
			p, err := songs.New(d, sessions[i].Graph)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(sessions[i].Calls[0]...); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(p.Explain(), "has changed since (calibrate --pipelines measures again)") {
				n++
			}
			p.Close()
		}
		return n, len(lengths)
	}
	measure()
	if n, _ := doubts(); n != 0 {
		t.Errorf("%d lengths were just measured, and are not believed", n)
	}
	id := hostOf(t, f.file).ID
	err = calibration.Update(t.Context(), f.file, func(file *calibration.Index) error {
		entry, err := file.Host(id)
		if err != nil {
			return err
		}
		p := entry.Pipeline("synthesiser")
		for i := range p.Lengths {
			p.Lengths[i].Revisions = []calibration.StageRevision{{Stage: p.Stages[0], Implementation: "go", Revision: 1},
				{Stage: p.Stages[0], Implementation: "go-parallel", Revision: 1}}
		}
		return file.Merge(*entry)
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, of := doubts(); n != of {
		t.Errorf("%d of %d lengths were measured with another revision, and are believed", of-n, of)
	}
	measure()
	if n, of := doubts(); n == of {
		t.Errorf("measured again, and none of %d lengths is believed", of)
	}
}

// A run that cannot begin, or is interrupted, leaves the file as it was.
func TestPipelinesRefused(t *testing.T) {
	f := newFolders(t)
	another := filepath.Join(f.root, "another.json")
	if _, stderr, code := calibrateOn(t, twoCases(1), f.args()...); code != 0 {
		t.Fatal(stderr)
	}
	cold := filepath.Join(f.root, "cold.json")
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	file.Hosts[0].Method.State = "cold"
	if err := calibration.Save(cold, file); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	text := read(t, f.file)
	for _, test := range []struct {
		ctx  context.Context
		args string
		code int
		want string
	}{
		{t.Context(), "-o " + another + " --pipelines", command.ExitFailed, "run calibrate without --pipelines first"},
		{t.Context(), "-o " + cold + " --pipelines", command.ExitFailed, "holds a calibration of this host for latency, cold"},
		{t.Context(), "-o " + f.file + " --pipelines=", command.ExitUsage, "--pipelines is empty: want some of analysis, separator, synthesiser, decoder, or --pipelines alone for all"},
		{t.Context(), "-o " + f.file + " --pipelines=analysis,song", command.ExitUsage, `"song": no such pipeline (want some of analysis, separator, synthesiser, decoder)`},
		{t.Context(), "-o " + f.file + " --pipelines --ops fft", command.ExitUsage, "--pipelines with --ops"},
		{t.Context(), "-o " + f.file + " --pipelines --audio " + f.file, command.ExitFailed, "--audio"},
		{t.Context(), "-o " + f.file + " --pipelines --budget 0", command.ExitUsage, "--budget"},
		{canceled, "-o " + f.file + " --pipelines=decoder --budget 5s", command.ExitInterrupted, "is as it was"},
	} {
		stdout, stderr, code := pipelinesOn(test.ctx, strings.Fields(test.args)...)
		if lines := strings.Split(strings.TrimSpace(stderr), "\n"); code != test.code || !strings.Contains(lines[len(lines)-1], test.want) || stdout != "" {
			t.Errorf("%s: exit %d and %q, want %d and %q", test.args, code, stderr, test.code, test.want)
		}
	}
	if os.Geteuid() != 0 { // root may write into any folder
		if err := os.Chmod(f.root, 0o500); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(f.root, 0o700)
		_, stderr, code := pipelinesOn(t.Context(), "-o", f.file, "--pipelines=synthesiser", "--budget", "4s")
		if code != command.ExitFailed || stderr != "calibrate: cannot write to "+f.root+": permission denied\n" {
			t.Errorf("a folder that cannot be written: exit %d and %q", code, stderr)
		}
	}
	if read(t, f.file) != text {
		t.Error("the file changed")
	}
	if _, err := os.Stat(another); err == nil {
		t.Error("it made a file")
	}
}

// Lengths that a run did not measure stay, unless the stages are others.
func TestPipelinesKeepLengths(t *testing.T) {
	f := newFolders(t)
	if _, stderr, code := calibrateOn(t, twoCases(1), f.args()...); code != 0 {
		t.Fatal(stderr)
	}
	length := func(n int, seconds float64) calibration.PipelineLength {
		return calibration.PipelineLength{Elements: []int{n, n}, Blocks: 1, Routes: []calibration.Route{
			{Name: "stages", Implementations: []string{""}, MedianSeconds: seconds}}}
	}
	o := &options{output: f.file}
	for _, test := range []struct {
		stage string
		add   []calibration.PipelineLength
		want  []float64
	}{
		{"a", []calibration.PipelineLength{length(1, 1), length(2, 2)}, []float64{1, 2}},
		{"a", []calibration.PipelineLength{length(2, 3), length(3, 4)}, []float64{1, 3, 4}},
		{"b", []calibration.PipelineLength{length(2, 5)}, []float64{5}},
	} {
		_, id := command.HostFacts()
		if err := o.writePipelines(t.Context(), id, []calibration.Pipeline{{Name: "song", Stages: []string{test.stage}, Created: time.Now().UTC().Truncate(time.Second),
			Lengths: test.add}}); err != nil {
			t.Fatal(err)
		}
		var got []float64
		for _, l := range hostOf(t, f.file).Pipeline("song").Lengths {
			got = append(got, l.Routes[0].MedianSeconds)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v, want %v", got, test.want)
		}
	}
}

func TestForecastErrors(t *testing.T) {
	of := func(name string, predicted float64) calibration.Pipeline {
		return calibration.Pipeline{Name: name, Lengths: []calibration.PipelineLength{{Routes: []calibration.Route{{MedianSeconds: 2, PredictedSeconds: predicted}}}}}
	}
	var out strings.Builder
	forecastErrors(&out, []calibration.Pipeline{of("analysis", 1.75), of("decoder", 0), of("separator", 2.5)})
	if want := "Forecasts of analysis are off by 12 % in the median. Each is by what was measured at the other lengths.\n" +
		"Forecasts of separator are off by 25 % in the median. Each is by what was measured at the other lengths.\n" +
		"Forecasts of all are off by 19 % in the median.\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestShortly(t *testing.T) {
	for d, want := range map[time.Duration]string{3 * time.Minute: "3m", 90 * time.Second: "1m30s", time.Hour: "1h", 10 * time.Second: "10s"} {
		if got := shortly(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
