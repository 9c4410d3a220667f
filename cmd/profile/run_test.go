package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"crossover/cmd/internal/command"
	"crossover/cmd/internal/harm"
	"crossover/dispatch"
	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/plots"
	"crossover/profiles"
	"crossover/songs"
)

// wav writes a 16-bit PCM file of so many frames and returns its path. sample returns a value from −1 to 1 at a time in seconds.
func wav(t *testing.T, rate, channels, frames int, sample func(seconds float64) float64) string {
	t.Helper()
	bytes := 2 * channels * frames
	out := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(36+bytes))
	out = append(out, "WAVEfmt "...)
	out = binary.LittleEndian.AppendUint32(out, 16)
	for _, v := range []uint16{1, uint16(channels)} {
		out = binary.LittleEndian.AppendUint16(out, v)
	}
	for _, v := range []uint32{uint32(rate), uint32(rate * 2 * channels)} {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	out = binary.LittleEndian.AppendUint16(out, uint16(2*channels))
	out = append(binary.LittleEndian.AppendUint16(out, 16), "data"...)
	out = binary.LittleEndian.AppendUint32(out, uint32(bytes))
	for i := range frames {
		v := uint16(int16(32767 * sample(float64(i)/float64(rate))))
		for range channels {
			out = binary.LittleEndian.AppendUint16(out, v)
		}
	}
	path := filepath.Join(t.TempDir(), "song.wav")
	if err := os.WriteFile(path, out, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// beating is a tone that comes and goes twice a second.
func beating(seconds float64) float64 {
	return 0.5 * math.Sin(2*math.Pi*440*seconds) * math.Exp(-8*math.Mod(seconds, 0.5))
}

func silent(float64) float64 { return 0 }

// profiled runs the command on the processor, without a calibration, and returns what it prints.
func profiled(t *testing.T, m machine, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, notes bytes.Buffer
	args = append([]string{"--calls", "5", "--calibration", filepath.Join(t.TempDir(), "none.json")}, args...)
	err = runOn(t.Context(), m, &out, &notes, args)
	return out.String(), notes.String(), err
}

// roofed returns a machine of given backends with invented roofs, because measuring them takes half a second.
func roofed(b *kernels.Backends) machine {
	of := func(place profiles.Place) profiles.Roof {
		return profiles.Roof{Place: place, Copies: []profiles.CopyRate{{Bytes: 1e6, Rate: 1e10}}, Operations: 1e11, OneCore: 5e10}
	}
	return machine{b,
		func(context.Context, *kernels.Backends) (profiles.Roof, error) { return of(profiles.Processor), nil },
		func(context.Context, *gpu.Device) (profiles.Roof, error) { return of(profiles.GPU), nil }, ofMacOS,
		anotherProgram, harm.Lose}
}

func onProcessor() machine { return roofed(&kernels.Backends{Pool: kernels.Here().Pool}) }

func TestProfilePrintsEveryStage(t *testing.T) {
	stdout, stderr, err := profiled(t, onProcessor(), "--audio", wav(t, 22050, 1, 44100, beating))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"analysis of song.wav, 2 s at 22050 Hz, plan best, 5 calls", "\nits route: each stage as the dispatcher chooses, because ",
		"\nA dash stands where calls are too few: ", "stft", "power", "mel", "chroma", "decibels",
		"mfcc", "onset", "tempogram", "tempo", "beats", "between the stages", "The processor copies", "The worst bottlenecks", "  3. "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the profile lacks %q:\n%s", want, stdout)
		}
	}
	if !strings.Contains(stderr, "does not exist, so nothing is known of this machine, and Go computes stages on one core unless") {
		t.Errorf("notes %q", stderr)
	}
}

// What calls allocate is told in the singular, too, and in words that are true of fractions.
func TestAllocationsInWords(t *testing.T) {
	for want, of := range map[string][2]float64{"allocates nothing\n": {0, 0}, "allocates once in 25 calls, 4 bytes a call\n": {0.04, 4}, "allocates once in 2 calls, 1 byte a call\n": {0.6, 1}, "allocates 42 times, 4117 bytes\n": {42, 4117}, "allocates 1 time, 1 byte\n": {1, 1}, "allocates 2 times, 48 bytes\n": {1.5, 48}} {
		var out strings.Builder
		p := &profiles.Profile{Calls: []float64{1e-3}, Between: []float64{0}, Allocations: of[0], Allocated: of[1]}
		if err := report(&out, p); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v, no %q in\n%s", err, want, out.String())
		}
	}
}

// Calls that differ much, and a plan that is faster than the best one, are told.
func TestWhatAProfileDoubts(t *testing.T) {
	quiet := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1.1}
	restive := []float64{1, 1, 1, 1, 1, 1, 1, 1, 2, 2}
	if got := restless(quiet) + restless(restive[:9]); got != "" {
		t.Errorf("a quiet machine, or few calls: %q", got)
	}
	if got := restless(restive); !strings.Contains(got, "about 2.0 times the median") {
		t.Errorf("one in five calls takes twice as long: %q", got)
	}
	for _, c := range []struct {
		plan       string
		seconds    float64
		calibrated bool
		told       bool
	}{
		{songs.Best, 0.5e-3, true, true}, {songs.Best, 0.97e-3, true, false}, {songs.Stages, 0.5e-3, true, false}, {songs.Best, 0.5e-3, false, false},
	} {
		var out strings.Builder
		comparePlans(&out, &profiles.Profile{Plan: c.plan, Calls: []float64{1e-3}}, []plots.Planned{
			{Plan: "processor", Profile: &profiles.Profile{Calls: []float64{c.seconds}}},
			{Plan: "gpu", Profile: &profiles.Profile{Calls: []float64{3e-3}}},
		}, c.calibrated)
		told := strings.Contains(strings.Join(strings.Fields(out.String()), " "), "The plan processor takes 0.50 times the time of the calibration's best one")
		if told != c.told || !strings.Contains(out.String(), "gpu 3.00 ms") {
			t.Errorf("%+v: %s", c, out.String())
		}
	}
}

// Every pipeline is profiled, with the moves between its stages.
func TestEveryPipeline(t *testing.T) {
	song := wav(t, 22050, 1, 3000, beating)
	for pipeline, test := range map[string]struct {
		args []string
		want []string
	}{
		"separator": {[]string{"--audio", song}, []string{"separator of song.wav, repeated from 0.1361 s to 20.02 s at 22050 Hz, plan best, 5 calls", "spectra", "columns", "transfer",
			"encoder", "gelu", "glu", "norm", "rows", "attention", "lstm", "decoder", "y "}},
		"synthesiser": {nil, []string{"synthesiser of 1 s by 256 samples, plan best, 5 calls", "voices", "mix", "filter", "compressor", "reverb"}},
		"decoder": {nil, []string{"decoder of 128 steps of width 512, plan best, 5 calls", "norm", "query", "key", "keys", "values", "transfer", "attention",
			"logits", "best"}},
	} {
		stdout, _, err := profiled(t, onProcessor(), append(test.args, "--pipeline", pipeline)...)
		if err != nil {
			t.Fatalf("%s: %v", pipeline, err)
		}
		for _, want := range append(test.want, "between the stages", "The worst bottlenecks", "  3. ") {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: the profile lacks %q:\n%s", pipeline, want, stdout)
			}
		}
	}
}

// A session of calls begins again at its end, and every plan begins it.
func TestSessionsBeginAgain(t *testing.T) {
	s, err := newSubject(onProcessor().Backends, nil, "decoder", kernels.GeneratedInput())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, plan := range []string{"best", "processor"} {
		if err := s.follow(plan); err != nil {
			t.Fatal(err)
		}
		for k := range 130 {
			var r songs.Recorder
			s.record(&r)
			spans, _, err := r.Call(s.call)
			if err != nil {
				t.Fatalf("%s, call %d: %v", plan, k, err)
			}
			at := slices.IndexFunc(spans, func(s profiles.Span) bool { return s.Name == "keys" })
			if want := 2 * 4 * 512 * float64(k%128+1); at < 0 || spans[at].Work.Bytes != want {
				t.Fatalf("%s, call %d: spans %+v, want keys of %g bytes", plan, k, spans, want)
			}
		}
	}
}

func TestStrangeRecordings(t *testing.T) {
	for name, path := range map[string]string{
		"silence":       wav(t, 22050, 1, 30000, silent),
		"8 kHz":         wav(t, 8000, 1, 30000, beating),
		"192 kHz":       wav(t, 192000, 1, 60000, beating),
		"six channels":  wav(t, 22050, 6, 30000, beating),
		"a sample":      wav(t, 22050, 1, 1, beating),
		"less than hop": wav(t, 22050, 1, 500, beating),
	} {
		if _, _, err := profiled(t, onProcessor(), "--audio", path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An hour goes through in parts, and needs little memory besides its own.
func TestAnHour(t *testing.T) {
	path := wav(t, 2000, 1, 3600*2000, beating)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stdout, _, err := profiled(t, onProcessor(), "--audio", path)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	const most = 600 << 20
	if got := after.TotalAlloc - before.TotalAlloc; got > most {
		t.Errorf("%d bytes are allocated in all, want at most %d", got, most)
	}
	if !strings.Contains(stdout, "stft ×") || !strings.Contains(stdout, "join parts") || !strings.Contains(stdout, "allocates nothing") {
		t.Errorf("the profile is not of parts that allocate nothing:\n%s", stdout)
	}
}

func TestRefusals(t *testing.T) {
	good := wav(t, 22050, 1, 3000, beating)
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, text []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	decoded := filepath.Join(t.TempDir(), "decoder.json")
	if _, _, err := profiled(t, onProcessor(), "--pipeline", "decoder", "--json", decoded); err != nil {
		t.Fatal(err)
	}
	low := wav(t, 100, 1, 3000, beating)
	odd := bytes.Clone(text)
	binary.LittleEndian.PutUint32(odd[40:], 5999)
	for _, test := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"--audio", file("short.wav", text[:len(text)-3])}, "data chunk ends after 5997 of 6000 bytes", 1},
		{[]string{"--audio", file("odd.wav", odd)}, "not a whole number of frames", 1},
		{[]string{"--audio", file("text.wav", []byte("no recording at all"))}, "not a WAV file", 1},
		{[]string{"--audio", file("empty.wav", nil)}, "empty file", 1},
		{[]string{"--audio", filepath.Join(t.TempDir(), "none.wav")}, "no such file", 1},
		{[]string{"--audio", t.TempDir()}, "not a regular file", 1},
		{[]string{"--audio", good, "--pipeline", "karaoke"}, `no such pipeline (want analysis, separator, synthesiser, decoder)`, 2},
		{[]string{"--audio", good, "--plan", "fastest"}, `no such plan (want best, stages, processor, gpu)`, 2},
		{[]string{"--audio", good, "--plan", "gpu"}, "no stage can run on a GPU here", 1},
		{[]string{"--audio", good, "--calls", "4"}, "want 5 to", 2},
		{[]string{"--audio", good, "--before", file("p.json", []byte("{}"))}, "want a file that --json has written", 1},
		{[]string{"--audio", good, "--before", decoded}, "is a profile of decoder, and this is one of analysis (want two of one pipeline: --pipeline decoder)", 2},
		{[]string{"--audio", low}, "--audio " + low + ", at 100 Hz: tempo: frames every 512 samples", 1},
		{[]string{"--audio", good, "--json", filepath.Join(good, "p.json")}, "cannot write to", 1},
		{[]string{"--audio", good, "--calibration", file("c.json", []byte("{"))}, "c.json", 1},
		{[]string{}, "--audio: no recording is named", 2},
		{[]string{"--pipeline", "separator"}, "--audio: no recording is named", 2},
		{[]string{"--pipeline", "decoder", "--audio", good}, "the decoder takes no recording (leave it out)", 2},
		{[]string{"--pipeline", "effects", "--audio", good}, `no such pipeline (want analysis`, 2},
		{[]string{"--pipeline", "synthesiser", "--plan", "gpu"}, "no stage can run on a GPU here", 1},
		{[]string{"--audio", good, "more"}, `unexpected argument "more"`, 2},
	} {
		_, _, err := profiled(t, onProcessor(), test.args...)
		var line bytes.Buffer
		if code := command.Exit(&line, "profile", err); code != test.code {
			t.Errorf("%v: exit code %d, want %d", test.args, code, test.code)
		}
		if got := line.String(); !strings.Contains(got, test.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%v: %q, want one line that says %q", test.args, got, test.want)
		}
	}
}

// No output overwrites an input or another output, by whatever path they are named, and nothing is written then.
func TestOutputsOverwriteNothing(t *testing.T) {
	dir := t.TempDir()
	song, text := filepath.Join(dir, "gantt.png"), []byte("kept") // a recording under the name of a chart
	for _, path := range []string{song, filepath.Join(dir, "cal.json"), filepath.Join(dir, "latencies.png")} {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	for _, test := range []struct{ args, want string }{
		{"--audio DIR/gantt.png --calibration DIR/cal.json --json DIR/./cal.json", "--json would overwrite DIR/cal.json, which --calibration names (want another file)"},
		{"--audio DIR/gantt.png --calibration DIR/cal.json --trace LINK/cal.json", "--trace would overwrite DIR/cal.json, which --calibration names"},
		{"--audio DIR/gantt.png --json DIR/gantt.png", "--json would overwrite DIR/gantt.png, which --audio names"},
		{"--audio DIR/gantt.png --trace DIR/cal.json --before DIR/cal.json", "--trace would overwrite DIR/cal.json, which --before names"},
		{"--audio DIR/gantt.png --json DIR/q.json --trace DIR/q.json", "--json and --trace would both write DIR/q.json (want another file)"},
		{"--audio DIR/gantt.png --json DIR/new/q.json --trace LINK/new/q.json", "--json and --trace would both write LINK/new/q.json"},
		{"--audio DIR/gantt.png --plots LINK", "--plots would overwrite DIR/gantt.png, which --audio names (want another folder)"},
		{"--audio x.wav --json DIR/new/stages.png --plots DIR/new", "--json and --plots would both write DIR/new/stages.png"},
		{"--audio x.wav --trace DIR/new --plots DIR/new", "--trace and --plots would both write DIR/new"},
		{"--audio x.wav --json calibration.json --calibration calibration.json", "--json would overwrite calibration.json, which --calibration names"},
		{"--stream --json DIR/cal.json --after-idle DIR/cal.json", "--json would overwrite DIR/cal.json, which --after-idle names"},
		{"--stream --after-idle DIR/latencies.png --plots DIR", "--plots would overwrite DIR/latencies.png, which --after-idle names"},
	} {
		paths := strings.NewReplacer("DIR", dir, "LINK", link)
		var out strings.Builder
		err := runOn(t.Context(), onProcessor(), &out, &out, strings.Fields(paths.Replace(test.args)))
		if code := command.Exit(io.Discard, "profile", err); code != command.ExitUsage || !strings.Contains(err.Error(), paths.Replace(test.want)) {
			t.Errorf("%s: exit code %d, %v; want a usage error that says %q", test.args, code, err, test.want)
		}
	}
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 3 {
		t.Errorf("the folder has %v (%v), want the three files", all, err)
	}
	for _, one := range all {
		if got, err := os.ReadFile(filepath.Join(dir, one.Name())); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s holds %q (%v)", one.Name(), got, err)
		}
	}
	// A comparison may replace the earlier profile.
	if err := (&options{json: song, before: song}).distinct(); err != nil {
		t.Error(err)
	}
}

func TestInterruptedProfile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := runOn(ctx, onProcessor(), &bytes.Buffer{}, &bytes.Buffer{}, []string{"--audio", wav(t, 22050, 1, 3000, beating), "--calibration", "none.json"})
	var coded *command.Error
	if !errors.As(err, &coded) || coded.Code != command.ExitInterrupted {
		t.Errorf("an interrupted profile ends with %v", err)
	}
}

// Stages are named of which a calibration knows nothing, unless a plan says what computes them.
func TestUnknownStagesAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "calibration.json")
	if err := os.WriteFile(file, []byte(`{"schema_version":"2.0","hosts":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	song := wav(t, 22050, 1, 3000, beating)
	for plan, want := range map[string]bool{"best": true, "stages": true, "processor": false} {
		_, stderr, err := profiled(t, onProcessor(), "--audio", song, "--calibration", file, "--plan", plan)
		if err != nil {
			t.Fatal(err)
		}
		said := "profile: " + file + " knows nothing of stft, power, mel, chroma, decibels, mfcc, onset, tempogram, tempo, beats, so Go computes them"
		if strings.Contains(stderr, said) != want {
			t.Errorf("plan %s: %s", plan, stderr)
		}
	}
}

// On the emulated GPU, every file is written, and the second profile is compared with the first one.
func TestFilesOfAProfile(t *testing.T) {
	b := roofed(kerneltest.Backends(t, emulator.Unified(false)))
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	song := wav(t, 22050, 1, 3000, beating)
	if _, _, err := profiled(t, b, "--audio", song, "--plan", "processor", "--json", path("before.json")); err != nil {
		t.Fatal(err)
	}
	stdout, _, err := profiled(t, b, "--audio", song, "--plan", "gpu", "--json", path("after.json"), "--before", path("before.json"),
		"--trace", path("trace.json"), "--plots", path("plots"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The two are hard to compare: another plan", "stft + power + mel", "only after", "only before", "the recording was loaded once, in ", "on the GPU", "launch ", "waits ", "kernels run for", "The GPU copies"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the comparison lacks %q:\n%s", want, stdout)
		}
	}
	p, err := profiles.Load(path("after.json"))
	if err != nil {
		t.Fatal(err)
	}
	if list := p.Stages[0]; list.Place != profiles.GPU || len(list.Device) != 5 || list.Device[4].Kernels < 9 {
		t.Errorf("the first list is saved as %+v", list)
	}
	var file struct {
		Events []struct {
			Name string `json:"name"`
		} `json:"traceEvents"`
	}
	text, err := os.ReadFile(path("trace.json"))
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil || len(file.Events) < 5*5 {
		t.Errorf("a trace of %d events (%v)", len(file.Events), err)
	}
	if drawn, err := os.ReadDir(path("plots")); err != nil || len(drawn) != len(profileCharts) {
		t.Errorf("the charts are %v (%v), want %q", drawn, err, profileCharts)
	}
	for _, name := range profileCharts {
		f, err := os.Open(filepath.Join(path("plots"), name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f.Close()
		if !strings.Contains(stdout, name) {
			t.Errorf("the output does not name %s", name)
		}
	}
}

// A stage alone on a GPU is divided as a list is: in the table, in the file, which loads as it was saved, in the trace and in the
// chart. A profile without these parts is still an earlier one.
func TestAStageAloneOnAGPU(t *testing.T) {
	kerneltest.EmulatedAlone(t) // a real one may tell less
	b := roofed(kerneltest.Backends(t, emulator.Unified(false)))
	if len(b.GPUs) == 0 {
		t.Skip("there is no GPU")
	}
	t.Setenv(dispatch.ForceVariable, "stft="+kerneltest.GPUName+",mel="+kerneltest.GPUName)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	song := wav(t, 22050, 1, 3000, beating)
	stdout, _, err := profiled(t, b, "--audio", song, "--plan", "stages", "--json", path("p.json"), "--trace", path("trace.json"))
	if err != nil {
		t.Fatal(err)
	}
	table := strings.Join(strings.Fields(stdout), " ")
	for _, want := range []string{"on the GPU time in median p95 p99 stft launch ", " mel launch ", " copies ", " waits ", " kernels ",
		"stft: kernels run for ", "mel: kernels run for ", "The GPU copies"} {
		if !strings.Contains(table, want) {
			t.Errorf("the profile lacks %q:\n%s", want, stdout)
		}
	}
	if strings.Contains(table, "power: kernels") || strings.Contains(table, "power launch") {
		t.Errorf("a stage on the processor is divided:\n%s", stdout)
	}
	p, err := profiles.Load(path("p.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Stages {
		st := &p.Stages[i]
		onGPU := st.Name == "stft" || st.Name == "mel"
		if onGPU != (len(st.Device) == 5) || onGPU != (st.Place == profiles.GPU) || onGPU && st.Device[4].Moved <= 0 {
			t.Errorf("%s is saved as %+v", st.Name, st)
		}
	}
	if err := command.Replace(path("again.json"), p.Write); err != nil {
		t.Fatal(err)
	}
	saved, again := read(t, path("p.json")), read(t, path("again.json"))
	if !bytes.Equal(saved, again) {
		t.Error("the profile is not saved as it was loaded")
	}
	var file struct {
		Events []struct {
			Name string `json:"name"`
			Args struct {
				Device *profiles.Device `json:"device"`
			} `json:"args"`
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(read(t, path("trace.json")), &file); err != nil {
		t.Fatal(err)
	}
	events := map[string]int{}
	for _, e := range file.Events {
		if e.Args.Device != nil {
			events[e.Name]++
		}
	}
	for _, name := range []string{"copy in", "launch", "wait", "transfers", "stft", "mel", "copy out"} {
		if events[name] < 5 {
			t.Errorf("%d events %q of calls on the GPU, want one of each call: %v", events[name], name, events)
		}
	}
	places := map[profiles.Place]bool{}
	for i := range p.Median {
		if p.Median[i].Name == "stft" {
			for _, piece := range p.Median[i].Pieces() {
				places[piece.Place] = true
			}
		}
	}
	if len(places) != 3 {
		t.Errorf("the chart draws the first stage at %v, want the processor, the GPU and a copy", places)
	}

	for i := range p.Stages {
		p.Stages[i].Device = nil
	}
	for i := range p.Median {
		p.Median[i].Device = nil
	}
	if err := command.Replace(path("earlier.json"), p.Write); err != nil {
		t.Fatal(err)
	}
	stdout, _, err = profiled(t, b, "--audio", song, "--plan", "stages", "--before", path("earlier.json"))
	if err != nil || !strings.Contains(stdout, "Before is analysis of song.wav, plan stages") || strings.Contains(stdout, "only before") {
		t.Errorf("%v, compared with a profile without parts:\n%s", err, stdout)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What a GPU does not tell is said, and in how many calls it computed a stage.
func TestWhatAGPUTells(t *testing.T) {
	all := profiles.Device{In: 1e-3, Launch: 1e-3, Wait: 6e-3, Out: 1e-3, Span: 5e-3, Busy: 4e-3, Gaps: 1e-3, Kernels: 3}
	one, together, nothing, none := all, all, all, profiles.Device{}
	one.Gaps, one.Kernels = 0, 1
	together.Busy, together.Gaps, together.Kernels = 0, 0, 0
	nothing = together
	nothing.Span = 0
	for want, devices := range map[string][]profiles.Device{
		"stft: kernels run for 40 % of its time, with pauses of 500 µs":                                  {all, all},
		"stft: kernels run for 40 % of its time":                                                         {one, one},
		"stft: kernels run for 40 % of its time (a GPU computed it in 1 of 2 calls)":                     {none, one},
		"stft: the GPU does not tell its kernels from the pauses between them, so both count as kernels": {together, together},
		"stft: the GPU does not tell how long its kernels take, so they are part of the waits":           {nothing, nothing},
	} {
		st := profiles.Stage{Name: "stft", Place: profiles.GPU, Wall: []float64{10e-3, 10e-3}, Device: devices}
		text := onGPU(&profiles.Profile{Calls: st.Wall, Stages: []profiles.Stage{st}})
		if said := strings.Join(strings.Fields(text), " "); !strings.HasSuffix(said, " "+want) {
			t.Errorf("%q, want %q at its end", said, want)
		}
	}
	st := profiles.Stage{Name: "stft", Wall: []float64{1e-3}}
	if text := onGPU(&profiles.Profile{Calls: st.Wall, Stages: []profiles.Stage{st}}); text != "" {
		t.Errorf("without a GPU: %q", text)
	}
}

// What the first calls allocate that are not timed is no allocation of a call.
func TestAllocationsOfWarmCalls(t *testing.T) {
	var kept [][]byte
	calls := 0
	s := &subject{call: func() error {
		if calls++; calls <= 2 {
			kept = append(kept, make([]byte, 1<<20))
		}
		return nil
	}}
	var p profiles.Profile
	if err := s.allocations(t.Context(), &p); err != nil || p.Allocated >= 1<<18 {
		t.Errorf("%g bytes are allocated a call (%v), of %d", p.Allocated, err, len(kept))
	}
}

// A calibration of another host is not this one's, and a note says so.
func TestCalibrationOfAnotherHost(t *testing.T) {
	var notes strings.Builder
	d, err := load("../../dispatch/testdata/calibration.json", &notes)
	if got := notes.String(); err != nil || d == nil || !strings.Contains(got, "no entry for") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRoofLine(t *testing.T) {
	for want, r := range map[string]profiles.Roof{
		"The GPU does not tell how long it computes, so its stages have no roof.": {Place: profiles.GPU},
		"The GPU multiplies and adds at 2 GFLOP/s.":                               {Place: profiles.GPU, Operations: 2e9},
		"The processor copies 64 KiB at 3 GB/s.":                                  {Place: profiles.Processor, Copies: []profiles.CopyRate{{Bytes: 64 << 10, Rate: 3e9}}},
	} {
		if got := roofLine(&r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
