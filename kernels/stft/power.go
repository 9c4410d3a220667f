package stft

import "crossover/kernels"

// powerHop is the number of samples from one frame to the next in what FillPower computes: librosa's default.
const powerHop = 512

// PowerFrames returns the number of frames after which [FillPower] repeats a recording.
func PowerFrames(in kernels.Input) int { return Params{NFFT: 2, Hop: powerHop}.frames(len(in.Samples)) }

// FillPower fills dst with the power spectrogram of a recording from its beginning, and repeats it until there are enough
// frames. Operations on power spectrograms are measured with it. dst is a number of frames of nFFT/2+1 bins.
func FillPower(nFFT int, in kernels.Input, dst []float32) {
	p := Params{NFFT: nFFT, Hop: powerHop}
	samples := in.Samples[:min(len(in.Samples), (len(dst)/p.bins()-1)*powerHop+nFFT/2)]
	spectrum := Reference(p, samples)
	powers := make([]float32, len(spectrum))
	for i, v := range spectrum {
		powers[i] = float32(real(v)*real(v) + imag(v)*imag(v))
	}
	kernels.Input{Samples: powers}.Fill(dst)
}
