package beats

import (
	"math"
	"math/big"
	"slices"
)

// Reference returns the beats in onset strengths, by the definition in integers. It panics if p is out of its range.
func Reference(p Params, onsets []float32) (beats []int) {
	if err := p.check(); err != nil {
		panic(err)
	}
	n, period := len(onsets), p.period()
	most := 0.0
	for _, v := range onsets {
		most = math.Max(most, math.Abs(float64(v)))
	}
	if !(most >= least) || math.IsInf(most, 0) {
		return nil
	}
	_, exponent := math.Frexp(most)
	q, mean, spread := make([]int64, n), int64(0), int64(0)
	for i, v := range onsets {
		q[i] = int64(math.Trunc(math.Ldexp(float64(v), strengthBits-exponent)))
		mean += q[i]
	}
	mean /= int64(n)
	for _, v := range q {
		spread += (v - mean) * (v - mean)
	}
	if n > 1 {
		spread = new(big.Int).Sqrt(big.NewInt(spread / int64(n-1) << (2 * spreadBits))).Int64()
	}

	local, weights := make([]int64, n), p.weights()
	for i := range local {
		for j := max(1, i-len(weights)+1); j < min(n, i+len(weights)); j++ {
			local[i] += q[j] * int64(weights[max(i-j, j-i)])
		}
	}
	greatest, losses := slices.Max(local), p.losses()
	sums, links, begun := make([]int64, n), make([]int, n), false
	for i := range sums {
		links[i] = -1
		var best int64
		for t := p.nearest(); t <= min(i, 2*period); t++ {
			score := sums[i-t] - int64(losses[t])*spread>>spreadBits
			if links[i] < 0 || score > best {
				best, links[i] = score, i-t
			}
		}
		sums[i] = local[i] + best
		if begun = begun || 100*local[i] >= greatest; !begun {
			links[i] = -1
		}
	}

	var peaks []int64
	isPeak := func(i int) bool { return i > 0 && sums[i] > sums[i-1] && (i == n-1 || sums[i] >= sums[i+1]) }
	for i := range sums {
		if isPeak(i) {
			peaks = append(peaks, sums[i])
		}
	}
	last := n - 1
	if len(peaks) > 0 {
		slices.Sort(peaks)
		twiceMedian := peaks[(len(peaks)-1)/2] + peaks[len(peaks)/2]
		for i := n - 1; i >= 0; i-- {
			if isPeak(i) && 4*sums[i] >= twiceMedian {
				last = i
				break
			}
		}
	}
	for i := last; i >= 0; i = links[i] {
		beats = append(beats, i)
	}
	slices.Reverse(beats)

	at := func(k int) int64 {
		if k < 0 || k >= len(beats) {
			return 0
		}
		return local[beats[k]] >> p.trimShift()
	}
	var squares int64
	places := min(len(beats)+2, n)
	for k := range places {
		d := at(k-1) + 2*at(k) + at(k+1)
		squares += d * d
	}
	weak := func(i int) bool {
		if p.KeepWeak {
			return local[i] <= 0
		}
		l := local[i] >> p.trimShift()
		return l <= 0 || 16*l*l*int64(places) <= squares
	}
	first, end := 0, n
	for first < n && weak(first) {
		first++
	}
	for end > first && weak(end-1) {
		end--
	}
	return slices.DeleteFunc(beats, func(i int) bool { return i < first || i >= end })
}
