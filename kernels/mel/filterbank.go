package mel

import "math"

// The linear and the logarithmic part of Slaney's scale meet at 1 kHz, which is 15 mel.
const (
	melPerHz   = 3.0 / 200
	cornerHz   = 1000.0
	cornerMel  = cornerHz * melPerHz
	logStep    = 27.0 // mel, for a factor of logFactor in frequency
	logFactor  = 6.4
	normFactor = 2
)

func hzToMel(hz float64) float64 {
	if hz < cornerHz {
		return hz * melPerHz
	}
	return cornerMel + logStep*math.Log(hz/cornerHz)/math.Log(logFactor)
}

func melToHz(mel float64) float64 {
	if mel < cornerMel {
		return mel / melPerHz
	}
	return cornerHz * math.Pow(logFactor, (mel-cornerMel)/logStep)
}

// Filterbank returns the weights W, bands×(nFFT/2+1), row-major, with Slaney's scale and norm, from 0 Hz to half the sample
// rate. sampleRate is in Hz, and weights are per Hz. A band that is narrower than the distance between two bins may have
// only zero weights. Filterbank panics if sampleRate is not finite and above 0, if nFFT is not an even number from 2 on, or
// if bands is below 1.
func Filterbank(sampleRate float64, nFFT, bands int) []float32 {
	p := Params{SampleRate: sampleRate, NFFT: nFFT, Bands: bands}
	if err := p.check(); err != nil {
		panic(err)
	}
	weights := make([]float32, bands*p.bins())
	for i, w := range filterbank(p) {
		weights[i] = float32(w)
	}
	return weights
}

// bandEdges returns f(0) to f(Bands+1) in Hz: band m spans f(m) to f(m+2).
func bandEdges(p Params) []float64 {
	edges := make([]float64, p.Bands+2)
	highest := hzToMel(p.SampleRate / 2)
	for m := range edges {
		edges[m] = melToHz(highest * float64(m) / float64(p.Bands+1))
	}
	return edges
}

// peak returns the weight of a band at its peak.
func peak(edges []float64, band int) float64 { return normFactor / (edges[band+2] - edges[band]) }

func filterbank(p Params) []float64 {
	edges := bandEdges(p)
	bins := p.bins()
	weights := make([]float64, p.Bands*bins)
	for m := range p.Bands {
		low, middle, high := edges[m], edges[m+1], edges[m+2]
		for k := range bins {
			hz := float64(k) * p.SampleRate / float64(p.NFFT)
			rising, falling := (hz-low)/(middle-low), (high-hz)/(high-middle)
			weights[m*bins+k] = peak(edges, m) * max(0, min(rising, falling))
		}
	}
	return weights
}
