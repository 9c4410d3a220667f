package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"crossover/cmd/internal/command"
	"crossover/songs"
	"crossover/songs/race"
)

// pipelinesOn runs the command on this machine's clock, because pipelines are real ones.
func pipelinesOn(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, log bytes.Buffer
	code = command.Exit(&log, "verify", runOn(t.Context(), command.Machine{}, &out, &log, args))
	return out.String(), log.String(), code
}

func TestPipelines(t *testing.T) {
	path := save(t, recorded(4000))
	stdout, stderr, code := pipelinesOn(t, "--calibration", path, "--pipelines=synthesiser", "--budget", "3s", "--no-progress")
	if code != command.ExitOK && code != command.ExitDrifted && code != command.ExitTooLittle {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"PIPELINE     LENGTH", "ONE SIDE", "synthesiser  1 s by 64 samples", "each stage chosen alone", " HOLDS, "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	stdout, stderr, _ = pipelinesOn(t, "--calibration", path, "--pipelines=synthesiser", "--budget", "3s", "--no-progress", "--json")
	var report pipelinesReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || len(report.Pipelines) != 5 || report.Audio != "generated" {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
}

func TestPipelinesThatCannotBeChecked(t *testing.T) {
	path := save(t, recorded(4000))
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--pipelines=song"}, command.ExitUsage, `--pipelines "song": no such pipeline`},
		{[]string{"--pipelines="}, command.ExitUsage, "--pipelines is empty"},
		{[]string{"--pipelines", "--ops", "fft"}, command.ExitUsage, "leave one of the two out"},
		{[]string{"--audio", "song.wav"}, command.ExitUsage, "--audio without --pipelines"},
		{[]string{"--pipelines", "--audio", "none.wav"}, command.ExitFailed, "--audio: "},
	} {
		if _, stderr, code := pipelinesOn(t, append(test.args, "--calibration", path)...); code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%q: exit %d: %s", test.args, code, stderr)
		}
	}
}

// TestPipelinesVerdict checks the table of a run, and what the command ends with.
func TestPipelinesVerdict(t *testing.T) {
	judged := func(regret, lower, upper float64) race.Judged {
		return race.Judged{Session: &race.Session{Graph: &songs.Graph{Name: "analysis"}, Length: "10 s"}, Followed: "all on the GPU", Visits: 4,
			Regret: regret, Lower: lower, Upper: upper, OneSide: 1.5}
	}
	holds := judged(0.004, -0.01, 0.012)
	missed := judged(math.NaN(), math.NaN(), math.NaN())
	missed.Why, missed.OneSide = race.TooShort, math.NaN()
	for name, test := range map[string]struct {
		all  []race.Judged
		code int
		want []string
	}{
		"hold": {[]race.Judged{holds, holds, holds, missed}, command.ExitOK,
			[]string{"10 s    HOLDS        0.4 %    -1.0 %    1.2 %  1.50 times  all on the GPU", "    not measured: the budget is too short",
				"3 HOLDS, 0 AMBIGUOUS, 0 DRIFTED, 1 UNMEASURED"}},
		"drifted":   {[]race.Judged{holds, judged(0.06, 0.03, 0.09)}, command.ExitDrifted, []string{"DRIFTED"}},
		"ambiguous": {[]race.Judged{judged(0.03, 0.01, 0.06)}, command.ExitOK, []string{"AMBIGUOUS"}},
		"noise":     {[]race.Judged{judged(-0.3, -0.6, 0.2)}, command.ExitOK, []string{"AMBIGUOUS"}},
		"nothing":   {[]race.Judged{missed}, command.ExitTooLittle, []string{"UNMEASURED"}},
		"little":    {[]race.Judged{holds, holds, missed}, command.ExitTooLittle, []string{"2 HOLDS", "1 UNMEASURED"}},
	} {
		r := &pipelinesReport{}
		for i := range test.all {
			r.Pipelines = append(r.Pipelines, pipelineReportOf(&test.all[i]))
		}
		var out bytes.Buffer
		if err := r.write(&out, false); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if utf8.RuneCountInString(line) > command.Columns {
				t.Errorf("%s: a line is too long: %s", name, line)
			}
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out.String())
			}
		}
		code := command.ExitOK
		var coded *command.Error
		if err := r.verdict("calibration.json"); errors.As(err, &coded) {
			code = coded.Code
		}
		if code != test.code {
			t.Errorf("%s: exit %d, want %d", name, code, test.code)
		}
		out.Reset()
		if err := r.write(&out, true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
