package surfaces

import "crossover/calibration/surface"

// A library on all cores has most of the peculiarities that it has on one core, such as slow lengths. So the process of its
// implementation on all cores is that of the implementation on one core plus a process for their ratio. The sum has the form
// of any other implementation in the file.

// order returns the parts in an order in which each comes after its serial part.
func (f *Fit) order() []int {
	var first, then []int
	for i := range f.parts {
		if f.parts[i].serial < 0 {
			first = append(first, i)
		} else {
			then = append(then, i)
		}
	}
	return append(first, then...)
}

// restAt returns what a solved implementation adds to the log-time of its costs, at some points.
func (f *Fit) restAt(points []int, scaled [][]float64, of *surface.Implementation) []float64 {
	var rest []float64
	for _, k := range points {
		sum := of.Linear[0]
		for d, z := range f.x[k] {
			sum += of.Linear[1+d] * z
		}
		for n, w := range of.Weights {
			if w != 0 {
				sum += w * surface.Kernel(scaled[k], scaled[n])
			}
		}
		rest = append(rest, sum)
	}
	return rest
}
