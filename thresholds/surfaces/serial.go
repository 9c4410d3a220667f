package surfaces

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

// restAt returns what a solved part adds to the log-time of its costs, at some points.
func (f *Fit) restAt(points []int, scaled [][]float64, of int) []float64 {
	part, o := &f.parts[of], f.hyper.own[of]
	var rest []float64
	for _, k := range points {
		sum := 0.0
		for n, w := range part.solved {
			sum += w * f.covariance(o, scaled, k, part.points[n])
		}
		rest = append(rest, sum)
	}
	return rest
}
