package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/cmd/internal/command"
	"crossover/host"
)

// Verify warns of conditions that make its own times doubtful, and of conditions that differ from those of the file.
func TestConditions(t *testing.T) {
	const midway = 50 * time.Millisecond
	usual := host.Condition{Power: "mains", PowerMode: "normal", Priority: "normal", Thermal: "nominal", Load: 0.1}
	lowPower, behind := usual, usual
	lowPower.PowerMode, behind.Priority = "low", "background"
	for name, c := range map[string]struct {
		then          host.Condition
		before, after host.Condition
		doubt, moved  string // "" for none
	}{
		"the same":           {usual, usual, usual, "", ""},
		"low power":          {usual, lowPower, lowPower, "running in low-power mode", "power mode is low now, normal then"},
		"low power later on": {usual, usual, lowPower, "running in low-power mode", "power mode is low now, normal then"},
		"low power at first": {usual, lowPower, usual, "running in low-power mode", "power mode is low now, normal then"},
		"low power as then":  {lowPower, lowPower, lowPower, "running in low-power mode", ""},
		"background":         {usual, behind, behind, "running in the background", "priority is background now, normal then"},
		"background then":    {behind, usual, usual, "", "priority is normal now, background then"},
	} {
		t.Run(name, func(t *testing.T) {
			file := recorded(4000)
			file.Hosts[0].Environment = command.Environment(c.then)
			m := truth(1).Command()
			m.Observe = func() host.Condition {
				if m.Clock.Now() < midway {
					return c.before
				}
				return c.after
			}
			args := []string{"--calibration", save(t, file), "--seed", "1", "--json"}
			var out, log bytes.Buffer
			if err := runOn(t.Context(), m, &out, &log, args); err != nil {
				t.Fatal(err)
			}
			var lines []string
			for line := range strings.Lines(log.String()) {
				if strings.HasPrefix(line, "verify: warning: ") {
					lines = append(lines, line)
				}
			}
			want := 0
			for _, says := range []string{c.doubt, c.moved} {
				if says == "" {
					continue
				}
				want++
				if !strings.Contains(log.String(), says) {
					t.Errorf("no line says %q:\n%s", says, log.String())
				}
			}
			if len(lines) != want {
				t.Errorf("%d warnings, want %d:\n%s", len(lines), want, log.String())
			}
			var r report
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			if r.State.Conditions == nil || slices.Contains(r.State.Conditions, c.moved) != (c.moved != "") {
				t.Errorf("the JSON has %q", r.State.Conditions)
			}
			log.Reset()
			if err := runOn(t.Context(), m, &out, &log, append(args, "-q")); err != nil || log.Len() > 0 {
				t.Errorf("-q: %v, %s", err, log.String())
			}
		})
	}
}
