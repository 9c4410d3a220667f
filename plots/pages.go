package plots

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/vg"

	"crossover/calibration"
)

// pageLanes is the greatest height of the lanes of a page, in points. A page is then about 1 600 pixels tall, with its title,
// key and caption.
const pageLanes = 820

// page is a part of the overview that fits on a screen.
type page struct {
	name  string // of the file, without extension
	title string // of the cases: "Spectral, 1 of 2"; "" if the page has all
	cases []calibration.Case
}

// pages divides the cases of a host. If all fit on one page, its name is "overview". Otherwise each group of operations has
// pages of its own, such as "overview_spectral" and "overview_spectral-2", in the order of the groups' first cases. Cases along
// the same line of shapes stay together, and the pages of a group have about as many lines each. A host without cases has no
// page. group returns the name of an operation's group, and "" for one that has none.
func pages(h *calibration.Host, group func(operation string) string) []page {
	lines := linesOf(h.Cases)
	switch {
	case len(lines) == 0:
		return nil
	case heightOf(lines) <= pageLanes:
		return []page{{name: overviewName, cases: h.Cases}}
	}
	var groups []string
	of := map[string][][]int{}
	for _, line := range lines {
		name := group(h.Cases[line[0]].Operation)
		if name == "" {
			name = "Other"
		}
		if _, have := of[name]; !have {
			groups = append(groups, name)
		}
		of[name] = append(of[name], line)
	}
	var all []page
	for _, name := range groups {
		parts := divide(of[name])
		for k, part := range parts {
			p := page{name: overviewName + "_" + strings.ToLower(name), title: name}
			if len(parts) > 1 {
				p.title = fmt.Sprintf("%s, %d of %d", name, k+1, len(parts))
			}
			for _, line := range part {
				for _, i := range line {
					p.cases = append(p.cases, h.Cases[i])
				}
			}
			all = append(all, p)
		}
	}
	return all
}

// divide divides lines, in their order, into as few pages as possible of about the same height.
func divide(lines [][]int) [][][]int {
	parts := cut(lines, pageLanes)
	for most := vg.Length(pageLanes); most > 0; most -= lanePitch / 3 {
		lower := cut(lines, most)
		if len(lower) > len(parts) {
			break
		}
		parts = lower
	}
	return parts
}

// cut cuts lines into parts of at most a height, each with as many lines as fit and with one at least.
func cut(lines [][]int, most vg.Length) (parts [][][]int) {
	begin := 0
	for end := 1; end <= len(lines); end++ {
		if end == len(lines) || heightOf(lines[begin:end+1]) > most {
			parts = append(parts, lines[begin:end])
			begin = end
		}
	}
	return parts
}

// heightOf returns the height of the lanes of lines, in points.
func heightOf(lines [][]int) (height vg.Length) {
	for _, line := range lines {
		height += lanePitch + vg.Length(len(line)-1)*placedLane
	}
	return height
}
