package main

import (
	"encoding/json"
	"fmt"
	"io"

	"crossover/gpu"
)

// printer writes results as a table, each line as soon as it is measured, or as one JSON document.
type printer struct {
	w      io.Writer
	json   bool
	device gpu.Facts
	all    []result
	rise   *rise
}

func newPrinter(w io.Writer, asJSON bool) *printer { return &printer{w: w, json: asJSON} }

func (p *printer) begin(device gpu.Facts) {
	p.device = device
	if p.json {
		return
	}
	fmt.Fprintf(p.w, "%s, %s\n", device.Name, device.Driver)
	fmt.Fprintln(p.w, "Medians of interleaved runs on data that lie on the device (10 % to 90 %); a ratio above 1 is ours ahead.")
	fmt.Fprintln(p.w)
	p.line("ROW", "OURS", "", "PEER", "", "RATIO", "BOUND", "ERROR", "ALLOCS")
}

func (p *printer) print(r result) {
	p.all = append(p.all, r)
	if p.json {
		return
	}
	relative := "-"
	if r.Error > 0 {
		relative = fmt.Sprintf("%.1g", r.Error)
	}
	peer, ratio := "-", "-"
	if r.Peer != (figures{}) {
		peer, ratio = r.Peer.By+" "+r.Peer.times(), fmt.Sprintf("%.2f", r.Ratio)
	}
	p.line(r.Name, r.Ours.times(), r.Ours.rate(), peer, r.Peer.rate(), ratio, r.Bound, relative, fmt.Sprintf("%g", r.Allocations))
}

// printRise prints a table of its own below the other one.
func (p *printer) printRise(r *rise) {
	p.rise = r
	if p.json {
		return
	}
	fmt.Fprintf(p.w, "\nThe same kernel again and again after a pause of %g s: how long the device computes while its clock rises.\n\n",
		r.PauseSeconds)
	fmt.Fprintf(p.w, "%6s   %-12s   %s\n", "CALL", "GPU", "SINCE THE PAUSE")
	for _, c := range r.Calls {
		span := "not known"
		if c.Span > 0 {
			span = inUnit(c.Span)
		}
		fmt.Fprintf(p.w, "%6d   %-12s   %s\n", c.Call, span, inUnit(c.Wall))
	}
}

// inUnit writes seconds: "70.2 µs".
func inUnit(seconds float64) string {
	unit, scale := unitOf(seconds)
	return fmt.Sprintf("%.4g %s", seconds*scale, unit)
}

// unitOf returns the unit in which seconds are printed, and how many of it a second has.
func unitOf(seconds float64) (unit string, scale float64) {
	if seconds >= 1e-3 {
		return "ms", 1e3
	}
	return "µs", 1e6
}

// line writes one line of the table. The columns have fixed widths, so that a line can be printed before the next one is
// measured.
func (p *printer) line(name, ours, oursRate, peer, peerRate, ratio, bound, relative, allocations string) {
	fmt.Fprintf(p.w, "%-42s %-24s %12s   %-40s %12s   %5s   %-10s   %7s   %6s\n", name, ours, oursRate, peer, peerRate, ratio, bound,
		relative, allocations)
}

func (p *printer) end() error {
	if !p.json {
		return nil
	}
	encoder := json.NewEncoder(p.w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		Device string   `json:"device"`
		Driver string   `json:"driver"`
		Rows   []result `json:"rows"`
		Rise   *rise    `json:"rise,omitempty"`
	}{p.device.Name, p.device.Driver, p.all, p.rise})
}

// times writes the median and the spread: "70.2 µs (69.9–71.0)".
func (f figures) times() string {
	unit, scale := unitOf(f.Median)
	return fmt.Sprintf("%.4g %s (%.4g–%.4g)", f.Median*scale, unit, f.Low*scale, f.High*scale)
}

func (f figures) rate() string {
	if f.Unit == "" {
		return ""
	}
	return fmt.Sprintf("%.4g %s", f.Rate, f.Unit)
}
