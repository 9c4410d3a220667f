package mel

// Reference returns the mel spectrogram, frames×p.Bands, of a power spectrogram, frames×(p.NFFT/2+1), both row-major,
// in float64: the sum of the definition, without the products whose weight is zero. It panics where p is out of its
// range.
func Reference(p Params, power []float32) []float64 {
	if err := p.check(); err != nil {
		panic(err)
	}
	bins := p.bins()
	weights := filterbank(p)
	out := make([]float64, len(power)/bins*p.Bands)
	for m := range p.Bands {
		for k, w := range weights[m*bins : (m+1)*bins] {
			if w == 0 {
				continue
			}
			for f := range len(power) / bins {
				out[f*p.Bands+m] += w * float64(power[f*bins+k])
			}
		}
	}
	return out
}
