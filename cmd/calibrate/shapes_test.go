package main

import (
	"strings"
	"testing"

	"crossover/calibration"
	"crossover/calibration/surface"
)

// TestShapesTable checks that the table counts held-out shapes, of which one or two look like many as a share.
func TestShapesTable(t *testing.T) {
	axes := []string{"rows", "columns"}
	fitted := surface.Surface{Axes: axes, Shapes: make([]int, 2*9), Implementations: []surface.Implementation{{Name: "go"}}}
	entry := &calibration.Host{Operations: []calibration.Operation{
		{Name: "softmax", Placement: "caller", Axes: make([]calibration.Axis, 2), Surface: fitted, HeldOut: calibration.HeldOut{
			Shapes: 7, Regret: 0.01, RegretUpper: 0.02, Within: 6. / 7, Worst: 0.125, WorstShape: []int{33, 400},
		}},
		{Name: "rms-norm", Placement: "shared", Axes: make([]calibration.Axis, 2), Surface: fitted},
		{Name: "top-k", Placement: "caller", Axes: make([]calibration.Axis, 2), Surface: surface.Surface{Axes: axes}},
	}}
	var out strings.Builder
	shapesTable(&out, entry)
	for _, want := range []string{
		"OPERATION, ALL SHAPES  FITTED  REGRET  AT MOST  WITHIN 5 %   WORST  AT\n",
		"softmax                     9   1.0 %    2.0 %      6 of 7  12.5 %  rows=33,columns=400\n",
		"rms-norm/shared             9       ?        ?      0 of 0       ?\n",
		"top-k                       0\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
