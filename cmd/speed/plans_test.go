package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crossover/cmd/internal/command"
	"crossover/cmd/internal/plans"
	"crossover/cmd/internal/scripted"
	"crossover/host"
)

// planned is a machine with one case. At the largest sizes its program takes factor times as long as a sweep records.
func planned(factor float64) command.Machine {
	m := scripted.New(1, 0.02)
	m.AddPlanned("scale", map[string]scripted.Cost{"go": scripted.Linear(1e-4, 1e-9)}, scripted.Linear(0, (factor-1)*1e-9))
	return m.Command()
}

func TestComparePlans(t *testing.T) {
	for name, test := range map[string]struct {
		factor float64
		budget time.Duration
		want   string // part of the error
	}{
		"the same":    {1, 20 * time.Second, ""},
		"a copy":      {1.5, 20 * time.Second, "1 of 3 comparisons outside 0.85 to 1.15"},
		"hardly time": {1, 30 * time.Millisecond, "timings say is open"},
	} {
		var out bytes.Buffer
		err := comparePlans(t.Context(), planned(test.factor), &options{runs: 40, budget: test.budget}, &out, &out)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if marked := strings.Contains(out.String(), "<- outside"); marked != (name == "a copy") {
			t.Errorf("%s:\n%s", name, out.String())
		}
		if apart := strings.Contains(out.String(), "Undecided:") || strings.Contains(out.String(), "Unmeasured:"); apart != (name == "hardly time") {
			t.Errorf("%s:\n%s", name, out.String())
		}
	}
}

func TestComparePlansAsJSON(t *testing.T) {
	var out bytes.Buffer
	if err := comparePlans(t.Context(), planned(1), &options{runs: 40, budget: 20 * time.Second, json: true}, &out, &out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		plans.Summary
		Plans []plans.Row
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Finding != plans.Inside || len(got.Plans) != 3 || got.Plans[0].Low == 0 || got.Plans[0].Visits < plans.LeastVisits {
		t.Errorf("%+v", got)
	}
}

// A run goes on from the report of an earlier one of this machine, and refuses other files.
func TestComparePlansGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plans.json")
	compare := func(budget time.Duration) (string, error) {
		var out bytes.Buffer
		o := &options{runs: 40, budget: budget, json: true, earlier: file}
		if _, err := os.Stat(file); err != nil {
			o.earlier = ""
		}
		err := comparePlans(t.Context(), planned(1), o, &out, io.Discard)
		return out.String(), err
	}
	whole, err := compare(20 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(whole), 0o644); err != nil {
		t.Fatal(err)
	}
	if again, err := compare(time.Nanosecond); err != nil || again != whole {
		t.Errorf("%v\n%s\nwant\n%s", err, again, whole)
	}
	for text, want := range map[string]string{
		strings.Replace(whole, host.Identify().ID(), "another", 1):                  "it was measured on another, and this is ",
		strings.Replace(whole, `"tool_commit": "`, `"tool_commit": "of another`, 1): "it was measured by version \"of another",
		"{}":      "want what speed --plans --json printed",
		"no JSON": "want what speed --plans --json printed",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := compare(20 * time.Second); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestComparePlansOfNoCase(t *testing.T) {
	err := comparePlans(t.Context(), planned(1), &options{rows: "fft"}, nil, nil)
	if command.Exit(&bytes.Buffer{}, "speed", err) != command.ExitUsage {
		t.Errorf("%v", err)
	}
}
