package beats

import (
	"fmt"
	"math"

	"crossover/kernels"
	"crossover/pool"
)

// tracker is a runner. The pool divides the sums of L among its workers; all else is one chain.
type tracker struct {
	period, nearest, trimShift int
	keepWeak                   bool
	weights                    []int64
	losses                     []int64 // of τ = 2P first, in units of the deviation
	scaled                     []int64 // the same in the units of a call
	workers                    *pool.Pool

	q, local, sums, peaks []int64
	links                 []int32
}

func newSerial(p Params) kernels.Runner { return newParallel(p, pool.New(1)) }

func newParallel(p Params, workers *pool.Pool) kernels.Runner {
	t := &tracker{period: p.period(), nearest: p.nearest(), trimShift: p.trimShift(), keepWeak: p.KeepWeak, workers: workers}
	for _, w := range p.weights() {
		t.weights = append(t.weights, int64(w))
	}
	losses := p.losses()
	for k := len(losses) - 1; k >= t.nearest; k-- {
		t.losses = append(t.losses, int64(losses[k]))
	}
	t.scaled = make([]int64, len(t.losses))
	return t
}

// Run tracks the beats of a call.
func (t *tracker) Run(_ kernels.Shape, a *kernels.Args) error {
	to, x, found := kernels.Uint32s(a[indices]), a[strengths], 0
	if len(x) > mostFrames {
		return fmt.Errorf("beats: %d frames (want at most %d): %w", len(x), mostFrames, kernels.ErrRefused)
	}
	t.room(len(x))
	if t.quantise(x) {
		const aboutAMicrosecond = 64 // frames
		t.workers.Run(len(x), t.workers.Grain(len(x), aboutAMicrosecond, 1), t)
		t.connect()
		found = t.choose(to)
	}
	kernels.Uint32s(a[count])[0] = uint32(found)
	for i := range to[found:] {
		to[found+i] = none
	}
	return nil
}

func (t *tracker) room(n int) {
	if cap(t.q) < n {
		t.q, t.local, t.sums, t.peaks = make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
		t.links = make([]int32, n)
	}
	t.q, t.local, t.sums, t.links = t.q[:n], t.local[:n], t.sums[:n], t.links[:n]
}

// quantise makes strengths integers and losses what they are for their deviation. It returns false if there are no beats.
func (t *tracker) quantise(x []float32) bool {
	const magnitude, infinite, point = 0x7fffffff, 0x7f800000, 23
	var most uint32
	for _, v := range x {
		most = max(most, math.Float32bits(v)&magnitude)
	}
	if most < 1<<point || most >= infinite {
		return false
	}
	top := most >> point
	var mean, spread int64
	for i, v := range x {
		bits := math.Float32bits(v)
		exponent, fraction := bits&magnitude>>point, bits&(1<<point-1)
		if exponent == 0 {
			exponent = 1
		} else {
			fraction |= 1 << point
		}
		q := int64(fraction >> (top - exponent + (point + 1 - strengthBits)))
		if bits>>31 != 0 {
			q = -q
		}
		t.q[i] = q
		mean += q
	}
	mean /= int64(len(x))
	for _, q := range t.q {
		spread += (q - mean) * (q - mean)
	}
	if len(x) > 1 {
		spread = root(spread / int64(len(x)-1) << (2 * spreadBits))
	}
	for k, v := range t.losses {
		t.scaled[k] = v * spread >> spreadBits
	}
	return true
}

// root returns the root of v ≥ 0, rounded down. v is below 2⁶².
func root(v int64) int64 {
	r := int64(math.Sqrt(float64(v)))
	for r*r > v {
		r--
	}
	for (r+1)*(r+1) <= v {
		r++
	}
	return r
}

// Do computes L of the frames from lo to hi−1.
func (t *tracker) Do(_, lo, hi int) {
	w, q := t.weights, t.q
	for i := lo; i < hi; i++ {
		var sum int64
		if i >= len(w) && i+len(w) <= len(q) {
			sum = w[0] * q[i]
			for k := 1; k < len(w); k++ {
				sum += w[k] * (q[i-k] + q[i+k])
			}
		} else {
			for j := max(1, i-len(w)+1); j < min(len(q), i+len(w)); j++ {
				sum += w[max(i-j, j-i)] * q[j]
			}
		}
		t.local[i] = sum
	}
}

// connect computes C, and which frame each frame follows, or −1.
func (t *tracker) connect() {
	greatest := t.local[0]
	for _, v := range t.local {
		greatest = max(greatest, v)
	}
	begun := false
	for i, l := range t.local {
		lo := max(0, i-2*t.period)
		before := t.sums[lo:max(lo, i-t.nearest+1)]
		losses := t.scaled[len(t.scaled)-len(before):]
		best, at := int64(math.MinInt64), -1
		for k, v := range before {
			if score := v - losses[k]; score >= best { // of equals the nearest
				best, at = score, k
			}
		}
		link := -1
		if at >= 0 {
			l += best
			link = lo + at
		}
		t.sums[i] = l
		if begun = begun || 100*t.local[i] >= greatest; !begun {
			link = -1
		}
		t.links[i] = int32(link)
	}
}

// choose writes the beats, and returns their number.
func (t *tracker) choose(to []uint32) int {
	n := len(t.sums)
	last := t.last()
	found := 0
	for i := last; i >= 0; i = int(t.links[i]) {
		found++
	}
	k := found
	for i := last; i >= 0; i = int(t.links[i]) {
		k--
		to[k] = uint32(i)
	}

	at := func(k int) int64 {
		if k < 0 || k >= found {
			return 0
		}
		return t.local[to[k]] >> t.trimShift
	}
	var squares int64
	places := min(found+2, n)
	for k := range places {
		d := at(k-1) + 2*at(k) + at(k+1)
		squares += d * d
	}
	weak := func(i int) bool {
		if t.keepWeak {
			return t.local[i] <= 0
		}
		l := t.local[i] >> t.trimShift
		return l <= 0 || 16*l*l*int64(places) <= squares
	}
	first, end := 0, n
	for first < n && weak(first) {
		first++
	}
	for end > first && weak(end-1) {
		end--
	}
	kept := 0
	for _, i := range to[:found] {
		if int(i) >= first && int(i) < end {
			to[kept] = i
			kept++
		}
	}
	return kept
}

// last returns the last beat.
func (t *tracker) last() int {
	n, peaks := len(t.sums), t.peaks[:0]
	isPeak := func(i int) bool { return i > 0 && t.sums[i] > t.sums[i-1] && (i == n-1 || t.sums[i] >= t.sums[i+1]) }
	for i, v := range t.sums {
		if isPeak(i) {
			peaks = append(peaks, v)
		}
	}
	if len(peaks) == 0 {
		return n - 1
	}
	upper := selected(peaks, len(peaks)/2)
	lower := upper
	if len(peaks)%2 == 0 {
		lower = peaks[0]
		for _, v := range peaks[:len(peaks)/2] {
			lower = max(lower, v)
		}
	}
	for i := n - 1; i >= 0; i-- {
		if isPeak(i) && 4*t.sums[i] >= lower+upper {
			return i
		}
	}
	return n - 1
}

// selected returns value k of x in ascending order, and moves all less ones before it.
func selected(x []int64, k int) int64 {
	lo, hi := 0, len(x)-1
	for lo < hi {
		pivot := x[(lo+hi)/2]
		i, j := lo, hi
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return x[k]
		}
	}
	return x[k]
}
