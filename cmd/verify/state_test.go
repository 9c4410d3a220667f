package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/scripted"
	"crossover/harness"
)

// A machine that is in another state for a part of the verification degrades nothing. Verify prints the other state.
func TestAnotherStateForSomeTime(t *testing.T) {
	for _, c := range []struct {
		from time.Duration
		says string
	}{
		{time.Hour, ""},
		{400 * time.Millisecond, "all 2 processors at once take "},
	} {
		m := pair("go", "go-parallel", 1.05, 48e-9)
		m.Crowded = func(now time.Duration) float64 {
			if now > c.from {
				return 2
			}
			return 1
		}
		path := save(t, recordedPair("go", "go-parallel", 4000, kept(2, 1.05, 48e-9)))
		stdout, stderr, code := verifyOn(t, m, "--calibration", path, "--seed", "1", "--budget", "15s")
		if code != 0 || !strings.Contains(stdout, " HOLDS ") || strings.Contains(stdout, "degraded") {
			t.Errorf("from %v on: exit %d\n%s%s", c.from, code, stdout, stderr)
		}
		if told := strings.Contains(stderr, "another state than at calibration"); told != (c.says != "") || !strings.Contains(stderr, c.says) {
			t.Errorf("from %v on: want %q in\n%s", c.from, c.says, stderr)
		}
	}
}

// pair is a machine of two processors with the same truth as the machine of the other tests, under other names.
func pair(small, large string, ratio, handOver float64) *scripted.Machine {
	m := scripted.New(1, 0.01)
	m.AllRatio, m.HandOver = ratio, handOver
	m.Add("fft/batch=1", map[string]scripted.Cost{small: scripted.Linear(1e-6, 2e-9), large: scripted.Linear(5e-6, 1e-9)}, nil)
	return m
}

// recordedPair returns a file that says that large is fastest from threshold on, with the times of the processors at
// calibration.
func recordedPair(small, large string, threshold int, s *calibration.Sentinel) *calibration.File {
	file := recorded(threshold)
	rename := func(name *string) { *name = map[string]string{"a": small, "b": large}[*name] }
	h := &file.Hosts[0]
	h.Environment.Sentinel = s
	c := &h.Cases[0]
	for i := range c.Implementations {
		rename(&c.Implementations[i].Name)
	}
	for i := range c.Segments {
		rename(&c.Segments[i].Implementation)
		rename(&c.Segments[i].Next[0].Implementation)
	}
	return file
}

func kept(processors int, ratio, handOver float64) *calibration.Sentinel {
	return &calibration.Sentinel{Processors: processors, Readings: 100,
		Baseline: calibration.SentinelTimes{OneProcessorSeconds: 1e-4},
		Kept:     &calibration.SentinelTimes{OneProcessorSeconds: 1e-4, AllProcessorsRatio: ratio, HandoverSeconds: handOver}}
}

// A threshold that is eight times too high is drift, unless it concerns a parallel implementation and the machine is in
// another state.
func TestDriftInAnotherState(t *testing.T) {
	for name, c := range map[string]struct {
		large           string
		threshold       int
		then            *calibration.Sentinel
		ratio, handOver float64
		verdict         string
		code            int
		says            string // on stderr; "" if nothing
	}{
		"same state":              {"go-parallel", 32000, kept(2, 1, 48e-9), 1.05, 52e-9, "DRIFTED", command.ExitDrifted, ""},
		"slower hand-over":        {"go-parallel", 32000, kept(2, 1, 48e-9), 1, 165e-9, "AMBIGUOUS", 0, "a hand-over from processor to processor takes 16"},
		"a threshold too low":     {"go-parallel", 500, kept(2, 1, 48e-9), 1, 165e-9, "AMBIGUOUS", 0, "takes 16"},
		"faster hand-over":        {"go-parallel", 32000, kept(2, 1, 165e-9), 1, 48e-9, "AMBIGUOUS", 0, " ns now, 165"},
		"a shared core":           {"go-parallel/direct", 32000, kept(2, 1.01, 48e-9), 1.95, 48e-9, "AMBIGUOUS", 0, "all 2 processors at once take 1.9"},
		"no shared core any more": {"go-parallel", 32000, kept(2, 1.95, 48e-9), 1, 48e-9, "AMBIGUOUS", 0, "times as long as one alone now, 1.95 then"},
		"serial ones":             {"fftw", 32000, kept(2, 1, 48e-9), 1, 165e-9, "DRIFTED", command.ExitDrifted, "processor to processor takes 16"},
		"other processors":        {"go-parallel", 32000, kept(4, 1, 48e-9), 1, 48e-9, "AMBIGUOUS", 0, "2 processors take part now, 4 then"},
		"not recorded":            {"go-parallel", 32000, nil, 1, 165e-9, "DRIFTED", command.ExitDrifted, ""},
		"recorded as nothing":     {"go-parallel", 32000, kept(2, 0, 0), 1, 165e-9, "DRIFTED", command.ExitDrifted, ""},
		"not looked at":           {"go-parallel", 32000, kept(2, 1, 48e-9), 0, 0, "DRIFTED", command.ExitDrifted, ""},
		"moved, and right":        {"go-parallel", 4000, kept(2, 1, 48e-9), 1, 165e-9, "HOLDS", 0, "processor to processor takes 16"},
	} {
		t.Run(name, func(t *testing.T) {
			path := save(t, recordedPair("go", c.large, c.threshold, c.then))
			m := pair("go", c.large, c.ratio, c.handOver)
			stdout, stderr, code := verifyOn(t, m, "--calibration", path, "--seed", "1")
			if code != c.code || !strings.Contains(stdout, " "+c.verdict+" ") {
				t.Errorf("exit %d, want %d with %s\n%s%s", code, c.code, c.verdict, stdout, stderr)
			}
			wanted := 0
			if c.says != "" {
				wanted = 1
			}
			if n := strings.Count(stderr, otherState); n != wanted || !strings.Contains(stderr, c.says) {
				t.Errorf("%d lines about the state, want %d with %q:\n%s", n, wanted, c.says, stderr)
			}
			if excused := strings.Contains(stdout, "not called drift"); excused != (c.verdict == "AMBIGUOUS") {
				t.Errorf("the table excuses it: %t\n%s", excused, stdout)
			}
			if _, stderr, code := verifyOn(t, pair("go", c.large, c.ratio, c.handOver), "--calibration", path, "--seed", "1", "-q"); code != c.code ||
				strings.Contains(stderr, otherState) {
				t.Errorf("-q: exit %d\n%s", code, stderr)
			}
		})
	}
}

// The entry of a processor of another speed is a near match, so choices that do not hold are no drift of this host.
func TestProcessorOfAnotherSpeed(t *testing.T) {
	for name, c := range map[string]struct {
		threshold int
		factor    float64 // time of the sentinel's work at calibration, divided by its time now
		code      int
		near      bool
	}{
		"as fast, and off":           {32000, 1, command.ExitDrifted, false},
		"a little slower, and off":   {32000, 1.2, command.ExitDrifted, false},
		"twice as fast now":          {32000, 2, command.ExitNoEntry, true},
		"half as fast now":           {32000, 0.5, command.ExitNoEntry, true},
		"not noted":                  {32000, 0, command.ExitDrifted, false},
		"twice as fast, and it fits": {4000, 2, command.ExitOK, true},
	} {
		t.Run(name, func(t *testing.T) {
			then := kept(2, 1, 48e-9)
			then.Kept.OneProcessorSeconds = c.factor * 1e-4
			path := save(t, recordedPair("go", "fftw", c.threshold, then))
			_, stderr, code := verifyOn(t, pair("go", "fftw", 1, 48e-9), "--calibration", path, "--seed", "1")
			if near := strings.Contains(stderr, "near match: one processor alone takes "); code != c.code || near != c.near {
				t.Errorf("exit %d, want %d, near match %v, want %v:\n%s", code, c.code, near, c.near, stderr)
			}
			if c.code == command.ExitNoEntry && !strings.Contains(stderr, "near match for this host alone, which does not hold for fft/batch=1") {
				t.Errorf("the last line does not say why:\n%s", stderr)
			}
		})
	}
}

// The JSON has the sentinel's times then and now, and null if there are none.
func TestStateInJSON(t *testing.T) {
	for name, c := range map[string]struct {
		then  *calibration.Sentinel
		moved int
	}{"noted": {kept(2, 1, 48e-9), 2}, "not noted": {nil, 0}} {
		stdout, _, _ := verifyOn(t, pair("go", "go-parallel", 1.95, 165e-9), "--calibration",
			save(t, recordedPair("go", "go-parallel", 4000, c.then)), "--json")
		var r struct {
			State *struct {
				Then, Now *calibration.SentinelTimes
				Moved     []string
			} `json:"machine_state"`
		}
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.State == nil || r.State.Now == nil || r.State.Moved == nil {
			t.Fatalf("%s: %v\n%s", name, err, stdout)
		}
		if now := r.State.Now.HandoverSeconds; !(now > 160e-9 && now < 170e-9) || (r.State.Then == nil) != (c.then == nil) || len(r.State.Moved) != c.moved {
			t.Errorf("%s: %+v", name, r.State)
		}
	}
}

// The sentinel's times may be odd numbers. A difference is reported only if both are above 0, and in one line.
func TestOddFigures(t *testing.T) {
	odd := []float64{0, -1, 5e-324, 1e-9, 1, math.MaxFloat64, math.Inf(1), math.NaN()}
	for _, before := range odd {
		for _, after := range odd {
			s := harness.CompareStates(&calibration.Environment{Sentinel: kept(2, before, after)},
				&calibration.Environment{Sentinel: kept(2, after, before)})
			known := before > 0 && after > 0
			if !known && len(s.Moved) > 0 {
				t.Errorf("%v and %v: %q", before, after, s.Moved)
			}
			if strings.Contains(strings.Join(stateLines(&s), ""), "\n") {
				t.Errorf("%v and %v: %q is more than a line each", before, after, stateLines(&s))
			}
		}
	}
	var none bytes.Buffer
	if err := (&report{State: harness.CompareStates(&calibration.Environment{}, &calibration.Environment{})}).writeJSON(&none); err != nil || !strings.Contains(none.String(), `"moved": []`) {
		t.Errorf("%v\n%s", err, none.String())
	}
}
