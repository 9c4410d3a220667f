package plots

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crossover/calibration"
)

// overviewName is the name of the overview's file, without extension, and begins those of its pages. No case gets one of them.
const overviewName = "overview"

// Write draws the cases of a host, the overview, and the maps of the operations that have one. It writes them into dir, and
// makes dir if need be. runs has, by names of cases, what CaseChart takes. Cases that differ only in their placement share a
// chart, and so do operations. If the overview does not fit on a page, it has pages for each group of operations, and group
// returns the name of an operation's group. Write returns the paths of the images: the cases in their order, the overview, and
// the maps.
// An existing image is replaced in one step. Nothing else in dir changes. If ctx is cancelled, Write returns ctx's error at
// once, and the image that it was drawing stays as it was. In that case h and runs may be read for some time after Write
// returned.
func Write(ctx context.Context, dir string, h *calibration.Host, runs map[string][]Run, group func(operation string) string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("plots: %w", err)
	}
	var charts []func() *Chart
	for _, line := range linesOf(h.Cases) {
		charts = append(charts, func() *Chart {
			var others []Placed
			for _, i := range line[1:] {
				c := &h.Cases[i]
				others = append(others, Placed{c, runs[c.Name]})
			}
			c := &h.Cases[line[0]]
			return CaseChart(h, c, runs[c.Name], others...)
		})
	}
	for _, p := range pages(h, group) {
		charts = append(charts, func() *Chart { return overview(h, p, runs) })
	}
	for _, placed := range mapped(h) {
		charts = append(charts, func() *Chart { return Map(h, placed[0], placed[1:]...) })
	}
	var paths []string
	for i, name := range FileNames(h, group) {
		path := filepath.Join(dir, name)
		if err := Save(ctx, path, charts[i]); err != nil {
			return paths, fmt.Errorf("plots: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// mapped returns the operations of a host that have a map, in their order. Those that differ only in their placement are
// together, and ordinary slices come first.
func mapped(h *calibration.Host) [][]*calibration.Operation {
	var all [][]*calibration.Operation
	at := map[string]int{}
	for i := range h.Operations {
		o := &h.Operations[i]
		if !drawable(o) {
			continue
		}
		if k, have := at[o.Name]; have {
			all[k] = append(all[k], o)
			slices.SortStableFunc(all[k], func(a, b *calibration.Operation) int {
				return slices.Index(placements, a.Placement) - slices.Index(placements, b.Placement)
			})
			continue
		}
		at[o.Name] = len(all)
		all = append(all, []*calibration.Operation{o})
	}
	return all
}

// FileNames returns the names of the images that Write draws for a host, in the same order.
func FileNames(h *calibration.Host, group func(operation string) string) []string {
	var cases, overviews, maps []string
	for _, line := range linesOf(h.Cases) {
		cases = append(cases, h.Cases[line[0]].Name)
	}
	for _, placed := range mapped(h) {
		maps = append(maps, "map_"+placedName(placed[0]))
	}
	taken := map[string]bool{}
	for _, p := range pages(h, group) {
		overviews = append(overviews, p.name)
	}
	overviews = fileNames(overviews, taken)
	taken[overviewName] = true
	names := append(fileNames(cases, taken), overviews...)
	names = append(names, fileNames(maps, taken)...)
	for i := range names {
		names[i] += ".png"
	}
	return names
}

// fileNames returns a file name for each name, without extension, and adds it to taken. The file name is the name itself
// with unsafe characters replaced. If it is taken, it ends with a number.
func fileNames(of []string, taken map[string]bool) []string {
	names := make([]string, len(of))
	for i := range of {
		name := safeName(of[i])
		unique := name
		for n := 2; taken[strings.ToLower(unique)]; n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		taken[strings.ToLower(unique)] = true // some file systems do not distinguish capitals
		names[i] = unique
	}
	return names
}

// safeName replaces characters that some file systems do not allow, and those that a shell or a URL would have to escape.
func safeName(name string) string {
	const longest = 100
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("=,.-+_", r):
			return r
		}
		return '_'
	}, name)
	safe = strings.TrimLeft(safe, ".-")
	if safe == "" {
		return "_"
	}
	return safe[:min(len(safe), longest)]
}

// Save draws a chart and writes it to path through a temporary file, so that an interrupted Save leaves the old image. If
// ctx is cancelled while the chart is drawn, Save returns. The drawing goes on in the background and is dropped.
func Save(ctx context.Context, path string, draw func() *Chart) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var image bytes.Buffer
	drawn := make(chan error, 1)
	go func() {
		_, err := draw().WriteTo(&image)
		drawn <- err
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-drawn:
		if err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".plot-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = image.WriteTo(f)
	if err = cmp.Or(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
