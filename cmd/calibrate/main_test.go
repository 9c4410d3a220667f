package main

import (
	"image/png"
	"os"
	"testing"

	"crossover/plots"
)

// Hundreds of charts are drawn and none of them is looked at.
func TestMain(m *testing.M) {
	plots.Compression, plots.Resolution = png.BestSpeed, 24
	os.Exit(m.Run())
}
