package main

import (
	"image/png"
	"os"
	"testing"

	"crossover/plots"
)

// Hundreds of charts are drawn and none of them is looked at.
func TestMain(m *testing.M) {
	plots.Compression = png.BestSpeed
	os.Exit(m.Run())
}
