package dispatch

import (
	"cmp"
	"slices"
	"strings"

	"crossover/calibration"
)

// nearestNames returns up to three names of cases that may have been meant by a name: those of the same operation and
// those that are a few letters away, nearest first.
func nearestNames(name string, cases []calibration.Case) []string {
	type neighbour struct {
		name     string
		distance int
	}
	operation, _, _ := strings.Cut(name, "/")
	var neighbours []neighbour
	for i := range cases {
		c := &cases[i]
		distance := editDistance(name, c.Name)
		if c.Operation == operation || distance <= max(2, len(name)/3) || editDistance(operation, c.Operation) == 1 {
			neighbours = append(neighbours, neighbour{c.Name, distance})
		}
	}
	slices.SortFunc(neighbours, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, n := range neighbours[:min(3, len(neighbours))] {
		names = append(names, n.name)
	}
	return names
}

// editDistance is the least number of bytes to insert, delete or change that turns a into b.
// Source: Wagner and Fischer, The String-to-String Correction Problem, J. ACM 21(1), 1974.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
