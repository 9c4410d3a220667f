package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/cmd/internal/command"
	"crossover/cmd/internal/roof"
	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/catalogue"
)

// exit returns what a call of run printed and its exit code.
func exit(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, log bytes.Buffer
	code = command.Exit(&log, "speed", run(context.Background(), &out, &log, args))
	return out.String(), log.String(), code
}

func TestCommandLine(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"too few runs":    {[]string{"--runs", "9"}, "--runs 9: want at least 10"},
		"unknown flag":    {[]string{"--fast"}, "unknown flag: --fast (see speed --help)"},
		"not an argument": {[]string{"fft"}, `unexpected argument "fft"`},
		"negative budget": {[]string{"--plans", "--budget", "-5s"}, "--budget -5s: want a duration from 1s to 24h"},
		"no budget":       {[]string{"--plans", "--budget", "0s"}, "--budget 0s: want"},
		"hardly a budget": {[]string{"--plans", "--budget", "1ms"}, "--budget 1ms: want"},
		"days":            {[]string{"--plans", "--budget", "99h"}, "--budget 99h0m0s: want"},
		"budget of rows":  {[]string{"--budget", "10s"}, "--budget: it is about plans (want --plans, too)"},
		"earlier rows":    {[]string{"--earlier", "plans.json"}, "--earlier: it is about plans (want --plans, too)"},
		"no pattern":      {[]string{"--rows", "("}, `--rows "(": error parsing regexp`},
		"unknown API":     {[]string{"--api", "nope"}, `--api "nope": `},
		"empty API":       {[]string{"--api="}, "--api "},
		"API of plans":    {[]string{"--plans", "--api", "cuda"}, "--api: it says nothing about plans"},
	} {
		_, stderr, code := exit(t, test.args...)
		if code != command.ExitUsage || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q; want exit 2 and one line with %q", name, code, stderr, test.want)
		}
	}
	if stdout, _, code := exit(t, "--help"); code != 0 || !strings.Contains(stdout, "--rows") {
		t.Errorf("--help: exit %d, %q", code, stdout)
	}
}

func TestNoDevice(t *testing.T) {
	if kernels.Here().HasGPU() {
		t.Skip("needs a machine without a GPU")
	}
	lines := [][]string{nil}
	for _, b := range kernels.Here().GPUs {
		lines = append(lines, []string{"--api", b.API})
	}
	for _, args := range lines {
		stdout, stderr, code := exit(t, args...)
		if code != command.ExitFailed || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %q, %q; want exit 1 and one line", args, code, stdout, stderr)
		}
	}
}

func TestQuiet(t *testing.T) {
	if stdout, stderr, _ := exit(t, "-q", "--plans", "--rows", "^sum$", "--budget", "1s"); stdout != "" || strings.Count(stderr, "\n") > 1 {
		t.Errorf("-q prints %q, %q", stdout, stderr)
	}
}

// scriptedSide is a side that reports the given times.
func scriptedSide(name string, w work, times ...time.Duration) *side {
	at := 0
	return &side{
		name: name, work: w, close: func() {}, call: func() error { return nil },
		run: func() (time.Duration, error) {
			at++
			return times[(at-1)%len(times)], nil
		},
	}
}

func TestSpread(t *testing.T) {
	var times []time.Duration
	for i := range 101 {
		times = append(times, time.Duration(100-i))
	}
	if got, want := spreadOf(times), (spread{10, 50, 90}); got != want {
		t.Errorf("%v; want %v", got, want)
	}
	if got, want := spreadOf([]time.Duration{7}), (spread{7, 7, 7}); got != want {
		t.Errorf("%v; want %v", got, want)
	}
}

// The sides run in turn, and each is first in every other round.
func TestSidesTakeTurns(t *testing.T) {
	var order strings.Builder
	logged := func(name string) *side {
		return &side{name: name, run: func() (time.Duration, error) {
			order.WriteString(name)
			return 1, nil
		}}
	}
	const runs = 12
	if _, _, err := compare(logged("a"), logged("b"), runs); err != nil {
		t.Fatal(err)
	}
	all := order.String()
	if want := strings.Repeat("abba", runs/2); !strings.HasSuffix(all, want) || len(all) <= len(want) {
		t.Errorf("…%s; want a warm-up and then %s", all[max(0, len(all)-len(want)):], want)
	}
}

func TestCompareStopsAtAnError(t *testing.T) {
	broken := &side{run: func() (time.Duration, error) { return 0, errors.New("broken") }}
	good := scriptedSide("good", work{}, 1)
	for _, pair := range [][2]*side{{broken, good}, {good, broken}} {
		if _, _, err := compare(pair[0], pair[1], 10); err == nil || err.Error() != "broken" {
			t.Errorf("%v; want broken", err)
		}
	}
}

// scriptedRow is a row in which ours moves 1 GB in 1 ms and the peer in 2 ms.
func scriptedRow(name string, difference float64) row {
	return row{name: name, measure: func(d *gpu.Device, runs int) ([]result, error) {
		return comparison{
			name: name, bound: "memory", tolerance: 1e-5,
			ours:       scriptedSide("ours", traffic(1e9), time.Millisecond),
			peer:       scriptedSide("peer", traffic(1e9), 2*time.Millisecond),
			difference: func() (float64, error) { return difference, nil },
		}.measure(d, runs)
	}}
}

func TestTable(t *testing.T) {
	device := emulator.Open(t)
	table := []row{scriptedRow("good", 1e-7), scriptedRow("wrong", 1e-3), scriptedRow("nan", math.NaN()), scriptedRow("late", 0)}
	var out, log bytes.Buffer
	err := measureOn(context.Background(), device, table, &options{runs: 10}, &out, &log)
	if code := command.Exit(&bytes.Buffer{}, "speed", err); code != command.ExitFailed {
		t.Errorf("exit %d (%v); want 1 where rows are wrong", code, err)
	}
	for _, want := range []string{"good", "1 ms (1–1)", "1000 GB/s", "peer 2 ms (2–2)", "500 GB/s", "2.00", "memory", "1e-07", "late"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "wrong") || strings.Contains(out.String(), "nan") {
		t.Errorf("a row of wrong values is printed:\n%s", out.String())
	}
	for _, want := range []string{"speed: wrong: wrong values: the relative error is 0.001; want at most 1e-05\n", "speed: nan: wrong values"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in\n%s", want, log.String())
		}
	}
}

func TestRowsAreChosen(t *testing.T) {
	device := emulator.Open(t)
	table := []row{scriptedRow("one", 0), scriptedRow("two", 0)}
	var out bytes.Buffer
	if err := measureOn(context.Background(), device, table, &options{runs: 10, rows: "^t", json: true}, &out, &out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Device string
		Rows   []result
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if len(got.Rows) != 1 || got.Rows[0].Name != "two" || got.Rows[0].Ratio != 2 || got.Rows[0].Ours.Rate != 1000 || got.Device == "" {
		t.Errorf("%+v; want the row two, twice as fast as its peer", got)
	}
	for pattern, want := range map[string]string{"^x": "matches no row (there are one, two)", "(": "error parsing regexp"} {
		err := measureOn(context.Background(), device, table, &options{runs: 10, rows: pattern}, &out, &out)
		if err == nil || !strings.Contains(err.Error(), want) || command.Exit(&out, "speed", err) != command.ExitUsage {
			t.Errorf("%v; want a usage error with %q", err, want)
		}
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if err := measureOn(stopped, device, table, &options{runs: 10}, &out, &out); command.Exit(&out, "speed", err) != command.ExitInterrupted {
		t.Errorf("%v; want the exit code of an interruption", err)
	}
}

// The peers do the work that they are timed for.
func TestRoofs(t *testing.T) {
	device := emulator.Open(t)
	copied, err := copySide(device, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.close()
	if copied.work.amount != 4096 || copied.work.unit != "GB/s" {
		t.Errorf("a copy of %+v; want 4096 bytes", copied.work)
	}
	if _, err := copied.run(); err != nil {
		t.Error(err)
	}
	for flops, rounds := range map[float64]float64{1: 1, 1.4 * roof.RoundOperations: 1, 1.6 * roof.RoundOperations: 2} {
		s, err := multiplyAddSide(device, flops)
		if err != nil {
			t.Fatal(err)
		}
		if s.work.amount != rounds*roof.RoundOperations {
			t.Errorf("%g operations for %g; want %g rounds of %d", s.work.amount, flops, rounds, roof.RoundOperations)
		}
		s.close()
	}
}

// A case is measured beside a copy. If its implementation is missing, there is an error and no line.
func TestCaseBesideACopy(t *testing.T) {
	device := emulator.Open(t)
	output := []float32{1, 2}
	c := kernels.Case{
		Name: "case", Axis: kernels.Axis{Name: "n"}, Tolerance: func(int) float64 { return 1e-6 },
		Bytes:           func(n int) float64 { return 32 * float64(n) },
		Implementations: []kernels.Implementation{{Name: "go", Processor: kernels.CPU}, {Name: "other/x", Processor: kernels.GPU}},
		Problem:         func(int, kernels.Input) kernels.Problem { return scriptedProblem(output) },
	}
	if _, err := againstCopy(c, 4).measure(device, 10); err == nil || !strings.Contains(err.Error(), "no such implementation") {
		t.Errorf("%v; want an error that says what is missing", err)
	}
	if _, err := againstLibrary(c, 4, traffic(1)).measure(device, 10); err == nil {
		t.Error("a case without an implementation of ours was measured")
	}
	if got := rowName(c, 4); got != "case/n=4" {
		t.Errorf("name %q", got)
	}
	if got := ownImplementation(c, "other"); got != "other/x" {
		t.Errorf("our implementation is %q; want other/x", got)
	}
	if got, err := vendorImplementation(c, "cuda"); got != "other/x" || err != nil {
		t.Errorf("the vendor's implementation is %q, %v; want other/x", got, err)
	}
	c.Implementations[1].Probe = func() error { return errors.New("not installed") }
	if _, err := vendorImplementation(c, "cuda"); err == nil || err.Error() != "not installed" {
		t.Errorf("%v; want what is missing", err)
	}
}

type scriptedProblem []float32

func (p scriptedProblem) Reference() []float64 { return []float64{1, 2} }

func (p scriptedProblem) Bind(string) (kernels.Call, error) {
	return kernels.Call{}, errors.New("no such implementation")
}

// The table has these rows.
func TestRows(t *testing.T) {
	all := rows(catalogue.Cases(kernels.Here()))
	for _, want := range []string{
		"fft/complex,n=256,batch=65536", "fft/complex,n=65536,batch=256", "fft/complex,n=960,batch=17476",
		"fft/n=1024,batch=16384", "fft/batch=1,n=51840", "scale/n=67108864",
		"sum/n=67108864", "softmax/columns=1024,rows=8192", "softmax/columns=4096,rows=8192",
		"stft/n_fft=2048,hop=512,n=16777216", "biquad/n=512,channels=32768", "oscillator-bank/voices=256,n=352800",
		"attention/products,heads=64,width=64,steps=2048", "lstm/products,hidden=256,batch=1,steps=1000",
		"lstm/vector-products,hidden=256,batch=1,steps=1000", "matmul/square,n=1024", "matmul/square,n=4096", "launch+wait", "rise",
	} {
		if !slices.ContainsFunc(all, func(r row) bool { return r.name == want }) {
			t.Errorf("there is no row %s (there are %s)", want, names(all))
		}
	}
}

// A warm plan allocates nothing, and allocations are counted.
func TestAllocations(t *testing.T) {
	device := emulator.Open(t)
	var kept [][]byte
	count, grown, err := allocations(device, func() error {
		kept = append(kept[:0], make([]byte, 1000), make([]byte, 1000))
		return nil
	}, 100)
	if err != nil || count < 2 || count > 3 || grown != 0 {
		t.Errorf("%g allocations, %g bytes, %v; want 2 or 3 and no bytes", count, grown, err)
	}
	var plans []*gpu.Plan
	_, grown, err = allocations(device, func() error {
		b := device.NewPlan()
		from, to := b.Scratch(gpu.Float, 1<<20), b.Scratch(gpu.Float, 1<<20)
		b.Copy(to, from)
		p, err := b.Build()
		plans = append(plans, p)
		return err
	}, 3)
	if err != nil || grown != 8<<20 {
		t.Errorf("the pool grows by %g bytes, %v; want %d", grown, err, 8<<20)
	}
	for _, p := range plans {
		p.Close()
	}
}
