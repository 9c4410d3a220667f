package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/kernels"
)

// shapesTable prints, for each operation, how good its choices are at held-out shapes. It prints nothing if there is no
// operation, or if all have only shapes that were asked for.
func shapesTable(w io.Writer, entry *calibration.Host) {
	rows := [][]string{{"OPERATION, ALL SHAPES", "FITTED", "REGRET", "AT MOST", "WITHIN 5 %", "WORST", "AT"}}
	for k := range entry.Operations {
		o := &entry.Operations[k]
		switch {
		case len(o.Surface.Implementations) > 0:
		case len(o.Asked) > 0:
			continue // the tables of the shapes that were asked for say it all
		default:
			rows = append(rows, []string{placedName(o), "0", "", "", "", "", ""})
			continue
		}
		h := &o.HeldOut
		row := []string{placedName(o), fmt.Sprint(len(o.Surface.Shapes) / len(o.Axes)), "?", "?", "0 of 0", "?", ""}
		if h.Shapes > 0 {
			within := fmt.Sprintf("%.0f of %d", h.Within*float64(h.Shapes), h.Shapes) // a share of one shape would look like one of many
			row = append(row[:2], percent(h.Regret), percent(h.RegretUpper), within, percent(h.Worst), command.Shape(o.Surface.Axes, h.WorstShape))
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 {
		return
	}
	fmt.Fprintln(w)
	for k, line := range command.Align(rows, 1, 2, 3, 4, 5) {
		if at := rows[k][len(rows[k])-1]; utf8.RuneCountInString(line) > command.Columns {
			line = strings.TrimRight(strings.TrimSuffix(line, at), " ") + "\n" + strings.Repeat(" ", indent) + "at " + at
		}
		fmt.Fprintln(w, line)
	}
	fmt.Fprint(w, shapesLegend)
}

const shapesLegend = `
A shape that was not measured is predicted from those that were fitted.
REGRET is how much longer calls take by the predicted choices than by the best ones, at shapes that
  were held out of the fit.
AT MOST is the upper bound of the mean regret at 32 further shapes, with 95 % confidence.
FITTED is the number of fitted shapes. WITHIN 5 % says at how many of the held-out ones the choice
  takes at most 5 % longer than the best one.
`

// placedName returns the name of an operation with its placement, in the form of a case's name.
func placedName(o *calibration.Operation) string {
	return placedAs(o.Name, kernels.Placement(o.Placement))
}

// placedAs is placedName for an operation that need not be measured.
func placedAs(operation string, p kernels.Placement) string {
	if p == kernels.Caller {
		return operation
	}
	return operation + "/" + string(p)
}
