package command

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"crossover/sweeps"
)

func TestStateOfASweep(t *testing.T) {
	visit := sweeps.Progress{Case: "sum", At: "64 values", Visit: 3, Elapsed: 8 * time.Second, Budget: 2 * time.Minute}
	long, waiting, over := visit, visit, visit
	long.Takes = 19700 * time.Millisecond
	waiting.Waiting, waiting.Takes = "a quiet machine", long.Takes
	over.Elapsed = over.Budget + 3*time.Second
	for want, p := range map[string]sweeps.Progress{
		"1:52 left, sum":                            visit,
		"1:52 left, a visit of about 20 s, sum":     long,
		"1:52 left, waits for a quiet machine, sum": waiting,
		"0:00 left, sum":                            over,
		"2:00 left, waits for readings":             {Waiting: "readings", Budget: 2 * time.Minute},
	} {
		if got := state(p); got != want {
			t.Errorf("%+v is %q, want %q", p, got, want)
		}
	}
}

// The bar is drawn at intervals, and at once if the sweep waits. It never fills the line of the terminal.
func TestTheBar(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	b := &bar{to: &out, width: 70, now: func() time.Time { return now }}
	p := sweeps.Progress{Case: "stage-graph/block=512,cost=4,resident", At: "1 stages", Visit: 1, Budget: 100 * time.Second}
	draw := func(elapsed time.Duration) string {
		out.Reset()
		p.Elapsed = elapsed
		now = time.Unix(1000, 0).Add(elapsed)
		b.step(p)
		return out.String()
	}
	if text := draw(0); !strings.Contains(text, "1:40 left") {
		t.Errorf("at first it draws %q", text)
	}
	if text := draw(redraw / 2); text != "" {
		t.Errorf("at once again it draws %q", text)
	}
	if text := draw(50 * time.Second); !strings.Contains(text, "50%") || !strings.Contains(text, "0:50 left, stage-graph/") {
		t.Errorf("half-way it draws %q", text)
	}
	p.Waiting = "a quiet machine"
	text := draw(50*time.Second + redraw/10)
	if !strings.Contains(text, "waits for a quiet machine") {
		t.Errorf("when it waits it draws %q", text)
	}
	line := text[strings.LastIndex(strings.TrimRight(text, "\r "), "\r")+1:]
	if columns := utf8.RuneCountInString(line); columns > b.width {
		t.Errorf("%d columns on a terminal of %d: %q", columns, b.width, line)
	}
	p.Waiting = ""
	if text := draw(200 * time.Second); strings.Contains(text, "100%") || !strings.Contains(text, "0:00 left") {
		t.Errorf("behind the budget it draws %q", text)
	}
	b.clear()
	if text := out.String(); !strings.HasSuffix(text, "\r") {
		t.Errorf("it is cleared by %q", text)
	}
}

// If stderr is no terminal, nothing is drawn.
func TestProgressOnATerminalOnly(t *testing.T) {
	var out bytes.Buffer
	step, done := Progress(&out, false, false)
	if done(); step != nil {
		t.Error("there is a bar")
	}
	Status(&out, false, "draws charts")()
	if out.Len() > 0 {
		t.Errorf("it writes %q", out.String())
	}
}

// With -v there is one line for each visit, even if a visit reports several times.
func TestVerboseProgress(t *testing.T) {
	var out bytes.Buffer
	step, _ := Progress(&out, true, false)
	for _, p := range []sweeps.Progress{
		{Waiting: "readings"}, {Case: "sum", At: "64 values", Visit: 1, Elapsed: time.Second}, {Case: "sum", At: "64 values", Visit: 1, Elapsed: 2 * time.Second},
		{Case: "sum", At: "64 values", Visit: 1, Waiting: "a quiet machine"}, {Case: "sum", At: "64 values", Visit: 2, Elapsed: 3 * time.Second},
	} {
		step(p)
	}
	if want := "   1.0s  sum  64 values\n   3.0s  sum  64 values\n"; out.String() != want {
		t.Errorf("it writes %q, want %q", out.String(), want)
	}
}
