package main

import (
	"encoding/json"
	"fmt"
	"io"

	"crossover/gpu"
)

// printer writes results as a table, each line when it is there, or as one JSON document.
type printer struct {
	w      io.Writer
	json   bool
	device gpu.Facts
	all    []result
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
	p.line(r.Name, r.Ours.times(), r.Ours.rate(), r.Peer.By+" "+r.Peer.times(), r.Peer.rate(), fmt.Sprintf("%.2f", r.Ratio),
		r.Bound, relative, fmt.Sprintf("%g", r.Allocations))
}

// line writes one line of the table. Its columns have fixed widths, so that a line can be printed before the next one
// is measured.
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
	}{p.device.Name, p.device.Driver, p.all})
}

// times prints the median and the spread: "70.2 µs (69.9–71.0)".
func (f figures) times() string {
	unit, scale := "µs", 1e6
	if f.Median >= 1e-3 {
		unit, scale = "ms", 1e3
	}
	return fmt.Sprintf("%.4g %s (%.4g–%.4g)", f.Median*scale, unit, f.Low*scale, f.High*scale)
}

func (f figures) rate() string {
	if f.Unit == "" {
		return ""
	}
	return fmt.Sprintf("%.4g %s", f.Rate, f.Unit)
}
