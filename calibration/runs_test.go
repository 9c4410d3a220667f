package calibration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const someDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// ofTwoRuns returns a host whose second case has a run of its own.
func ofTwoRuns() Host {
	h := m3()
	second := h.Cases[0]
	second.Name, second.Run, second.Samples = "fft/batch=2", 1, someDigest
	h.Cases = append(h.Cases[:1:1], second)
	h.Runs = []Run{{Created: time.Date(2026, 11, 9, 8, 0, 0, 5, time.UTC), Environment: h.Environment, Method: h.Method}}
	h.Runs[0].Environment.Power, h.Runs[0].Method.Seed = "battery", 8
	return h
}

func TestCasesOfTwoRuns(t *testing.T) {
	file := &File{SchemaVersion: SchemaVersion, Hosts: []Host{ofTwoRuns()}}
	text := encoded(t, file)
	if err := validateText(t, compiledSchema(t), text); err != nil {
		t.Error(err)
	}
	read, err := Read(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), string(encoded(t, read))); diff != "" {
		t.Errorf("read and written again (-first +again):\n%s", diff)
	}
	h := &read.Hosts[0]
	if first := h.RunOf(&h.Cases[0]); first.Method.Seed != h.Method.Seed || first.Environment.Power != "mains" || !first.Created.Equal(h.Created) {
		t.Errorf("the first case is from %+v", first)
	}
	second := h.For(&h.Cases[1])
	if second.ID != h.ID || second.Method.Seed != 8 || second.Environment.Power != "battery" || second.Created.Day() != 9 ||
		second.Cases != nil || second.Runs != nil {
		t.Errorf("the second case's host is %+v", second)
	}
}

func TestRunsThatAreNotThere(t *testing.T) {
	for want, change := range map[string]func(*Host){
		`case "fft/batch=1": run is 2`:  func(h *Host) { h.Cases[0].Run = 2 },
		`case "fft/batch=1": run is -1`: func(h *Host) { h.Cases[0].Run = -1 },
		"runs[0]: no case is from it":   func(h *Host) { h.Cases[1].Run = 0 },
		"runs[0]: created is missing":   func(h *Host) { h.Runs[0].Created = time.Time{} },
		"runs[0]: method: mode":         func(h *Host) { h.Runs[0].Method.Mode = "fast" },
		"runs[0]: environment: power":   func(h *Host) { h.Runs[0].Environment.Power = "coal" },
		"samples is no digest":          func(h *Host) { h.Cases[0].Samples = someDigest[:20] },
	} {
		h := ofTwoRuns()
		change(&h)
		if err := h.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
