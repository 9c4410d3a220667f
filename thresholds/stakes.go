package thresholds

import "math"

// Stakes says what the choice of a segment is worth at its measured sizes.
type Stakes struct {
	// First and Last are the seconds of a call of the chosen implementation at the least and at the greatest of the sizes,
	// or 0 if it was not measured.
	First, Last float64

	// Gain is the time of the best other implementation at a size, divided by that of the chosen one. Least and Most are the
	// ends of its range, or 0 if no other implementation was measured.
	Least, Most float64
}

// Stakes returns the stakes of a segment.
func (r *Result) Stakes(segment int) Stakes {
	var out Stakes
	s, c := &r.Segments[segment], &r.Curves
	for k, size := range c.Sizes {
		if size < s.From || size > s.To {
			continue
		}
		if seconds := c.Seconds[s.Implementation][k]; seconds > 0 {
			out.Last = seconds
			if out.First == 0 {
				out.First = seconds
			}
		}
		gain := c.Gain(s.Implementation, k)
		if math.IsNaN(gain) {
			continue
		}
		if out.Most == 0 {
			out.Least, out.Most = gain, gain
		}
		out.Least, out.Most = min(out.Least, gain), max(out.Most, gain)
	}
	return out
}

// Gain returns the time of the best other implementation at a size, divided by that of the given one. It returns NaN if one
// of the two was not measured there. size is an index.
func (c *Curves) Gain(implementation, size int) float64 {
	next := math.Inf(1)
	for i := range c.Loss {
		if i != implementation && c.Seconds[i][size] > 0 {
			next = min(next, c.Loss[i][size])
		}
	}
	own := c.Loss[implementation][size]
	if math.IsInf(own, 1) || math.IsInf(next, 1) || !(c.Seconds[implementation][size] > 0) {
		return math.NaN()
	}
	return math.Exp(next - own)
}
