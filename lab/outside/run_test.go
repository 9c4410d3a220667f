package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/host"
	"crossover/kernels"
	"crossover/kernels/catalogue"
)

// saved returns the path of a calibration of the given machine, which knows of sums that go is always the fastest.
func saved(t *testing.T, machine host.Facts) string {
	t.Helper()
	upper := 0.02
	entry := calibration.Host{
		ID: machine.ID(), Facts: calibration.Facts(machine), Created: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		Environment: calibration.Environment{OS: "linux", Power: "mains", Thermal: "nominal", Load: -1},
		Method:      calibration.Method{Mode: "latency", State: "warm"},
		Cases: []calibration.Case{{
			Name: "sum", Operation: "sum", Axis: calibration.Axis{Name: "n", Unit: "elements", From: 1 << 10, To: 1 << 24},
			Implementations: []calibration.Implementation{{Name: "go", Processor: "cpu"}, {Name: "go-parallel", Processor: "cpu"}},
			Verdict:         calibration.Always, Sizes: []int{1 << 10, 1 << 24}, Blocks: 7, TieBand: 0.03,
			Segments: []calibration.Segment{{From: 1 << 10, To: 1 << 24, Implementation: "go"}},
			Regret:   &calibration.Regret{Mean: 0.01, Upper: &upper, Parts: 7},
		}},
	}
	path := filepath.Join(t.TempDir(), "calibration.json")
	if err := calibration.Save(path, &calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{entry}}); err != nil {
		t.Fatal(err)
	}
	return path
}

// otherMachine has nothing in common with any machine on which a test may run.
var otherMachine = host.Facts{Chip: "None", Family: "none", Architecture: "none", Cores: 1, Vendor: "nobody"}

func codeOf(err error) int {
	var c coded
	switch {
	case err == nil:
		return 0
	case errors.As(err, &c):
		return c.code
	}
	return exitFailed
}

func TestExitCodes(t *testing.T) {
	here, other := saved(t, host.Identify()), saved(t, otherMachine)
	damaged := filepath.Join(t.TempDir(), "damaged.json")
	if err := os.WriteFile(damaged, []byte(`{"hosts": [`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--help"}, 0, ""},
		{[]string{"--nonsense"}, exitUsage, "--help"},
		{[]string{"argument"}, exitUsage, "argument"},
		{[]string{"--budget", "0s"}, exitUsage, "--budget"},
		{[]string{"--per-operation", "-1"}, exitUsage, "--per-operation"},
		{[]string{"--placement", "resident"}, exitUsage, "shared"},
		{[]string{"--ops", "("}, exitUsage, "--ops"},
		{[]string{"--ops", "nothing"}, exitUsage, "stft"},
		{[]string{"--calibration", filepath.Join(t.TempDir(), "none.json")}, exitFailed, "none.json"},
		{[]string{"--calibration", damaged}, exitFailed, "damaged.json"},
		{[]string{"--calibration", here, "--ops", "^log$", "--per-operation", "1", "--json", here}, exitUsage, "would overwrite"},
		{[]string{"--calibration", other}, exitNoEntry, "calibrate on this host"},
		{[]string{"--calibration", here, "--ops", "^log$", "--per-operation", "1"}, exitTooLittle, "larger --budget"},
	} {
		var stdout, stderr bytes.Buffer
		err := run(t.Context(), &stdout, &stderr, c.args)
		if codeOf(err) != c.code {
			t.Errorf("%v: %v, want exit code %d", c.args, err, c.code)
		}
		if err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%v: the error is %q, want one line that says %q", c.args, err, c.says)
		}
	}
}

// The machine may have a GPU, or none that shares its memory.
func TestSharedMemory(t *testing.T) {
	m, err := memoryOf(kernels.Shared)
	if err != nil {
		if codeOf(err) != exitTooLittle || !strings.Contains(err.Error(), "--placement caller") {
			t.Errorf("without a GPU: %v, want exit code %d", err, exitTooLittle)
		}
		return
	}
	defer m.free()
	if data, err := m.alloc(1000); err != nil || len(data) != 1000 {
		t.Errorf("1000 values of shared memory are %d, error %v", len(data), err)
	}
}

func TestRun(t *testing.T) {
	lines := filepath.Join(t.TempDir(), "shapes.jsonl")
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), &stdout, &stderr, []string{"--calibration", saved(t, host.Identify()), "--ops", "^(sum|log)$",
		"--per-operation", "2", "--json", lines, "--verbose"})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(lines)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var records []record
	for scan := bufio.NewScanner(file); scan.Scan(); {
		var r record
		if err := json.Unmarshal(scan.Bytes(), &r); err != nil {
			t.Fatalf("%v: %s", err, scan.Text())
		}
		records = append(records, r)
	}
	if len(records) != 4 || strings.Count(stderr.String(), "\n") != 4 {
		t.Fatalf("there are %d records, and standard error has\n%s", len(records), &stderr)
	}
	for _, r := range records {
		switch {
		case r.Operation == "log":
			if r.Answer != dispatch.Unknown || r.Ratio != nil || len(r.Implementations) > 0 {
				t.Errorf("nothing is known of logarithms, and the record is %+v", r)
			}
		case r.Chosen != "go" || r.Answer != dispatch.Measured || r.Ratio == nil || *r.Ratio < 1 || r.Unbiased == nil || r.Oracle == nil:
			t.Errorf("go is chosen for sums, and the record is %+v", r)
		case len(r.Implementations) == 0 || r.Implementations[0].Name != "go" || r.Implementations[0].Blocks < visits*leastBlocks || len(r.Implementations[0].Visits) != visits || r.Implementations[0].Median <= 0:
			t.Errorf("a sum was timed as %+v", r.Implementations)
		}
	}
	for _, want := range []string{`\nsum +2 +0 +0 .* 1\.0 % +2\.0 % +(yes|no)\n`, `\nlog +0 +2 +0 `, `\nmeasured +2 `, `\noracle +2 `} {
		if !regexp.MustCompile(want).Match(stdout.Bytes()) {
			t.Errorf("the report lacks %q:\n%s", want, &stdout)
		}
	}
}

// A shape that lacks a visit would be judged by other times than the rest.
func TestAnInterruptionLeavesOutShapesThatLackAVisit(t *testing.T) {
	d, err := dispatch.Load(saved(t, host.Identify()), dispatch.Unforced())
	if err != nil {
		t.Fatal(err)
	}
	sum := operations[slices.IndexFunc(operations, func(op operation) bool { return op.name == "sum" })]
	ctx, cancel := context.WithCancel(t.Context())
	o := options{budget: time.Hour, seed: 1, perOperation: 3}
	records, err := measureAll(ctx, o, []operation{sum}, ordinary, d, func(record) error { cancel(); return nil })
	if err != nil || len(records) != 1 || len(records[0].Implementations[0].Visits) != visits {
		t.Errorf("after one shape of three, there are %+v (%v)", records, err)
	}
}

func TestPromises(t *testing.T) {
	upper := 0.3
	h := &calibration.Host{
		Cases: []calibration.Case{
			{Name: "fft/batch=1", Operation: "fft", Regret: &calibration.Regret{Mean: 0.5, Upper: &upper}},
			{Name: "log", Operation: "log", Regret: &calibration.Regret{Mean: 0.2, Upper: &upper}},
			{Name: "log/shared", Operation: "log", Regret: &calibration.Regret{Mean: 0.4, Upper: &upper}},
			{Name: "scale", Operation: "scale", Regret: &calibration.Regret{Mean: 0.2}},
		},
		Operations: []calibration.Operation{
			{Name: "fft", Placement: "caller", HeldOut: calibration.HeldOut{Shapes: 9, Regret: 0.01, RegretUpper: 0.04}},
			{Name: "fft", Placement: "shared", HeldOut: calibration.HeldOut{Shapes: 9, Regret: 0.02, RegretUpper: 0.05}},
			{Name: "stft", Placement: "shared", HeldOut: calibration.HeldOut{Shapes: 9, Regret: 0.03, RegretUpper: 0.06}},
			{Name: "mel", Placement: "caller"},
		},
	}
	for operation, want := range map[string]*promise{
		"fft caller": {0.01, 0.04}, "fft shared": {0.02, 0.05}, "log caller": {0.2, 0.3}, "log shared": {0.4, 0.3}, "scale caller": nil,
		"stft caller": nil, "stft shared": {0.03, 0.06}, "mel caller": nil, "none caller": nil, "none shared": nil,
	} {
		name, placement, _ := strings.Cut(operation, " ")
		got, known := promiseOf(h, name, placement)
		if known != (want != nil) || known && got != *want {
			t.Errorf("%s: %v is promised (%v), want %v", operation, got, known, want)
		}
	}
}

func TestTimesHaveThreeDigits(t *testing.T) {
	r := record{Implementations: []timed{{Name: "slow", Median: 0.4274274}, {Name: "go", Median: 12.345e-6}, {Name: "fftw", Median: 987e-9}}}
	if got, want := r.times(), "fftw 987ns, go 12.3µs, slow 427ms"; got != want {
		t.Errorf("the times are %q, want %q", got, want)
	}
}

// Every operation computes by its typed plan, and go is an implementation of each.
func TestEveryOperationHasPlans(t *testing.T) {
	for _, op := range operations {
		bind, err := op.bind(op.shapes.draw(randomFor(1, op.name)), ordinary)
		if err != nil {
			t.Fatal(err)
		}
		c, err := bind(nil)
		if err != nil {
			t.Fatalf("%s: %v", op.name, err)
		}
		if err := c.run(); err != nil {
			t.Errorf("%s: %v", op.name, err)
		}
		c.plan.Close()

		o := &outcome{}
		for _, name := range op.implementations() {
			if err := o.enter(bind, name); err != nil {
				t.Errorf("%s: %s: %v", op.name, name, err)
			}
		}
		if n := len(o.entrants) + len(o.undivided); n < 2 {
			t.Errorf("%s: only %d implementations compute it", op.name, n)
		}
		o.close()
	}
}

// An implementation on several cores is not timed at a shape that it computes on one. If it was chosen, its counterpart stands
// for it.
func TestEnterLeavesOutWhatIsNotDivided(t *testing.T) {
	for n, want := range map[int]int{256: 1, 1 << 20: min(2, runtime.GOMAXPROCS(0))} {
		o := &outcome{}
		bind, err := operations[0].bind(kernels.Shape{n}, ordinary)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"go", "go-parallel"} {
			if err := o.enter(bind, name); err != nil {
				t.Fatal(err)
			}
		}
		o.explanation.Implementation = "go-parallel"
		if len(o.entrants) != want || o.chosen() != want-1 {
			t.Errorf("%d values: %d implementations are timed, and number %d was chosen, want %d and the last", n, len(o.entrants), o.chosen(), want)
		}
		o.close()
	}
}

// An implementation that typed plans lack is not timed under its name.
func TestEnterLeavesOutWhatPlansLack(t *testing.T) {
	bind, err := operations[0].bind(kernels.Shape{1024}, ordinary)
	if err != nil {
		t.Fatal(err)
	}
	o := &outcome{}
	if err := o.enter(bind, "unheard-of"); err != nil || len(o.entrants) > 0 {
		t.Errorf("an unknown implementation is timed as %v, error %v", o.entrants, err)
	}
}

func TestAPanicIsReported(t *testing.T) {
	op := operation{name: "broken", axes: []string{"n"}, bind: func(kernels.Shape, memory) (binding, error) { panic("a mistake") }}
	o := &outcome{operation: &op, shape: kernels.Shape{1}}
	for range visits {
		o.visit(t.Context(), ordinary, nil, randomFor(1, "order"))
	}
	if r := o.record(); !strings.Contains(r.Error, "a mistake") || r.Ratio != nil {
		t.Errorf("the record is %+v", r)
	}
}

// Each tensor comes from the memory, and all of it is freed when a shape has been measured, also if there was not enough of it.
func TestMemoryIsFreed(t *testing.T) {
	d, err := dispatch.Load(saved(t, host.Identify()), dispatch.Unforced())
	if err != nil {
		t.Fatal(err)
	}
	sum := operations[slices.IndexFunc(operations, func(op operation) bool { return op.name == "sum" })]
	for _, enough := range []int{2, 1, 0} {
		allocated, held := 0, 0
		m := memory{
			alloc: func(n int) ([]float32, error) {
				if allocated == enough {
					return nil, errors.New("no memory is left")
				}
				allocated, held = allocated+1, held+1
				return make([]float32, n), nil
			},
			free: func() { held = 0 },
		}
		o := &outcome{operation: &sum, shape: kernels.Shape{1 << 12}}
		for range visits {
			allocated = 0
			o.visit(t.Context(), m, d, randomFor(1, "order"))
			if want := min(enough, 2); o.err == nil && allocated != want || held != 0 {
				t.Errorf("%d tensors were allocated and %d are held, want %d and none", allocated, held, want)
			}
		}
		r := o.record()
		if failed := strings.Contains(r.Error, "no memory"); failed != (enough < 2) || failed == (r.Ratio != nil) {
			t.Errorf("with memory for %d tensors of 2, the record is %+v", enough, r)
		}
	}
}

// A new operation of the catalogue needs a line in the table.
func TestTheTableHasEveryOperation(t *testing.T) {
	have := map[string]bool{}
	for _, op := range operations {
		if have[op.name] {
			t.Errorf("%s is in the table twice", op.name)
		}
		have[op.name] = true
	}
	for _, c := range catalogue.Cases(kernels.Here()) {
		if !have[c.Operation] {
			t.Errorf("the table of operations lacks %s", c.Operation)
		}
	}
}
