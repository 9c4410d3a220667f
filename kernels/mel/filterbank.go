package mel

import "math"

// Scale is a scale of pitch.
type Scale int

// The scales.
const (
	// Slaney is linear below 1 kHz, f·3/200 mel, and logarithmic above, 15 + 27·ln(f/1000)/ln 6.4 mel.
	Slaney Scale = iota
	// HTK is 2595·log10(1 + f/700) mel, as in the Hidden Markov Model Toolkit.
	HTK
)

// Norm says how high the triangles are.
type Norm int

// The norms.
const (
	// Area gives each triangle the area 1, so that a band is a density: Slaney's norm 2/(f(m+2) − f(m)).
	Area Norm = iota
	// Peak gives each triangle the height 1, librosa's norm=None.
	Peak
)

// The linear and the logarithmic part of Slaney's scale meet at 1 kHz, which is 15 mel.
const (
	melPerHz  = 3.0 / 200
	cornerHz  = 1000.0
	cornerMel = cornerHz * melPerHz
	logStep   = 27.0 // mel, for a factor of logFactor in frequency
	logFactor = 6.4
)

// HTK's scale.
const (
	htkStep   = 2595.0 // mel, for a factor of 10 in frequency far above htkCorner
	htkCorner = 700.0  // Hz
)

// mel returns the pitch of a frequency in Hz.
func (s Scale) mel(hz float64) float64 {
	switch {
	case s == HTK:
		return htkStep * math.Log10(1+hz/htkCorner)
	case hz < cornerHz:
		return hz * melPerHz
	}
	return cornerMel + logStep*math.Log(hz/cornerHz)/math.Log(logFactor)
}

// hz returns the frequency of a pitch, in Hz.
func (s Scale) hz(mel float64) float64 {
	switch {
	case s == HTK:
		return htkCorner * (math.Pow(10, mel/htkStep) - 1)
	case mel < cornerMel:
		return mel / melPerHz
	}
	return cornerHz * math.Pow(logFactor, (mel-cornerMel)/logStep)
}

// Filterbank returns the weights W, Bands×(NFFT/2+1), row-major. With the norm Area they are per Hz. A band that is narrower
// than the distance between two bins may have only zero weights. Filterbank panics if a parameter is out of its range.
func Filterbank(p Params) []float32 {
	if err := p.check(); err != nil {
		panic(err)
	}
	weights := make([]float32, p.Bands*p.bins())
	for i, w := range filterbank(p) {
		weights[i] = float32(w)
	}
	return weights
}

// maxHz returns the upper edge of the highest band.
func (p Params) maxHz() float64 {
	if p.MaxHz == 0 {
		return p.SampleRate / 2
	}
	return p.MaxHz
}

// edges returns f(0) to f(Bands+1) in Hz: band m spans f(m) to f(m+2).
func (p Params) edges() []float64 {
	edges := make([]float64, p.Bands+2)
	lowest, highest := p.Scale.mel(p.MinHz), p.Scale.mel(p.maxHz())
	for m := range edges {
		edges[m] = p.Scale.hz(lowest + (highest-lowest)*float64(m)/float64(p.Bands+1))
	}
	return edges
}

// peak returns the weight of a band at its peak.
func (p Params) peak(edges []float64, band int) float64 {
	if p.Norm == Peak {
		return 1
	}
	return 2 / (edges[band+2] - edges[band])
}

func filterbank(p Params) []float64 {
	edges := p.edges()
	bins := p.bins()
	weights := make([]float64, p.Bands*bins)
	for m := range p.Bands {
		low, middle, high := edges[m], edges[m+1], edges[m+2]
		for k := range bins {
			hz := float64(k) * p.SampleRate / float64(p.NFFT)
			rising, falling := (hz-low)/(middle-low), (high-hz)/(high-middle)
			weights[m*bins+k] = p.peak(edges, m) * max(0, min(rising, falling))
		}
	}
	return weights
}
