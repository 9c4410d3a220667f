package plots

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"crossover/calibration"
)

// manyLines returns a host with so many lines of each operation, in every placement. An operation's group is its first letter.
func manyLines(lines map[string]int) (h *calibration.Host, group func(string) string) {
	c := twoThresholds
	one, _ := testHost(c)
	h = new(*one)
	h.Cases = nil
	for _, operation := range slices.Sorted(maps.Keys(lines)) {
		for n := range lines[operation] {
			for _, placement := range []string{"", ",shared", ",resident"} {
				of := one.Cases[0]
				of.Operation, of.Name = operation, fmt.Sprintf("%s/n=%d%s", operation, n, placement)
				h.Cases = append(h.Cases, of)
			}
		}
	}
	return h, func(operation string) string { return strings.TrimLeft(operation[:1], "-") }
}

// Each case is on one page, beside its other placements, and every page fits on a screen.
func TestPages(t *testing.T) {
	for name, c := range map[string]struct {
		lines map[string]int
		want  []string
	}{
		"nothing":          {nil, nil},
		"all fit":          {map[string]int{"A1": 5, "B1": 5}, []string{"overview"}},
		"groups":           {map[string]int{"A1": 5, "B1": 5, "A2": 3}, []string{"overview_a", "overview_b"}},
		"no group":         {map[string]int{"A1": 8, "-": 5}, []string{"overview_other", "overview_a"}},
		"a group in parts": {map[string]int{"A1": 13, "A2": 12, "B": 1}, []string{"overview_a", "overview_a-2", "overview_a-3", "overview_b"}},
	} {
		h, group := manyLines(c.lines)
		on := map[string]int{}
		for n, p := range pages(h, group) {
			for _, of := range p.cases {
				line, _ := cutPlacement(of.Name)
				if at, have := on[line]; have && at != n {
					t.Errorf("%s: %s is on pages %d and %d", name, line, at, n)
				}
				on[line] = n
				on[of.Name+"!"]++
			}
			if _, height := overview(h, p, nil).Size(); height > 1600*pixel {
				t.Errorf("%s: %s is %.0f pixels tall", name, p.name, height/pixel)
			}
			if title := newOverviewFigure(h, p, nil).title; p.title != "" && !strings.HasSuffix(title, ": "+p.title) {
				t.Errorf("%s: the title of %s is %q", name, p.name, title)
			}
		}
		for _, of := range h.Cases {
			if on[of.Name+"!"] != 1 {
				t.Errorf("%s: %s is on %d pages", name, of.Name, on[of.Name+"!"])
			}
		}
		var files []string
		for _, f := range FileNames(h, group) {
			if strings.HasPrefix(f, overviewName) {
				files = append(files, strings.TrimSuffix(f, ".png"))
			}
		}
		if !slices.Equal(files, c.want) {
			t.Errorf("%s: files %v, want %v", name, files, c.want)
		}
	}
}
