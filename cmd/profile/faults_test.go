package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"crossover/cmd/internal/command"
	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/songs/stream"
)

func TestFaultFlag(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--fault=", "--fault is empty: want NAME@SECONDS or NAME@SECONDS+DURATION, such as thermal@10+5"},
		{"--fault heat@5", `--fault "heat@5": no such fault (want thermal, memory, busy, lost, as in thermal@10+5)`},
		{"--fault thermal", `--fault "thermal": it has no time (want NAME@SECONDS or NAME@SECONDS+DURATION, such as thermal@10+5)`},
		{"--fault thermal@", `"" is no time (want NAME@SECONDS`},
		{"--fault thermal@x+1", `"x" is no time`},
		{"--fault thermal@-1", `"-1" is no time`},
		{"--fault thermal@NaN", `"NaN" is no time`},
		{"--fault thermal@5+", `"" is no duration (want NAME@SECONDS`},
		{"--fault thermal@5+0", `"0" is no duration`},
		{"--fault thermal@5+inf", `"inf" is no duration`},
		{"--fault thermal@5s", `"5s" is no time`},
		{"--fault lost@5+5", "--fault lost@5+5: a GPU is lost for good (want lost@5)"},
		{"--fault thermal@5 --fault memory@80", "--fault memory@80: it is not over when the stream ends after 80 s (want a greater --seconds"},
		{"--fault thermal@5,busy@70+10", "--fault busy@70+10: it is not over when"},
		{"--fault thermal@5 --fast", "--fault with --fast: faults come at times"},
		{"--fault thermal@5 --after-idle idle.json", "--fault with --after-idle: one route is played"},
		{"--fault thermal@5 --seconds 4000", "--fault with --seconds 4000: want at most 3600 seconds"},
	} {
		var out strings.Builder
		err := run(t.Context(), &out, &out, append([]string{"--stream"}, strings.Fields(test.args)...))
		var coded *command.Error
		if !errors.As(err, &coded) || coded.Code != command.ExitUsage || !strings.Contains(err.Error(), test.want) || out.Len() > 0 {
			t.Errorf("%s: %v, %q; want %q", test.args, err, out.String(), test.want)
		}
	}
	for args, want := range map[string]string{
		"--fault thermal@5":             "--fault: it is about streams (want --stream, too)",
		"--occupy --stream":             "--stream: it says nothing about --occupy",
		"--occupy --calibration c.json": "--calibration: it says nothing about --occupy",
	} {
		if err := run(t.Context(), io.Discard, io.Discard, strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	o, _, err := parse(strings.Fields("--stream --fault thermal@1.5+0.5,memory@0 --fault lost@7"), io.Discard)
	if want := []fault{{"thermal", 1.5, 0.5}, {"memory", 0, 0}, {"lost", 7, 0}}; err != nil || len(o.streaming.faults) != 3 ||
		[3]fault(o.streaming.faults) != [3]fault(want) {
		t.Errorf("%+v, %v; want %+v", o, err, want)
	}
	err = runOn(t.Context(), onProcessor(), io.Discard, io.Discard, strings.Fields("--stream --calibration none.json --fault thermal@5"))
	if err == nil || !strings.Contains(err.Error(), "streams cannot use a GPU here") {
		t.Errorf("without a GPU: %v", err)
	}
}

// slowed is the emulated GPU, whose calls take a while longer as long as another program uses it.
type slowed struct {
	gpu.Driver
	busy *atomic.Bool
}

type slowedRecording struct {
	gpu.Recording
	busy *atomic.Bool
}

func (s slowed) Record(commands []gpu.Command) (gpu.Recording, error) {
	r, err := s.Driver.Record(commands)
	return slowedRecording{r, s.busy}, err
}

func (r slowedRecording) Wait() (gpu.Times, error) {
	if r.busy.Load() {
		time.Sleep(700 * time.Millisecond) // longer than a block of the test
	}
	return r.Recording.Wait()
}

// disturbed returns an emulated GPU that is lost as CUDA's is, and that another program uses as long as a fault says.
func disturbed(t *testing.T) machine {
	t.Helper()
	busy := new(atomic.Bool)
	b := &kernels.Backends{Pool: kernels.Here().Pool, GPUs: []*gpu.Backend{gpu.NewBackend(kerneltest.GPUName, func() (gpu.Driver, error) {
		d, err := emulator.New(emulator.Unified(true), emulator.LoseByFaults())
		return slowed{d, busy}, err
	})}}
	if err := b.GPUs[0].Probe(); err != nil {
		t.Skip(err)
	}
	m := roofed(b)
	m.occupy = func(context.Context) (func() error, error) {
		busy.Store(true)
		return func() error { busy.Store(false); return nil }, nil
	}
	return m
}

// The command makes each fault: streams leave the GPU, go back when it is over, and play what they would have played. Whether blocks
// are late depends on the machine. On a virtual clock, TestFaults of package stream says that none is. When streams leave and go back
// depends on what else the machine computes, too. So one of three plays must be as it should be.
func TestFaultsOfTheCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("plays for 15 to 45 seconds")
	}
	for fault, cause := range map[string]stream.Cause{"thermal@0.7+1": stream.Heat, "memory@0.7+1": stream.Memory, "busy@0.7+1": stream.Busy, "lost@0.7": stream.Lost} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			var wrong []string
			for range 3 {
				if wrong = afterFault(playFault(t, fault, cause), cause); len(wrong) == 0 {
					return
				}
			}
			t.Error(strings.Join(wrong, "\n"))
		})
	}
}

// playFault plays by the command, and returns its report. It checks all but when streams left the GPU and went back.
func playFault(t *testing.T, fault string, cause stream.Cause) *stream.Report {
	path := filepath.Join(t.TempDir(), "report.json")
	var out, notes strings.Builder
	err := runOn(t.Context(), disturbed(t), &out, &notes, []string{"--stream", "--calibration", "none.json", "--rate", "4000", "--block", "2000",
		"--seconds", "15", "--fault", fault, "--json", path})
	if err != nil {
		t.Fatal(err)
	}
	var r stream.Report
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || len(r.Faults) != 1 || r.Deviation == nil || len(r.Routes) != 2 {
		t.Fatalf("%v, %s", err, text)
	}
	if got := r.Faults[0]; got.Cause != cause.String() || got.Failure != "" || (got.OverSeconds == nil) != (cause == stream.Lost) {
		t.Errorf("%+v", got)
	}
	if !(*r.Deviation < sameOutput) || r.Silent > 0 || r.Failure != "" {
		t.Errorf("a deviation of %g, %d silent blocks, %q", *r.Deviation, r.Silent, r.Failure)
	}
	for _, want := range []string{"STREAMS WENT BACK", "\n" + cause.String() + " ", "What was played is what the serial route plays alone"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not print %q:\n%s", want, out.String())
		}
	}
	return &r
}

// afterFault returns what is wrong with when streams left the GPU and went back.
func afterFault(r *stream.Report, cause stream.Cause) (wrong []string) {
	got, lasts := r.Faults[0], cause == stream.Lost
	var changes []bool
	quiet := true // nothing else made streams leave the GPU, such as other programs on this machine
	for _, c := range r.Changes {
		if c.Cause == cause.String() {
			changes = append(changes, c.Begins)
		}
		quiet = quiet && c.Seconds >= got.BeganSeconds && (c.Cause == cause.String() || lasts) && len(changes) <= 2
	}
	if len(changes) == 0 || !changes[0] || !lasts && (len(changes) < 2 || changes[1]) || lasts && len(changes) > 1 {
		wrong = append(wrong, fmt.Sprintf("%s: %+v, want that it begins, and ends unless the GPU is lost", cause, r.Changes))
	}
	if quiet && got.LeftSeconds == nil {
		wrong = append(wrong, fmt.Sprintf("%+v, want that streams leave the GPU", got))
	}
	if quiet && !lasts && (got.BackSeconds == nil || got.Changes != 2 || *got.BackSeconds < *got.OverSeconds) {
		wrong = append(wrong, fmt.Sprintf("%+v, want that streams go back once, when it is over", got))
	}
	if lasts && got.BackSeconds != nil {
		wrong = append(wrong, fmt.Sprintf("%+v, want that streams stay away from a lost GPU for ten seconds", got))
	}
	return wrong
}

func TestFaultsArePrinted(t *testing.T) {
	at := func(s float64) *float64 { return &s }
	r := &stream.Report{Deviation: at(0.2), Faults: []stream.FaultReport{
		{Cause: "busy GPU", BeganSeconds: 3, MadeSeconds: 3.4, LeftSeconds: at(3.5), OverSeconds: at(5.25), BackSeconds: at(11), LateLeaving: 1, WorstLeaving: 0.012,
			LateAway: 2, LateBack: 3, Changes: 2},
		{Cause: "lost GPU", BeganSeconds: 20, MadeSeconds: 20, Failure: "no way"},
	}}
	var out strings.Builder
	printFaults(r, &out)
	if want := `FAULT     BEGAN    STREAMS LEFT  LATE UNTIL THEN  WORST UNTIL THEN  OVER    STREAMS WENT BACK  LATE WHILE AWAY  LATE AFTERWARDS  CHANGES
busy GPU  3.00 s   3.50 s        1                12.0 ms           5.25 s  11.00 s            2                3                2
lost GPU  20.00 s  –             0                –                 –       –                  0                0                0
`; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if got, want := strings.Join(faultFindings(r), "\n"), `The busy GPU that began after 3.00 s was there after 3.40 s.
The lost GPU was not made as it should be: no way.
What was played is not what the serial route plays alone: the relative error is 0.2, and at most 0.0001 is usual.`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// environment makes the test's program another program.
const environment = "CROSSOVER_TEST_OTHER_PROGRAM"

// TestTheOtherProgram is no test: it does what a program does that start has started.
func TestTheOtherProgram(t *testing.T) {
	switch os.Getenv(environment) {
	case "":
		t.Skip("only for TestOtherProgramEnds")
	case "usual":
		os.Stdout.WriteString(occupied + "\n")
		io.Copy(io.Discard, os.Stdin)
	case "silent":
		io.Copy(io.Discard, os.Stdin)
		select {}
	case "fails":
		os.Stderr.WriteString("profile: no GPU\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// Another program ends when it is told, when the run ends before it has begun, and when it cannot begin.
func TestOtherProgramEnds(t *testing.T) {
	for what, want := range map[string]string{"usual": "", "silent": "killed", "fails": "exit status 1: profile: no GPU"} {
		c := exec.Command(os.Args[0], "-test.run=^TestTheOtherProgram$")
		c.Env = append(os.Environ(), environment+"="+what)
		ctx, cancel := context.WithCancel(t.Context())
		if what == "silent" {
			time.AfterFunc(50*time.Millisecond, cancel)
		}
		end, err := start(ctx, c)
		cancel()
		if err == nil {
			if c.ProcessState != nil {
				t.Errorf("%s: it ended before it was told", what)
			}
			err = end()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
		if c.ProcessState == nil {
			t.Errorf("%s: it goes on", what)
		}
	}
}

// The GPU is kept busy until the input ends, and a machine without one says what is missing.
func TestOccupy(t *testing.T) {
	if err := occupy(t.Context(), onProcessor(), strings.NewReader(""), io.Discard); err == nil || err.Error() != "--occupy: there is no GPU" {
		t.Errorf("%v", err)
	}
	in, write := io.Pipe()
	var out strings.Builder
	m := roofed(kerneltest.Backends(t, emulator.Unified(true)))
	if !m.HasGPU() {
		t.Skip("there is no emulated GPU")
	}
	printed := writer(func() { write.Close() })
	if err := occupy(t.Context(), m, in, io.MultiWriter(&out, printed)); err != nil || out.String() != occupied+"\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
