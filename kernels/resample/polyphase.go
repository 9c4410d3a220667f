package resample

import "crossover/kernels"

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg resample
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// unit is the number of taps that a kernel takes at a time. Rows are padded to a multiple of it.
const unit = 8

// group is the number of outputs that a kernel computes side by side.
const group = 4

// polyphase is the filter of a ratio, divided into rows. Output q·up+r has row r, whose taps meet samples q·down+first[r] to
// q·down+first[r]+taps−1.
type polyphase struct {
	up, down int
	taps     int       // of a row, a multiple of unit
	rows     []float32 // up×taps; the last tap of a row is the first value of the filter that meets a sample
	first    []int

	// places has the places of period+group−1 outputs in the bytes of the samples and of the rows. Then they repeat, advance
	// bytes of samples later. period is a multiple of up, and at least group.
	places  []place
	period  int
	advance int
}

// place is where an output begins to read: the offsets in the samples and in the rows, in bytes.
type place [2]int32

func newPolyphase(p Params) *polyphase {
	p = p.reduced()
	h := Filter(p)
	half := len(h) / 2
	f := &polyphase{up: p.Up, down: p.Down, taps: (2*half/p.Up + 1 + unit - 1) / unit * unit}
	f.rows = make([]float32, f.up*f.taps)
	for r := range f.up {
		last, phase := (r*f.down+half)/f.up, (r*f.down+half)%f.up
		row := f.rows[r*f.taps : (r+1)*f.taps]
		for j := 0; phase+j*f.up < len(h); j++ {
			row[f.taps-1-j] = float32(h[phase+j*f.up])
		}
		f.first = append(f.first, last-f.taps+1)
	}
	turns := (group + f.up - 1) / f.up
	f.period, f.advance = turns*f.up, 4*turns*f.down
	for m := range f.period + group - 1 {
		q, r := m/f.up, m%f.up
		f.places = append(f.places, place{int32(4 * (q*f.down + f.first[r])), int32(4 * r * f.taps)})
	}
	return f
}

// inside returns the outputs, lo to hi−1, whose taps all meet samples of a signal of n.
func (f *polyphase) inside(n, outputs int) (lo, hi int) {
	half := 10 * max(f.up, f.down)
	lo = (max(0, (f.taps-1)*f.up-half) + f.down - 1) / f.down // the first that begins at sample 0 or later
	hi = (max(0, n*f.up-half) + f.down - 1) / f.down          // the first whose last tap meets sample n or a later one
	return min(lo, outputs), max(min(lo, outputs), min(hi, outputs))
}

// begin returns the first sample that a tap of output m meets.
func (f *polyphase) begin(m int) int { return m/f.up*f.down + f.first[m%f.up] }

// newLoop returns a loop over the outputs.
func newLoop(p Params, _ int) (kernels.Loop, error) {
	f := newPolyphase(p)
	const products = 8192 // take a microsecond
	return kernels.Loop{
		Rows:           func(s *kernels.Shape) int { return p.Outputs(s[samples]) },
		PerMicrosecond: products / float64(f.taps),
		Unit:           group,
		Do: func(_ int, _ *kernels.Shape, a *kernels.Args, lo, hi int) {
			f.resample(a[0], a[1], lo, hi)
		},
	}, nil
}

// resample computes the outputs from lo to hi−1. y holds all outputs, and x is the whole signal.
func (f *polyphase) resample(y, x []float32, lo, hi int) {
	from, to := f.inside(len(x), len(y))
	from, to = max(lo, min(from, hi)), max(lo, min(to, hi))
	for m := lo; m < from; m++ {
		y[m] = f.atEdge(x, m)
	}
	done := from
	if from < to {
		done += f.within(y[from:to], x, from)
	}
	for m := done; m < hi; m++ {
		y[m] = f.atEdge(x, m)
	}
}

// atEdge computes an output, some of whose taps may meet no sample.
func (f *polyphase) atEdge(x []float32, m int) float32 {
	row := f.rows[m%f.up*f.taps:][:f.taps]
	first := f.begin(m)
	from, to := max(0, -first), min(f.taps, len(x)-first)
	if from >= to {
		return 0
	}
	return dot(row[from:to], x[first+from:first+to])
}

// within computes outputs from m on whose taps all meet samples, and returns how many it has computed: whole groups.
func (f *polyphase) within(y, x []float32, m int) int {
	count := len(y) / group * group
	if count > 0 {
		f.groups(y[:count], x, m)
	}
	return count
}

// groupsGo computes outputs from m on whose taps all meet samples. len(y) is a multiple of group.
func (f *polyphase) groupsGo(y, x []float32, m int) {
	for i := range y {
		y[i] = dot(f.rows[(m+i)%f.up*f.taps:][:f.taps], x[f.begin(m+i):][:f.taps])
	}
}

// dot returns the sum of products of equally many values.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for len(a) >= 4 {
		s0, s1, s2, s3 = s0+a[0]*b[0], s1+a[1]*b[1], s2+a[2]*b[2], s3+a[3]*b[3]
		a, b = a[4:], b[4:]
	}
	for i, v := range a {
		s0 += v * b[i]
	}
	return (s0 + s2) + (s1 + s3)
}
