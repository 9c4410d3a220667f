package stft

import (
	"fmt"
	"math"
)

// Window is the shape of the weights of a frame. All windows are periodic, as for spectral analysis: the weights of n samples
// are the first n of a symmetric window of n+1.
//
// Source: F. J. Harris, On the use of windows for harmonic analysis with the discrete Fourier transform, Proceedings of the
// IEEE 66 (1978), 51–83; the coefficients are those of scipy.signal.get_window.
type Window int

// The windows.
const (
	Hann        Window = iota // ½ − ½·cos θ, θ = 2πj/n
	Hamming                   // 0.54 − 0.46·cos θ
	Blackman                  // 0.42 − 0.5·cos θ + 0.08·cos 2θ
	Rectangular               // 1
)

// cosines are the coefficients c of a window w = c[0] − c[1]·cos θ + c[2]·cos 2θ.
var cosines = [...][3]float64{
	Hann:        {0.5, 0.5, 0},
	Hamming:     {0.54, 0.46, 0},
	Blackman:    {0.42, 0.5, 0.08},
	Rectangular: {1, 0, 0},
}

var windowNames = [...]string{Hann: "hann", Hamming: "hamming", Blackman: "blackman", Rectangular: "rectangular"}

// String returns the name of the window, such as "hann".
func (w Window) String() string {
	if w < 0 || int(w) >= len(windowNames) {
		return fmt.Sprintf("Window(%d)", int(w))
	}
	return windowNames[w]
}

// Weights returns the window of n samples. No weight is negative. Weights panics if w is none of the windows.
func (w Window) Weights(n int) []float64 {
	if w < 0 || int(w) >= len(cosines) {
		panic(fmt.Sprintf("stft: no weights of %v: want Hann, Hamming, Blackman or Rectangular", w))
	}
	c := cosines[w]
	weights := make([]float64, n)
	for j := range weights {
		theta := 2 * math.Pi * float64(j) / float64(n)
		weights[j] = max(0, c[0]-c[1]*math.Cos(theta)+c[2]*math.Cos(2*theta))
	}
	return weights
}

// Padding says what a signal is before its first sample and after its last one, for frames that reach beyond it.
type Padding int

// The paddings.
const (
	Zero    Padding = iota // zero, librosa's "constant"
	Reflect                // the signal backwards, without its first or last sample; again and again if it is short
)

// String returns the name of the padding, such as "reflect".
func (p Padding) String() string {
	switch p {
	case Zero:
		return "zero"
	case Reflect:
		return "reflect"
	}
	return fmt.Sprintf("Padding(%d)", int(p))
}

// reflected returns the index of the sample that a signal of n samples, reflected at its ends, has at i. n is at least 1.
func reflected(i, n int) int {
	period := max(1, 2*(n-1))
	if i = max(i, -i) % period; i >= n {
		i = period - i
	}
	return i
}

// Params describe a short-time Fourier transform. The zero values of all but the two lengths are librosa's defaults.
type Params struct {
	NFFT int // samples of the window and of the transform: even, 2 to 16 Mi
	Hop  int // samples from one frame to the next: at least 1

	Window  Window
	Padding Padding // of frames that reach beyond the signal. There are none if Uncentred is set

	// Uncentred says that frame f begins at sample f·Hop, and that all frames end within the signal. Otherwise frame f is
	// centred at sample f·Hop.
	Uncentred bool
}

// mostNFFT is the greatest NFFT. The window and the transform of so many samples take some hundred MiB.
const mostNFFT = 1 << 24

func (p Params) check() error {
	if p.NFFT < 2 || p.NFFT > mostNFFT || p.NFFT%2 != 0 {
		return fmt.Errorf("stft: NFFT is %d: want an even number, 2 to %d", p.NFFT, mostNFFT)
	}
	if p.Hop < 1 {
		return fmt.Errorf("stft: Hop is %d: want at least 1", p.Hop)
	}
	if p.Window < 0 || int(p.Window) >= len(cosines) {
		return fmt.Errorf("stft: Window is %d: want Hann, Hamming, Blackman or Rectangular", int(p.Window))
	}
	if p.Padding != Zero && p.Padding != Reflect {
		return fmt.Errorf("stft: Padding is %d: want Zero or Reflect", int(p.Padding))
	}
	return nil
}

// bins returns the number of bins of a frame.
func (p Params) bins() int { return p.NFFT/2 + 1 }

// frames returns the number of frames of a spectrogram, and math.MaxInt if there are more.
func (p Params) frames(samples int) int {
	samples = max(0, samples)
	switch {
	case !p.Uncentred:
		return 1 + min(samples/p.Hop, math.MaxInt-1)
	case samples < p.NFFT:
		return 0
	}
	return 1 + (samples-p.NFFT)/p.Hop
}

// lead returns how many samples before the signal's first one frame 0 begins.
func (p Params) lead() int {
	if p.Uncentred {
		return 0
	}
	return p.NFFT / 2
}

// floatWeights are the weights of the window in float32, each times a factor.
func (p Params) floatWeights(factor float64) []float32 {
	window := make([]float32, p.NFFT)
	for j, w := range p.Window.Weights(p.NFFT) {
		window[j] = float32(factor * w)
	}
	return window
}
