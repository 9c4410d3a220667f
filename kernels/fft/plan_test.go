package fft

import (
	"testing"

	"crossover/native/fftw"
)

// FFTW's plans are freed if a program makes plans of many lengths and drops them.
func TestDroppedPlansAreFreed(t *testing.T) {
	if err := fftw.Probe(); err != nil {
		t.Skip(err)
	}
	t.Setenv("CROSSOVER_FORCE", "fft=fftw")
	before, most := fftw.Live(), 0
	for i := range 600 {
		n := 1 + i%40
		p, err := New(nil, Params{N: n, Batch: 2})
		if err != nil {
			t.Fatal(err)
		}
		for rows := 1; rows <= 3; rows++ { // by the plan for one row, by that for two, and row by row
			if err := p.Transform(make([]complex64, rows*(n/2+1)), make([]float32, rows*n)); err != nil {
				t.Fatal(err)
			}
		}
		most = max(most, fftw.Live()-before)
	}
	if most < 2 || most > 300 {
		t.Errorf("of 1200 plans of FFTW up to %d live at a time, want more than one and at most 300", most)
	}
}
