package surfaces

import "crossover/calibration/surface"

// A library on all cores has most of the peculiarities that it has on one core, such as slow lengths. So the process of its
// implementation on all cores is that of the implementation on one core plus a process for their ratio. The sum has the form
// of any other implementation in the file.

// inOrder returns the parts that have no serial part, and then those that have one, which is solved before them.
func (f *Fit) inOrder() [2][]int {
	var first, then []int
	for i := range f.parts {
		if f.parts[i].serial < 0 {
			first = append(first, i)
		} else {
			then = append(then, i)
		}
	}
	return [2][]int{first, then}
}

// restAt returns what a solved part adds to the log-time of its costs, at some points.
func (f *Fit) restAt(points []int, of int) []float64 {
	part, variance := &f.parts[of], f.hyper.own[of].variance()
	var rest []float64
	for _, k := range points {
		sum := 0.0
		for n, w := range part.solved {
			at := part.points[n]
			v := f.linear(f.x[k], f.x[at]) + variance*surface.Kernel(f.at[k], f.at[at])
			if f.of[k] == f.of[at] && f.of[k] > 0 {
				v += relativeDeviation * relativeDeviation
			}
			sum += w * v
		}
		rest = append(rest, sum)
	}
	return rest
}
