package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/scripted"
	"crossover/dispatch"
	"crossover/thresholds/surfaces"
)

// withSoftmax is twoCases with an operation over all its shapes, in which b is faster from 4 000 values on.
func withSoftmax(seed uint64) *scripted.Machine {
	m := twoCases(seed)
	m.AddSpace("softmax", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 4e-9), "b": scripted.Linear(5e-6, 3e-9)})
	return m
}

func hostEntry(t *testing.T, f folders) *calibration.Host {
	t.Helper()
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	_, id := command.HostFacts()
	return file.Host(id)
}

// One shape is measured alone, printed with its winner, and decides in a program. Other shapes and cases join it.
func TestOneShape(t *testing.T) {
	f := newFolders(t)
	stdout, stderr, code := calibrateOn(t, withSoftmax(1), f.args("--shape", "softmax/columns=100,rows=3")...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if !strings.Contains(stdout, "softmax/columns=100,rows=3      1  a                     2.2 µs") || strings.Contains(stdout, "VERDICT") || strings.Contains(stdout, "ALL SHAPES") {
		t.Errorf("the table is\n%s", stdout)
	}
	if charts, err := os.ReadDir(filepath.Join(f.plots, filepath.Base(f.host()))); err != nil || len(charts) > 0 || strings.Contains(stderr, "chart") {
		t.Errorf("without a case there is nothing to draw, but there are %v, %v: %s", charts, err, stderr)
	}
	for _, more := range []string{"softmax/rows=70,columns=200", "sum/n=5000"} {
		if stdout, stderr, code = calibrateOn(t, withSoftmax(2), f.args("--shape", more)...); code != 0 {
			t.Fatalf("%s: exit %d: %s", more, code, stderr)
		}
	}
	if !strings.Contains(stdout, "sum/n=5000") {
		t.Errorf("the table is\n%s", stdout)
	}
	if _, stderr, code := calibrateOn(t, withSoftmax(3), f.args("--ops", "fft")...); code != 0 {
		t.Fatal(stderr)
	}
	h := hostEntry(t, f)
	if len(h.Cases) != 2 || len(h.Operations) != 1 || len(h.Operations[0].Asked) != 2 {
		t.Fatalf("%d cases, %d operations: %+v", len(h.Cases), len(h.Operations), h.Operations)
	}
	d, err := dispatch.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		rows, columns int
		want          string
	}{{3, 100, "a"}, {70, 200, "b"}} {
		e := d.Operation("softmax").ExplainShape(test.rows, test.columns)
		along := d.Case(fmt.Sprintf("softmax/columns=%d", test.columns)).Explain(test.rows)
		if e.Implementation != test.want || e.Answer != dispatch.Measured || along.Implementation != test.want || along.Answer != dispatch.Measured {
			t.Errorf("%v: %+v\n%+v", test, e, along)
		}
	}
	if e := d.Case("sum").Explain(5000); e.Answer != dispatch.Measured || e.Implementation != "a" {
		t.Errorf("%+v", e)
	}
}

// With -v a line for each visit names the shape, or the size with its unit.
func TestVerboseShapes(t *testing.T) {
	f := newFolders(t)
	_, stderr, code := calibrateOn(t, withSoftmax(1), f.args("-v", "--shape", "softmax/columns=100,rows=3", "--shape", "sum/n=5000")...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"s  softmax  rows=3,columns=100\n", "s  sum  5000 samples\n"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no line ends with %q in\n%s", want, stderr)
		}
	}
}

// A record is measured first and by its counts; the operations that it names follow, and others are left alone. What was asked
// for enters the report by its counts, and not the one on shapes that were not measured.
func TestRecordedShapes(t *testing.T) {
	f := newFolders(t)
	var text strings.Builder
	asked := map[string]int64{}
	for k := range 30 {
		name := fmt.Sprintf("softmax/rows=%d,columns=%d", 1+k, 100+7*k)
		asked[name] = int64(1 + k)
		fmt.Fprintf(&text, "%s %d\n", name, 1+k)
	}
	text.WriteString("# a comment\nsoftmax/rows=3,columns=5,resident 4\nsum/n=777 9\n")
	record := filepath.Join(f.root, "shapes.txt")
	if err := os.WriteFile(record, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := calibrateOn(t, withSoftmax(1), f.args("--shapes", record, "--budget", "6s")...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"softmax/rows=30,columns=303     30  b", "sum/n=777", "OPERATION, SHAPES ASKED FOR", "softmax                          30    465"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table lacks %q:\n%s", want, stdout)
		}
	}
	if !strings.Contains(stderr, "left out 1 shape with 4 calls: softmax/rows=3,columns=5,resident: cannot be measured here") {
		t.Errorf("nothing is said of what was left out:\n%s", stderr)
	}
	h := hostEntry(t, f)
	if len(h.Cases) != 2 || len(h.Operations) != 1 {
		t.Fatalf("%d cases, %d operations", len(h.Cases), len(h.Operations))
	}
	o := &h.Operations[0]
	for k := range o.Asked {
		a := &o.Asked[k]
		name := fmt.Sprintf("softmax/rows=%d,columns=%d", a.Shape[0], a.Shape[1])
		if asked[name] != a.Calls || a.Regret == nil {
			t.Errorf("%s: %+v, want %d calls", name, a, asked[name])
		}
		for i := 0; i < len(o.HeldOut.Points); i += 2 {
			if o.HeldOut.Points[i] == a.Shape[0] && o.HeldOut.Points[i+1] == a.Shape[1] {
				t.Errorf("%s is among the shapes that judge predictions", name)
			}
		}
	}
	heldOut := 0
	for k := range o.Asked {
		if surfaces.HeldOut(o.Asked[k].Shape) {
			heldOut++
		}
	}
	if len(o.Asked) != 30 || heldOut == 0 || len(o.Surface.Shapes)/2 < 40 || o.HeldOut.Shapes < 5 {
		t.Errorf("%d asked, %d of them of the part that is held out, %d fitted, %d held out", len(o.Asked), heldOut, len(o.Surface.Shapes)/2, o.HeldOut.Shapes)
	}
	again := filepath.Join(f.root, "again.json")
	if _, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", f.host(), "-o", again, "--plots", filepath.Join(f.root, "p2")); code != 0 {
		t.Fatal(stderr)
	}
	if read(t, again) != read(t, f.file) {
		t.Error("a refit gives other bytes")
	}
	if _, stderr, code := calibrateOn(t, withSoftmax(5), f.args("--ops", "softmax", "--budget", "2s")...); code != 0 {
		t.Fatal(stderr)
	}
	if got := len(hostEntry(t, f).Operations[0].Asked); got != 30 {
		t.Errorf("a later run keeps %d of 30 shapes", got)
	}
}

// A shape that is asked for twice is one shape. Its calls in a file add up.
func TestAShapeAskedForTwice(t *testing.T) {
	f := newFolders(t)
	record := filepath.Join(f.root, "shapes.txt")
	if err := os.WriteFile(record, []byte("softmax/rows=3,columns=100 5\nsoftmax/columns=100,rows=3 6\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	shape := []string{"--shape", "softmax/rows=3,columns=100", "--shape", "softmax/rows=3,columns=100", "--shape", "softmax/columns=100,rows=3"}
	for _, c := range []struct {
		args        []string
		says, calls string
	}{
		{shape, " · 1 shape · ", "softmax/rows=3,columns=100      1  a "},
		{append(shape, "--shapes", record), " · 1 shape, 1 case · ", "softmax/rows=3,columns=100     11  a "},
		{append(shape, "--shape", "softmax/rows=4,columns=100"), " · 2 shapes · ", "softmax/rows=4,columns=100      1  a "},
	} {
		stdout, stderr, code := calibrateOn(t, withSoftmax(1), f.args(append(c.args, "--budget", "2s")...)...)
		if code != 0 || !strings.Contains(stderr, c.says) || !strings.Contains(stdout, c.calls) || strings.Count(stdout, "softmax/rows=3,columns=100  ") > 1 {
			t.Errorf("%q: exit %d, %q\n%s", c.args, code, stderr, stdout)
		}
	}
}

func TestAskedShapesAreRefused(t *testing.T) {
	f := newFolders(t)
	for name, want := range map[string]string{
		"nosuch/n=3":                                                   `"nosuch" is not an operation`,
		"softmax/rows=3,depth=3":                                       `"depth" is not an axis (there are rows, columns)`,
		"softmax/rows=0,columns=3":                                     "rows=0: want 1 to",
		"softmax/rows=3,columns=-3":                                    "columns=-3: want 1 to",
		"softmax/rows=3,rows=3":                                        "rows is there twice",
		"softmax/rows=3,columns":                                       "is not a value of an axis",
		"softmax/rows=3,columns=1e99":                                  "is not a value of an axis",
		"softmax/rows=3,columns=99999999999999999999":                  "is not a value of an axis",
		"softmax/rows=9223372036854775807,columns=9223372036854775807": "is too much to be measured",
		"softmax/rows=100000,columns=100000":                           "is too much to be measured",
		"softmax/rows=3,columns=4,resident":                            `as the calls of plans have (leave "resident" out, or measure the line softmax/columns=4, also`,
		"sum/n=9223372036854775807":                                    "is too much to be measured",
		"matmul/m=1,k=2,n=3":                                           "cannot be measured here",
		"stft/n_fft=1023,hop=256,n=48000":                              "stft: NFFT is 1023: want an even number, 2 to 16777216",
		"stft/n_fft=1023,hop=256":                                      "stft: NFFT is 1023: want an even number, 2 to 16777216",
	} {
		_, stderr, code := calibrateOn(t, withSoftmax(1), f.args("--shape", name)...)
		if code != 2 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, want %q", name, code, stderr, want)
		}
	}
	for text, want := range map[string]string{
		"":                                "no shape in it",
		"softmax/rows=3,columns=4 0\n":    `:1: "0" is no count of calls`,
		"\nsoftmax/rows=3,columns=4 -1\n": `:2: "-1" is no count of calls`,
		"softmax/rows=3,columns=4 many\n": `"many" is no count of calls`,
		"softmax/rows=3,columns=4 1 2\n":  "has 3 words",
		"#\nsoftmax/rows=3,columns=0 1\n": `:2: "softmax/rows=3,columns=0": columns=0: want`,
		"nosuch/n=4\n":                    "is not an operation",
		"softmax/columns=0\n":             "columns=0: want 1 to",
	} {
		record := filepath.Join(f.root, "shapes.txt")
		if err := os.WriteFile(record, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, stderr, code := calibrateOn(t, withSoftmax(1), f.args("--shapes", record)...)
		if code != 2 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %q, want %q", text, code, stderr, want)
		}
	}
	for _, args := range [][]string{
		{"--shape", "softmax/rows=3,columns=4", "--sizes", "4:8:x2"}, {"--shape", "softmax/rows=3,columns=4", "--mode", "throughput"},
		{"--shape", "softmax/rows=3,columns=4", "--ops", "sum"}, {"--shape", "softmax/rows=3,columns=4", "--impl", "nosuch"},
	} {
		if _, stderr, code := calibrateOn(t, withSoftmax(1), f.args(args...)...); code != 2 || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q", args, code, stderr)
		}
	}
	record := filepath.Join(f.root, "shapes.txt")
	if err := os.WriteFile(record, []byte("softmax/rows=3,columns=4 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--shape with --ops: want one of the two":                                                               {"--shape", "softmax/rows=3,columns=4", "--ops", "softmax"},
		`--ops "sum" matches no shape of --shapes ` + record + " (it has shapes of softmax)":                    {"--shapes", record, "--ops", "sum"},
		"--ops \"(\": error parsing regexp: missing closing ): `(` (want a regular expression such as '^fft/')": {"--shapes", record, "--ops", "("},
	} {
		_, stderr, code := calibrateOn(t, withSoftmax(1), f.args(append(args, "--dry-run")...)...)
		if want = "calibrate: " + want + "\n"; code != command.ExitUsage || stderr != want {
			t.Errorf("exit %d, %q, want %q", code, stderr, want)
		}
	}
	if _, _, code := calibrateOn(t, withSoftmax(1), f.args("--shapes", filepath.Join(f.root, "none"))...); code != 1 {
		t.Errorf("no file: exit %d", code)
	}
	if _, err := os.Stat(f.file); err == nil {
		t.Error("a refused run wrote a file")
	}
}

// With --ops, the shapes and lines of a file are measured that match, or whose operations do, and these operations alone.
func TestShapesOfSomeOperations(t *testing.T) {
	f := newFolders(t)
	record := filepath.Join(f.root, "shapes.txt")
	text := "softmax/rows=3,columns=100 5\nsum/n=777 9\nsoftmax/rows=70,columns=200\nfft/n=512\nsoftmax/rows=3,columns=100,shared 2\n"
	if err := os.WriteFile(record, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for ops, want := range map[string][]string{
		"^softmax$":              {"softmax/rows=3,columns=100\n", "softmax/rows=70,columns=200\n", "softmax/columns=1024\n", "2 shapes, 1 case,"},
		"^softmax/columns=1024$": {"softmax/rows=3,columns=100\n", "softmax/rows=70,columns=200\n", "softmax/columns=1024\n", "2 shapes, 1 case,"},
		"^softmax/rows=70,":      {"softmax/rows=70,columns=200\n", "softmax/columns=1024\n", "1 shape, 1 case,"},
		"^s.*m$":                 {"sum/n=777\n", "sum\n", "1 shape, 1 case,"},
		"^fft$":                  {"fft/n=512\n", "1 case,"},
		"^(sum$|fft/batch=1|soft)": {
			"sum/n=777\n", "softmax/rows=3,columns=100\n", "softmax/rows=70,columns=200\n", "fft/n=512\n", "sum\n", "softmax/columns=1024\n", "3 shapes, 3 cases,",
		},
	} {
		stdout, stderr, code := calibrateOn(t, withSoftmax(1), f.args("--shapes", record, "--ops", ops, "--dry-run")...)
		names := 0
		for line := range strings.Lines(stdout) {
			if strings.HasPrefix(line, "softmax") || strings.HasPrefix(line, "sum") || strings.HasPrefix(line, "fft") {
				names++
			}
		}
		left := map[string]string{"^softmax$": "left out: 3 of 5 shapes in ", "^softmax/columns=1024$": "left out: 3 of 5 shapes in ", "^(sum$|fft/batch=1|soft)": ""}
		said, some := left[ops]
		if !some {
			said = "left out: 4 of 5 shapes in "
		}
		if code != 0 || names != len(want)-1 || !strings.Contains(stderr, said) || said == "" && strings.Contains(stderr, "--ops") {
			t.Errorf("%s: exit %d, %s\n%s", ops, code, stderr, stdout)
		}
		for _, part := range want {
			if !strings.Contains("\n"+stdout, "\n"+part) {
				t.Errorf("%s: no line %q in\n%s", ops, part, stdout)
			}
		}
	}
	if err := os.WriteFile(record, []byte("softmax/rows=3,columns=100 5\nsum/n=777 9\nsoftmax/rows=70,columns=200\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := calibrateOn(t, withSoftmax(1), f.args("--shapes", record, "--ops", "softmax", "--budget", "2s")...); code != 0 {
		t.Fatal(stderr)
	}
	h := hostEntry(t, f)
	if len(h.Cases) != 1 || len(h.Operations) != 1 || len(h.Operations[0].Asked) != 2 {
		t.Errorf("%d cases, %d operations: %+v", len(h.Cases), len(h.Operations), h.Operations)
	}
}

// If nothing of --impl can run here, the command says so and why before it measures, because no budget would be enough.
func TestImplementationsThatCannotRunHere(t *testing.T) {
	f := newFolders(t)
	m := withSoftmax(1)
	m.Add("scale", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 1e-9), "c": scripted.Linear(1e-6, 1e-9), "d": scripted.Linear(1e-6, 1e-9)}, nil)
	m.Missing = map[string]error{"b": errors.New("no libb (install it)"), "c": errors.New("no libc")}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--ops", "^sum$", "--impl", "b"}, "--impl b: none can run here; missing: b: no libb (install it)\n"},
		{[]string{"--impl", "b,c", "--dry-run"}, "--impl b,c: none can run here; missing: b: no libb (install it); missing: c: no libc\n"},
		{[]string{"--shape", "softmax/rows=3,columns=4", "--impl", "b"}, "--impl b: none can run here; missing: b: no libb (install it)\n"},
		{[]string{"--shape", "softmax/rows=3,columns=4", "--shape", "scale/n=100", "--impl", "d"}, "--shape softmax/rows=3,columns=4: none of --impl can run here (a can)\n"},
	} {
		before := m.Now()
		_, stderr, code := calibrateOn(t, m, f.args(c.args...)...)
		if code != command.ExitUsage || stderr != "calibrate: "+c.want || (m.Now()-before).Seconds() > 0.001 {
			t.Errorf("%q: exit %d after %v, %q, want %q", c.args, code, m.Now()-before, stderr, c.want)
		}
	}
	if _, stderr, code := calibrateOn(t, m, "--list", "--impl", "b"); code != 0 {
		t.Errorf("--list: exit %d, %q", code, stderr)
	}
	succeed(t, m, f.args("--impl", "a,b,c", "--budget", "2s")...)
}

// Cases without an implementation of --impl are left out, and the others are measured.
func TestCasesWithoutTheImplementations(t *testing.T) {
	f := newFolders(t)
	m := withSoftmax(1)
	m.Add("scale", map[string]scripted.Cost{"d": scripted.Linear(1e-6, 1e-9)}, nil)
	_, stderr, code := calibrateOn(t, m, f.args("--impl", "d", "--budget", "2s")...)
	if code != 0 || !strings.Contains(stderr, "calibrate: left out, without an implementation of --impl: fft/batch=1, sum, softmax/columns=1024\n") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if h := hostEntry(t, f); len(h.Cases) != 1 || h.Cases[0].Name != "scale" || len(h.Operations) > 0 {
		t.Errorf("%d cases, %d operations: %+v", len(h.Cases), len(h.Operations), h.Cases)
	}
}
