package mel

import "math"

// segments returns the filterbank for the kernel: Bands+1 segments of six words, as Segment in mel.metal. Segment s holds
// the bins from edge s of the bands to edge s+1. Bins below the first edge are in no segment, nor are bins from the last edge
// on.
func segments(p Params) []uint32 {
	edges := p.edges()
	hz := p.SampleRate / float64(p.NFFT) // from one bin to the next
	height := func(band int) float64 {
		if band < 0 || band >= p.Bands {
			return 0
		}
		return p.peak(edges, band)
	}
	var table []uint32
	bin := int(math.Ceil(edges[0] / hz))
	for s := range p.Bands + 1 {
		low, high, first := edges[s], edges[s+1], bin
		for bin < p.bins()-1 && float64(bin)*hz < high {
			bin++
		}
		table = append(table, uint32(first), uint32(bin-first))
		perBin := hz / (high - low)
		for _, v := range [...]float64{
			float64(first) - low/hz, high/hz - float64(first), perBin * height(s), perBin * height(s-1),
		} {
			table = append(table, math.Float32bits(float32(v)))
		}
	}
	return table
}
