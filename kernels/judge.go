package kernels

import "math"

// Judge returns how far an output is from the reference: 0 if the two agree, more the worse the output is, and +Inf if they
// cannot be compared. got holds the words of one output (see [Args]). Its elements are of type t, but a Float64 is rounded
// to one float32 word. want is the reference.
type Judge func(t Element, got []float32, want []float64) float64

// RelativeError returns the relative L2 error ‖got−want‖ / ‖want‖, or ‖got‖ if want is all zeros. It returns +Inf if the
// lengths differ or if got has a NaN or an infinity.
func RelativeError(got []float32, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var diff, norm float64
	for i, w := range want {
		d := float64(got[i]) - w
		diff += d * d
		norm += w * w
	}
	if norm > 0 {
		diff /= norm
	}
	if math.IsNaN(diff) || math.IsInf(diff, 0) {
		return math.Inf(1)
	}
	return math.Sqrt(diff)
}

// number returns the value of one word.
func number(t Element, word float32) float64 {
	switch t {
	case Uint32:
		return float64(math.Float32bits(word))
	case Int32:
		return float64(int32(math.Float32bits(word)))
	}
	return float64(word)
}

// Exact is a [Judge] of outputs that are right or wrong. It returns the number of values that differ. A NaN equals a NaN.
func Exact(t Element, got []float32, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	wrong := 0
	for i, w := range want {
		if v := number(t, got[i]); v != w && !(math.IsNaN(v) && math.IsNaN(w)) {
			wrong++
		}
	}
	return float64(wrong)
}

// AbsoluteError is a [Judge] of outputs with a unit, such as decibels. It returns the greatest |got−want|, or +Inf if the
// lengths differ or a difference is NaN.
func AbsoluteError(t Element, got []float32, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	worst := 0.0
	for i, w := range want {
		d := math.Abs(number(t, got[i]) - w)
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		worst = max(worst, d)
	}
	return worst
}

// WithState is a [Judge] of recurrences, which hand on a state of type Float64. It returns the relative error of an output.
// The error of a state below 1 is taken relative to 1, which is as loud as a signal, because a state sometimes comes near 0
// between larger values.
func WithState(t Element, got []float32, want []float64) float64 {
	off := RelativeError(got, want)
	if t != Float64 {
		return off
	}
	norm := 0.0
	for _, w := range want {
		norm = math.Hypot(norm, w)
	}
	if norm > 0 {
		off *= min(1, norm)
	}
	return off
}

// judge compares each output of a call with its part of the reference, and returns the greatest error. want has the parts
// one after the other.
func judge(by Judge, tensors []Tensor, a *Args, want []float64) float64 {
	worst := 0.0
	for i, t := range tensors {
		if t.Role == In {
			continue
		}
		n := min(t.Numbers(), len(want))
		worst = max(worst, judgeOne(by, t, a[i], want[:n]))
		want = want[n:]
	}
	if len(want) > 0 {
		return math.Inf(1)
	}
	return worst
}

// numbers returns the outputs of a call as numbers of a reference, one output after the other.
func numbers(tensors []Tensor, a *Args) []float64 {
	count := 0
	for i, t := range tensors {
		if t.Role != In {
			count += len(a[i])
		}
	}
	all := make([]float64, 0, count)
	for i, t := range tensors {
		switch {
		case t.Role == In:
		case t.Type == Float64:
			all = append(all, Float64s(a[i])...)
		default:
			for _, word := range a[i] {
				all = append(all, number(t.Type, word))
			}
		}
	}
	return all
}

func judgeOne(by Judge, t Tensor, got []float32, want []float64) float64 {
	if t.Type == Float64 {
		got = rounded(Float64s(got))
	}
	if by == nil {
		return RelativeError(got, want)
	}
	return by(t.Type, got, want)
}

// rounded returns values in float32. No tolerance is finer than that.
func rounded(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
