package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"crossover/profiles"
)

// calls are two calls with a stage, a list and a move.
func calls() ([][]profiles.Span, []float64) {
	one := []profiles.Span{
		{Name: "stft", Place: profiles.Processor, Implementation: "go", Begin: 0, End: 1.0 / 3000},
		{Name: "columns", Place: profiles.Transfer, Begin: 1.0 / 3000, End: 2.0 / 3000},
		{Name: "mel + mfcc", Place: profiles.GPU, Implementation: "metal", Begin: 2.0 / 3000, End: 5.0 / 3000,
			Device: &profiles.Device{In: 1e-4, Launch: 1e-4, Wait: 7e-4, Out: 1e-4, Span: 6e-4, Busy: 3e-4, Gaps: 1e-4, Kernels: 2}},
	}
	return [][]profiles.Span{one, one}, []float64{5.0 / 3000, 6.0 / 3000}
}

// read is an event as a viewer reads it.
type read struct {
	Name string   `json:"name"`
	Ph   string   `json:"ph"`
	Ts   *float64 `json:"ts"`
	Dur  *float64 `json:"dur"`
	Pid  *int     `json:"pid"`
	Tid  *int     `json:"tid"`
	Args map[string]any
}

// follow checks a trace against the rules of the format: every event has a name, a phase, a process and a track; a slice has a
// time and a duration that are not negative; slices of a track lie beside each other or inside each other; every track has a name.
func follow(text []byte) (byTrack map[string][]read, err error) {
	var file struct {
		Unit   string `json:"displayTimeUnit"`
		Events []read `json:"traceEvents"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if file.Unit != "ms" && file.Unit != "ns" {
		return nil, fmt.Errorf("displayTimeUnit %q", file.Unit)
	}
	names := map[int]string{}
	slicesOf := map[int][]read{}
	for _, e := range file.Events {
		if e.Name == "" || e.Pid == nil || e.Tid == nil {
			return nil, fmt.Errorf("an event without a name, a process or a track: %+v", e)
		}
		switch e.Ph {
		case "M":
			if e.Name == "thread_name" {
				names[*e.Tid], _ = e.Args["name"].(string)
			}
		case "X":
			if e.Ts == nil || e.Dur == nil || *e.Ts < 0 || *e.Dur < 0 {
				return nil, fmt.Errorf("a slice without a time: %+v", e)
			}
			slicesOf[*e.Tid] = append(slicesOf[*e.Tid], e)
		default:
			return nil, fmt.Errorf("phase %q", e.Ph)
		}
	}
	byTrack = map[string][]read{}
	for track, all := range slicesOf {
		if names[track] == "" {
			return nil, fmt.Errorf("track %d has no name", track)
		}
		slices.SortStableFunc(all, func(a, b read) int { return cmp.Or(cmp.Compare(*a.Ts, *b.Ts), cmp.Compare(*b.Dur, *a.Dur)) })
		var open []read
		for _, e := range all {
			const rounding = 1e-6
			for len(open) > 0 && *open[len(open)-1].Ts+*open[len(open)-1].Dur <= *e.Ts+rounding {
				open = open[:len(open)-1]
			}
			if n := len(open); n > 0 && *e.Ts+*e.Dur > *open[n-1].Ts+*open[n-1].Dur+rounding {
				return nil, fmt.Errorf("%s overlaps %s", e.Name, open[n-1].Name)
			}
			open = append(open, e)
		}
		byTrack[names[track]] = all
	}
	return byTrack, nil
}

func TestTrace(t *testing.T) {
	var out bytes.Buffer
	spans, seconds := calls()
	if err := Write(&out, "analysis", spans, seconds); err != nil {
		t.Fatal(err)
	}
	byTrack, err := follow(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for track, want := range map[string]string{
		"calls":     "[call 1 call 2]",
		"processor": "[stft launch wait stft launch wait]",
		"GPU":       "[mel + mfcc mel + mfcc]",
		"transfers": "[columns copy in transfers copy out columns copy in transfers copy out]",
	} {
		var names []string
		for _, e := range byTrack[track] {
			names = append(names, e.Name)
		}
		if got := fmt.Sprint(names); got != want {
			t.Errorf("track %s: %s, want %s", track, got, want)
		}
	}
	if second := byTrack["calls"][1]; *second.Ts != 1666.667 || *second.Dur != 2000 {
		t.Errorf("the second call begins at %g µs and lasts %g µs, want 1666.667 and 2000", *second.Ts, *second.Dur)
	}
}

// The rules find what a viewer would draw wrong.
func TestTheRulesCanBeBroken(t *testing.T) {
	for _, events := range []string{
		`{"name":"a","ph":"X","ts":1,"pid":1,"tid":1}`,
		`{"name":"a","ph":"X","ts":1,"dur":-1,"pid":1,"tid":1}`,
		`{"name":"a","ph":"X","ts":1,"dur":1,"pid":1}`,
		`{"name":"a","ph":"Y","ts":1,"dur":1,"pid":1,"tid":1}`,
		`{"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"x"}},{"name":"a","ph":"X","ts":1,"dur":3,"pid":1,"tid":1},{"name":"b","ph":"X","ts":2,"dur":3,"pid":1,"tid":1}`,
		`{"name":"a","ph":"X","ts":1,"dur":1,"pid":1,"tid":1}`,
	} {
		if _, err := follow([]byte(`{"displayTimeUnit":"ms","traceEvents":[` + events + `]}`)); err == nil {
			t.Errorf("no rule is broken by %s", events)
		}
	}
}

func TestTraceThatCannotBeWritten(t *testing.T) {
	spans, seconds := calls()
	if err := Write(full{}, "analysis", spans, seconds); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
