package stft

import "gonum.org/v1/gonum/dsp/fourier"

// Reference returns the spectrogram of samples in float64, frames×bins, row-major: the definition, frame by frame,
// with gonum's transform, which the tests hold against the plain sum and against librosa. It panics where p is out of
// its range.
func Reference(p Params, samples []float32) []complex128 {
	if err := p.check(); err != nil {
		panic(err)
	}
	window := hann(p.NFFT)
	transform := fourier.NewFFT(p.NFFT)
	frame := make([]float64, p.NFFT)
	bins, frames := p.bins(), p.frames(len(samples))
	out := make([]complex128, frames*bins)
	for f := range frames {
		for j := range frame {
			frame[j] = 0
			if i := f*p.Hop - p.NFFT/2 + j; 0 <= i && i < len(samples) {
				frame[j] = window[j] * float64(samples[i])
			}
		}
		transform.Coefficients(out[f*bins:(f+1)*bins], frame)
	}
	return out
}
