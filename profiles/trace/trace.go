// Package trace writes the spans of calls for https://ui.perfetto.dev, in the JSON format of Chrome's tracing. It has a track each
// for the calls, the processor, the GPU and the transfers.
//
// Google, "Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, specifies the format.
package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"crossover/profiles"
)

// event is an event of the format: "X" is a slice, and "M" names a track.
type event struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"`
	Category string         `json:"cat,omitempty"`
	Start    float64        `json:"ts"`            // microseconds
	Duration *float64       `json:"dur,omitempty"` // microseconds
	Process  int            `json:"pid"`
	Track    int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

const process = 1

// tracks are the tracks in their order, by the place of their slices.
var tracks = []struct {
	place profiles.Place
	name  string
}{{"calls", "calls"}, {profiles.Processor, "processor"}, {profiles.GPU, "GPU"}, {profiles.Transfer, "transfers"}}

func trackOf(place profiles.Place) int {
	for i, t := range tracks {
		if t.place == place {
			return i + 1
		}
	}
	return 2 // a place that a later version has added: the processor
}

// Write writes calls one after the other. calls[i] are the spans of call i, which took seconds[i].
func Write(w io.Writer, title string, calls [][]profiles.Span, seconds []float64) error {
	events := []event{{Name: "process_name", Phase: "M", Process: process, Args: map[string]any{"name": title}}}
	for i, t := range tracks {
		events = append(events,
			event{Name: "thread_name", Phase: "M", Process: process, Track: i + 1, Args: map[string]any{"name": t.name}},
			event{Name: "thread_sort_index", Phase: "M", Process: process, Track: i + 1, Args: map[string]any{"sort_index": i}})
	}
	slice := func(name string, track int, begin, end float64, args map[string]any) {
		// Rounded to whole nanoseconds, so that neighbours touch and do not overlap.
		from, to := math.Round(1e9*begin), math.Round(1e9*end)
		duration := (to - from) / 1e3
		events = append(events, event{Name: name, Phase: "X", Category: tracks[track-1].name, Start: from / 1e3, Duration: &duration,
			Process: process, Track: track, Args: args})
	}
	at := 0.0
	for i, spans := range calls {
		slice(fmt.Sprintf("call %d", i+1), 1, at, at+seconds[i], nil)
		for k := range spans {
			s := &spans[k]
			args := map[string]any{"bytes": s.Work.Bytes, "operations": s.Work.Operations}
			if s.Implementation != "" {
				args["implementation"] = s.Implementation
			}
			if d := s.Device; d != nil {
				args["device"] = d
			}
			for _, p := range s.Pieces() {
				slice(p.Name, trackOf(p.Place), at+p.Begin, at+p.End, args)
			}
		}
		at += seconds[i]
	}
	return json.NewEncoder(w).Encode(map[string]any{"displayTimeUnit": "ms", "traceEvents": events})
}
