package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/songs/stream"
)

// recorded writes a WAV file of 16 bits with so many channels, and returns its path.
func recorded(t *testing.T, channels, rate int, sample func(i int) float64) string {
	t.Helper()
	const frames = 3000
	var data []byte
	for i := range frames {
		for range channels {
			data = binary.LittleEndian.AppendUint16(data, uint16(int16(30000*sample(i))))
		}
	}
	header := []byte("RIFF....WAVEfmt ")
	binary.LittleEndian.PutUint32(header[4:], uint32(36+len(data)))
	header = binary.LittleEndian.AppendUint32(header, 16)
	header = binary.LittleEndian.AppendUint16(header, 1)
	header = binary.LittleEndian.AppendUint16(header, uint16(channels))
	header = binary.LittleEndian.AppendUint32(header, uint32(rate))
	header = binary.LittleEndian.AppendUint32(header, uint32(rate*2*channels))
	header = binary.LittleEndian.AppendUint16(header, uint16(2*channels))
	header = binary.LittleEndian.AppendUint16(header, 16)
	header = append(header, "data"...)
	header = binary.LittleEndian.AppendUint32(header, uint32(len(data)))
	path := filepath.Join(t.TempDir(), "take.wav")
	if err := os.WriteFile(path, append(header, data...), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStreamRefuses(t *testing.T) {
	six := recorded(t, 6, 44100, func(int) float64 { return 0 })
	for _, test := range []struct{ args, want string }{
		{"--block 0", "--block 0: want 1 to 65536 samples"},
		{"--block -512", "--block -512: want 1 to 65536 samples"},
		{"--block x", `--block "x": want a whole number`},
		{"--rate 0", "--rate 0: want 4000 to 768000"},
		{"--rate NaN", "--rate NaN: want"},
		{"--seconds 0", "--seconds 0: want more than 0"},
		{"--seconds -1", "--seconds -1: want more than 0"},
		{"--seconds inf", "--seconds +Inf: want"},
		{"--streams 0", "--streams 0: want 1 to 10000"},
		{"--streams 10001", "--streams 10001: want 1 to 10000"},
		{"--pipeline analysis", `--pipeline "analysis": it has no stream (want synthesiser, effects)`},
		{"--pipeline effects", "--pipeline effects: no recording is named"},
		{"--fast --after-idle idle.json", "--after-idle with --fast: one route is played"},
		{"--pipeline synthesiser --audio " + six, "the synthesiser plays no recording"},
	} {
		var out strings.Builder
		err := run(t.Context(), &out, &out, append([]string{"--stream"}, strings.Fields(test.args)...))
		var coded *command.Error
		if !errors.As(err, &coded) || coded.Code != command.ExitUsage || !strings.Contains(err.Error(), test.want) || out.Len() > 0 {
			t.Errorf("%s: %v, %q; want %q", test.args, err, out.String(), test.want)
		}
	}
	var out strings.Builder
	if err := run(t.Context(), &out, &out, []string{"--block", "64"}); err == nil || !strings.Contains(err.Error(), "--block: it is about streams (want --stream, too)") {
		t.Errorf("without --stream: %v", err)
	}
	for args, want := range map[string]string{
		"--audio " + filepath.Join(t.TempDir(), "missing.wav"):                                              "no such file",
		"--seconds 0.1 --plots " + filepath.Join(recorded(t, 1, 8000, func(int) float64 { return 0 }), "b"): "not a directory",
		"--seconds 0.1 --block 1 --streams 10000 --rate 768000":                                             "MiB each, and half of the memory here is",
		"--seconds 0.1 --json " + t.TempDir():                                                               "it is a folder (want a file)",
	} {
		if err := run(t.Context(), &out, &out, append([]string{"--stream", "--fast"}, strings.Fields(args)...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// play runs --stream and returns what it printed.
func play(t *testing.T, args string) (stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	if e := run(t.Context(), &out, &err, append([]string{"--stream"}, strings.Fields(args)...)); e != nil {
		t.Fatalf("%s: %v", args, e)
	}
	return out.String(), err.String()
}

func TestStreamPrints(t *testing.T) {
	out, notes := play(t, "--seconds 0.4 --block 64 --calibration missing.json")
	for _, want := range []string{"synthesiser: 1 stream of 64 samples at 44100 Hz", "ROUTE", "warm ", "serial ", "tuned ", "were not done in time",
		"woke", "A dash stands where a route has too few blocks: about --seconds ", "The calibration's choices", "The pooled route takes", "The heap grew by",
		"warm is go, go, go, go, go.\n  The calibration knows nothing of voices, mix, filter, compressor, reverb, so Go computes them on\n    one core there.\nserial is go"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not print %q:\n%s", want, out)
		}
	}
	if strings.Count(out, "–") < 4*3 { // of four routes with at most 52 blocks each: p99, and p99.9 of both times
		t.Errorf("it prints quantiles of too few blocks:\n%s", out)
	}
	for _, want := range []string{"missing.json does not exist", "0.1 s of trying each implementation, then 0.3 s"} {
		if !strings.Contains(notes, want) {
			t.Errorf("it does not note %q:\n%s", want, notes)
		}
	}
}

// Recordings of six channels, of other rates, and of silence are played. The picture is drawn.
func TestStreamPlaysRecordings(t *testing.T) {
	folder := t.TempDir()
	report := filepath.Join(folder, "report.json")
	for _, rate := range []int{8000, 44100, 192_000} {
		for name, sample := range map[string]func(int) float64{"a tone": func(i int) float64 { return math.Sin(0.1 * float64(i)) },
			"silence": func(int) float64 { return 0 }} {
			out, notes := play(t, "--fast --seconds 0.1 --streams 2 --json "+report+" --rate 44100 --plots "+folder+" --audio "+recorded(t, 6, rate, sample))
			var r stream.Report
			text, err := os.ReadFile(report)
			if err == nil {
				err = json.Unmarshal(text, &r)
			}
			if err != nil || !strings.Contains(out, "effects: 2 streams") {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
			if r.Pipeline != "effects" || r.Streams != 2 || r.Routes[0].Blocks != 9 || r.Silent > 0 || r.DeadlineSeconds != 512/44100. {
				t.Errorf("%s at %d Hz: %+v", name, rate, r)
			}
			if strings.Contains(notes, "at another pitch") != (rate != 44100) {
				t.Errorf("%d Hz: %s", rate, notes)
			}
		}
	}
	image, err := os.ReadFile(filepath.Join(folder, "latencies.png"))
	if err != nil || !strings.HasPrefix(string(image), "\x89PNG") {
		t.Errorf("no picture: %v", err)
	}
}

// No note advises a rate that the command refuses.
func TestStreamOfASlowRecording(t *testing.T) {
	_, notes := play(t, "--fast --seconds 0.01 --calibration missing.json --audio "+recorded(t, 1, 1000, func(int) float64 { return 0 }))
	if !strings.Contains(notes, "has 1000 samples a second and is played with 44100, so at another pitch\n") {
		t.Errorf("%q", notes)
	}
}

// A stream that a signal ends prints what it has.
func TestStreamInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	notes := writer(func() { cancel() })
	err := run(ctx, &out, notes, []string{"--stream", "--seconds", "3600", "--calibration", "missing.json"})
	var coded *command.Error
	if !errors.As(err, &coded) || coded.Code != command.ExitInterrupted || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("%v", err)
	}
}

// writer calls a function at the first byte.
type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

func TestFindings(t *testing.T) {
	load := 0.123
	times := func(p50, p99 float64) stream.Times {
		return stream.Times{P50: p50, P95: p99, P99: p99, P999: p99, Worst: p99}
	}
	r := &stream.Report{Pipeline: "effects", DeadlineSeconds: 0.01, Skipped: 2, Wake: times(1e-4, 3e-3), ProcessorLoad: &load, HeapGrowthBytes: 2e6,
		Silent: 3, Failure: "no way", Interrupted: true, Changes: []stream.Change{{Seconds: 1.5, Cause: "heat", Begins: true}, {Seconds: 9, Cause: "heat"}},
		Routes: []stream.RouteReport{
			{Name: stream.Warm, Blocks: 1000, Underruns: 5, Compute: times(2e-3, 4e-3), Each: times(1e-3, 2e-3)},
			{Name: stream.Serial, Blocks: 500, Compute: times(1e-3, 2e-3)},
			{Name: stream.GPU, Blocks: 500, Compute: times(3e-3, 8e-3)},
			{Name: stream.Tuned, Blocks: 500, Compute: times(1.6e-3, 2e-3)},
			{Name: stream.Pooled},
		}}
	want := `7 of 2 502 blocks were not done in time, and 2 of them were not begun, because their time was over.
The goroutine woke 0.10 ms after a block's time in the median, and at worst 3.00 ms.
3 blocks of a stream were silent, because every implementation of a stage failed: no way.
By the calibration's choices a stream takes 10.0 % of its deadline in the median, and at most 20.0 % in 99 of 100 blocks.
The calibration's choices, made for calls one after the other, take 2.00× the time of the fastest route for these blocks, which come after a pause (2.00 ms, and 1.00 ms by the serial route, in the median).
The gpu route takes 3.00× the time of the serial one in the median, and 4.00× in the slowest of 100 blocks.
The process took 12.3 % of one core.
The heap grew by 2.0 MB.
Streams left the GPU after 1.5 s: heat.
Streams could go back to the GPU after 9.0 s: heat.`
	if got := strings.Join(findings(r), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, test := range []struct {
		r    stream.Report
		want string
	}{
		{stream.Report{Skipped: 32442, Routes: []stream.RouteReport{{Name: stream.Warm, Blocks: 633, Underruns: 633}}},
			"33 075 of 33 075 blocks were not done in time, and 32 442 of them were not begun"},
		{stream.Report{Fast: true, Routes: []stream.RouteReport{{Name: stream.Warm, Blocks: 5000, Underruns: 4000}}}, "4 000 of 5 000 blocks took longer"},
		{stream.Report{Skipped: 1, Silent: 1}, "1 block of a stream was silent"},
		{stream.Report{Skipped: 1, Silent: 1234}, "1 234 blocks of a stream were silent"},
	} {
		if got := strings.Join(findings(&test.r), "\n"); !strings.Contains(got, test.want) {
			t.Errorf("%q is not in\n%s", test.want, got)
		}
	}
	var out strings.Builder
	(&streaming{}).print(&stream.Report{Pipeline: "effects", Streams: 3, Block: 1, RateHz: 44100, Routes: []stream.RouteReport{
		{Name: stream.Warm, Blocks: 5000, Underruns: 4000}}}, &out)
	for _, want := range []string{"effects: 3 streams of 1 sample at 44100 Hz", "warm   5 000   4 000 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	few := &stream.Report{DeadlineSeconds: 0.01, HeapGrowthBytes: -1, ResidentGrowthBytes: new(int64), Failure: "no memory", Routes: []stream.RouteReport{
		{Name: stream.Warm, Blocks: 99, Compute: times(1e-3, 2e-3), Each: times(1e-3, 2e-3)},
		{Name: stream.Serial, Blocks: 100, Compute: times(1e-3, 2e-3)}, {Name: stream.Pooled, Blocks: 99, Compute: times(2e-3, 2e-3)}}}
	*few.ResidentGrowthBytes = -2e6
	got := strings.Join(findings(few), "\n")
	for _, want := range []string{"10.0 % of its deadline in the median.", "takes 2.00× the time of the serial one in the median.",
		"A route did not go on where another one was, so that a sound was cut: no memory.", "The heap grew by 0.0 MB, and resident memory shrank by 2.0 MB."} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if got := findings(&stream.Report{Routes: []stream.RouteReport{{Name: stream.Warm}}}); len(got) != 1 || got[0] != "Nothing was measured." {
		t.Errorf("nothing: %q", got)
	}
}

// idleFile writes a calibration of this host for calls in a state, by which the convolution is go everywhere.
func idleFile(t *testing.T, state string) string {
	t.Helper()
	facts, id := command.HostFacts()
	file := &calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{{
		ID: id, Facts: facts, Created: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC),
		Environment: calibration.Environment{OS: runtime.GOOS, Go: runtime.Version(), ToolVersion: command.Version, Power: "unknown", Thermal: "unknown"},
		Method:      calibration.Method{BudgetSeconds: 60, Precision: 0.1, Mode: "latency", State: state, TieBand: 0.03, Audio: "generated"},
		Cases: []calibration.Case{{
			Name: "compressor/channels=1", Operation: "compressor", Parameters: map[string]int{"channels": 1},
			Axis:            calibration.Axis{Name: "n", Unit: "samples", From: 64, To: 1 << 20},
			Implementations: []calibration.Implementation{{Name: "go", Processor: "cpu"}, {Name: "go-parallel", Processor: "cpu"}},
			Verdict:         calibration.Always, TieBand: 0.03, Blocks: 100, Sizes: []int{64, 1024, 1 << 20},
			Segments: []calibration.Segment{{From: 64, To: 1 << 20, Implementation: "go-parallel"}},
		}},
	}}}
	path := filepath.Join(t.TempDir(), state+".json")
	if err := calibration.Save(path, file); err != nil {
		t.Fatal(err)
	}
	return path
}

// The choices for calls after a pause are a route of their own, and a file of other calls is refused.
func TestStreamAfterIdle(t *testing.T) {
	out, _ := play(t, "--seconds 0.4 --block 64 --calibration missing.json --after-idle "+idleFile(t, "after-idle"))
	for _, want := range []string{"\nidle ", "The choices for calls after a pause take "} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not print %q:\n%s", want, out)
		}
	}
	for _, line := range strings.Split(out, "\n") {
		for name, parallel := range map[string]bool{"warm is ": false, "idle is ": true} {
			if strings.HasPrefix(line, name) && strings.Contains(line, "go-parallel") != parallel {
				t.Errorf("%s; the file of calls after a pause names go-parallel, and no other", line)
			}
		}
	}
	var none strings.Builder
	err := run(t.Context(), &none, &none, []string{"--stream", "--seconds", "0.1", "--after-idle", idleFile(t, "warm")})
	if err == nil || !strings.Contains(err.Error(), "times of other calls than those after a pause") {
		t.Errorf("a file of warm calls: %v", err)
	}
}
