package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"crossover/cmd/internal/command"
	"crossover/gpu"
	"crossover/gpu/emulator"
)

// rising returns a side and its pause. Calls of the side take less and less time until the next pause.
func rising(told bool) (s *side, pause func(time.Duration), calls, paused *int) {
	calls, paused = new(int), new(int)
	s = &side{run: func() (time.Duration, error) {
		*calls++
		if !told {
			return 0, nil
		}
		return time.Second / time.Duration(*calls), nil
	}}
	pause = func(d time.Duration) {
		*paused += int(d.Seconds())
		*calls = 0
	}
	return s, pause, calls, paused
}

// Rise prints calls after the pause, and none before it.
func TestRise(t *testing.T) {
	s, pause, calls, paused := rising(true)
	r, err := riseOf(s, pause)
	if err != nil {
		t.Fatal(err)
	}
	if *calls != 1000 || *paused != 1 || r.PauseSeconds != 1 || len(r.Calls) != 4 {
		t.Fatalf("%d calls after %d s, %+v; want 1000 after 1 s, four of them told", *calls, *paused, r)
	}
	for k, want := range []riseTimes{{Call: 1, Span: 1}, {Call: 10, Span: 0.1}, {Call: 100, Span: 0.01}, {Call: 1000, Span: 0.001}} {
		if got := r.Calls[k]; got.Call != want.Call || got.Span != want.Span || k > 0 && got.Wall < r.Calls[k-1].Wall {
			t.Errorf("%+v; want %+v", got, want)
		}
	}
	broken := &side{run: func() (time.Duration, error) { return 0, errors.New("broken") }}
	if _, err := riseOf(broken, pause); err == nil || err.Error() != "broken" {
		t.Errorf("%v; want broken", err)
	}
}

// riseRow returns the row of a scripted side.
func riseRow(told bool) row {
	return row{name: riseName, rise: func(*gpu.Device) (*rise, error) {
		s, pause, _, _ := rising(told)
		return riseOf(s, pause)
	}}
}

func TestRiseIsPrinted(t *testing.T) {
	device := emulator.Open(t)
	print := func(o *options, r row) string {
		t.Helper()
		var out bytes.Buffer
		o.runs = 10
		if err := measureOn(context.Background(), device, []row{scriptedRow("good", 0), r}, o, &out, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	text := print(&options{}, riseRow(true))
	at := 0
	for _, want := range []string{"good", "pause of 1 s", "CALL", "   1   1000 ms", "  10   100 ms", " 100   10 ms", "1000   1 ms"} {
		next := strings.Index(text[at:], want)
		if next < 0 {
			t.Fatalf("no %q, in this order, in\n%s", want, text)
		}
		at += next
	}
	if text := print(&options{}, riseRow(false)); strings.Count(text, "not known") != 4 {
		t.Errorf("a device that does not tell its times:\n%s", text)
	}
	if text := print(&options{rows: "good"}, riseRow(true)); strings.Contains(text, "pause") {
		t.Errorf("nobody asked for the rise:\n%s", text)
	}
	var got struct {
		Rows []result
		Rise *rise
	}
	if err := json.Unmarshal([]byte(print(&options{json: true}, riseRow(true))), &got); err != nil {
		t.Fatal(err)
	}
	if got.Rise == nil || len(got.Rise.Calls) != 4 || got.Rise.Calls[3].Span != 0.001 || len(got.Rows) != 1 {
		t.Errorf("%+v", got)
	}
	failing := row{name: riseName, rise: func(*gpu.Device) (*rise, error) { return nil, errors.New("lost") }}
	var out, log bytes.Buffer
	err := measureOn(context.Background(), device, []row{failing}, &options{runs: 10}, &out, &log)
	if command.Exit(&out, "speed", err) != command.ExitFailed || log.String() != "speed: rise: lost\n" {
		t.Errorf("%v, %q", err, log.String())
	}
}

// If the driver has no bare launch of the system, ours is measured and printed alone.
func TestLaunchAlone(t *testing.T) {
	device := emulator.Open(t)
	if _, ok := device.Driver().(gpu.Floor); ok {
		t.Fatal("the emulator has a floor: the test shows nothing")
	}
	var out bytes.Buffer
	r := row{name: launchName, measure: func(d *gpu.Device, _ int) ([]result, error) { return measureLaunch(d, 1) }}
	if err := measureOn(context.Background(), device, []row{r}, &options{}, &out, &out); err != nil {
		t.Fatal(err)
	}
	if fields := strings.Fields(out.String()[strings.Index(out.String(), launchName):]); len(fields) < 6 || fields[4] != "-" || fields[5] != "-" {
		t.Errorf("want our times, no peer and no ratio in\n%s", out.String())
	}
	results, err := measureLaunch(device, 1)
	if err != nil || len(results) != 1 || results[0].Ours.Median <= 0 || results[0].Ratio != 0 {
		t.Fatalf("%+v, %v", results, err)
	}
	text, err := json.Marshal(results[0])
	if err != nil || strings.Contains(string(text), "peer") || strings.Contains(string(text), "ratio") {
		t.Errorf("%s, %v: there is no peer", text, err)
	}
}
