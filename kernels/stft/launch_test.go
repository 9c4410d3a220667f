package stft

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels"
)

// launchCases are the parameters of the fused kernel and of the one that writes frames out, with signals shorter than a
// window, of an odd hop, of a hop longer than a window, and such that a threadgroup has frames left over.
var launchCases = []struct {
	params  Params
	samples []int
}{
	{Params{NFFT: 2048, Hop: 512}, []int{1, 5000}},
	{Params{NFFT: 512, Hop: 128}, []int{0, 1, 127, 128, 1537}},
	{Params{NFFT: 64, Hop: 7}, []int{1, 300}},
	{Params{NFFT: 64, Hop: 100}, []int{1009}},
	{Params{NFFT: 60, Hop: 7}, []int{0, 1, 101}},
	{Params{NFFT: 2, Hop: 1}, []int{5}},
	{Params{NFFT: 600, Hop: 300}, []int{1000}},
}

func TestLaunchAgainstReference(t *testing.T) {
	d := emulator.Open(t)
	for _, c := range launchCases {
		e, err := newLaunch(d, c.params)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range c.samples {
			t.Run(fmt.Sprintf("%v/%d", c.params, n), func(t *testing.T) {
				problem := newProblem(c.params, n, generated())
				want := problem.Reference()
				call, err := e.(*launch).bind(problem.x)
				if err != nil {
					t.Fatal(err)
				}
				defer call.Release()
				dst := make([]complex64, c.params.frames(n)*c.params.bins())
				for range 2 { // the second call meets what the first one left behind
					if err := call.Run(); err != nil {
						t.Fatal(err)
					}
					if err := e.transform(dst, problem.x); err != nil {
						t.Fatal(err)
					}
				}
				for name, got := range map[string][]float32{"bound": call.Output(), "engine": floats(dst)} {
					if e := kernels.RelativeError(got, want); e > 1e-6 {
						t.Errorf("%s: relative error %.2g", name, e)
					}
				}
			})
		}
	}
}

// TestLaunchAgainstLibrosa holds the fused kernel against librosa.stft.
func TestLaunchAgainstLibrosa(t *testing.T) {
	d := emulator.Open(t)
	signal := readArray[float32](t, "signal")
	p := Params{NFFT: 2048, Hop: 512}
	kept := (p.frames(len(signal)) + 7) / 8
	want := readArray[complex64](t, "stft_2048_512")
	// The emulator takes milliseconds a frame: frames 0 and 8 and what they reach of the signal will do.
	const frames = 9
	e, err := newLaunch(d, p)
	if err != nil {
		t.Fatal(err)
	}
	x := signal[:(frames-1)*p.Hop+p.NFFT/2]
	got := make([]complex64, p.frames(len(x))*p.bins())
	if err := e.transform(got, x); err != nil {
		t.Fatal(err)
	}
	for column, frame := range []int{0, 8} {
		var librosa []float64
		for b := range p.bins() {
			librosa = append(librosa, float64(real(want[b*kept+column])), float64(imag(want[b*kept+column])))
		}
		if e := kernels.RelativeError(floats(got[frame*p.bins():][:p.bins()]), librosa); e > tolerance {
			t.Errorf("frame %d: relative error %.2g", frame, e)
		}
	}
}

func TestLaunchRefuses(t *testing.T) {
	d := emulator.Open(t)
	e, err := newLaunch(d, Params{NFFT: 64, Hop: math.MaxInt})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.transform(make([]complex64, 33), make([]float32, 5)); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("a hop of MaxInt: %v", err)
	}
}

func TestWarmLaunchDoesNotAllocate(t *testing.T) {
	d := emulator.Open(t)
	e, err := newLaunch(d, Params{NFFT: 64, Hop: 32})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 100)
	dst := make([]complex64, 4*33)
	if err := e.transform(dst, x); err != nil {
		t.Fatal(err)
	}
	if allocs := testing.AllocsPerRun(5, func() { _ = e.transform(dst, x) }); allocs != 0 && !emulator.Racing() {
		t.Errorf("%v allocations a call", allocs)
	}
}
