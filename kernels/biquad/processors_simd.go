//go:build amd64 || arm64

package biquad

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 or NEON.
var haveSIMD = cpu.X86.HasAVX2 || cpu.ARM64.HasASIMD

// fewByVectors says whether less than fewest channels take the vector code of several sections, although they fill only some of
// its lanes. On amd64, one channel is then 1.5 to 1.8 times as fast. The Go code for arm64 has more registers and adds products
// without rounding them, so it may be the faster one. Neither has run on a Mac.
var fewByVectors = cpu.X86.HasAVX2

// byVectors reports whether channels of n samples take the vector code of a section.
func byVectors(channels, n int) bool { return haveSIMD && channels >= fewest && n >= shortest }

// cascadeByVectors reports whether channels of n samples take the vector code of several sections.
func cascadeByVectors(channels, n int) bool {
	return haveSIMD && (channels >= fewest || fewByVectors && n >= shortest)
}

// turn is the number of samples that the vector code takes at a time.
const turn = 4

// beside filters at most eight channels by the vector code. dst and src are len(s)×n. dst may be src.
func (f *section) beside(s []state, dst, src []float32) {
	n := len(src) / len(s)
	whole := n / turn * turn
	if whole > 0 {
		f.turns(s, dst, src, n, whole/turn)
	}
	for c := range s {
		f.rest(&s[c], dst[c*n+whole:(c+1)*n], src[c*n+whole:(c+1)*n])
		s[c].settle()
	}
}

// turns filters the first turns of channels of n samples.
func (f *section) turns(s []state, dst, src []float32, n, turns int) {
	apart := apart(len(s), n)
	var v [most / lanes]four
	if len(s) > lanes {
		v[0].take(s, 1)
		v[1].take(s[lanes:], 1)
		filter8SIMD(&dst[0], &src[0], &apart, turns, (*[5][4]float64)(&f.all), (*[2][4]float64)(&v[0]))
		v[0].give(s, 1)
		v[1].give(s[lanes:], 1)
		return
	}
	v[0].take(s, 1)
	filter4SIMD(&dst[0], &src[0], &apart, turns, (*[5][4]float64)(&f.all), (*[2][4]float64)(&v[0]))
	v[0].give(s, 1)
}

// rest filters the samples of a channel behind the last turn, and rounds each product as the vector code does. Without the
// conversions, the compiler may add a product that is not rounded.
func (f *section) rest(s *state, dst, src []float32) {
	b0, c1, c2, a1, a2 := f.b0, f.c1, f.c2, f.a1, f.a2
	s1, s2 := s.s1, s.s2
	dst = dst[:len(src)]
	for i, x := range src {
		v := float64(x)
		dst[i] = float32(float64(b0*v) + s1)
		s1, s2 = float64(float64(c1*v)+s2)-float64(a1*s1), float64(c2*v)-float64(a2*s1)
	}
	s.s1, s.s2 = s1, s2
}

// beside filters at most four channels by the vector code. dst and src are channels×n. dst may be src.
func (f *abreast) beside(s []state, dst, src []float32, w *workspace) {
	sections := len(f.cascade)
	count := len(s) / sections
	n := len(src) / count
	whole := n / turn * turn
	if whole > 0 {
		for k := range w.states {
			w.states[k].take(s[k:], sections)
		}
		apart := apart(count, n)
		cascadeSIMD(&dst[0], &src[0], &apart, whole/turn, (*[5][4]float64)(&f.all[0]), (*[2][4]float64)(&w.states[0]), sections)
		for k := range w.states {
			w.states[k].give(s[k:], sections)
		}
	}
	for c := range count {
		f.rest(s[c*sections:(c+1)*sections], dst[c*n+whole:(c+1)*n], src[c*n+whole:(c+1)*n])
	}
}

// rest is that of a section. It settles the states.
func (f cascade) rest(s []state, dst, src []float32) {
	var between [turn]float64
	for i, v := range src {
		between[i] = float64(v)
	}
	for k := range s {
		b0, c1, c2, a1, a2 := f[k].b0, f[k].c1, f[k].c2, f[k].a1, f[k].a2
		s1, s2 := s[k].s1, s[k].s2
		for i, v := range between[:len(src)] {
			between[i] = float64(b0*v) + s1
			s1, s2 = float64(float64(c1*v)+s2)-float64(a1*s1), float64(c2*v)-float64(a2*s1)
		}
		s[k] = state{s1, s2}
		s[k].settle()
	}
	for i := range src {
		dst[i] = float32(between[i])
	}
}

// apart returns how many bytes channels of n samples are behind the first one. If there are too few channels, the last one fills
// the lanes that are left: these compute the same as its own lane, and store it in the same place.
func apart(count, n int) (bytes [most]int) {
	for i := range bytes {
		bytes[i] = 4 * n * min(i, count-1)
	}
	return bytes
}

// take sets the states to those of at most four channels, which are apart states apart. give is its inverse.
func (v *four) take(s []state, apart int) {
	last := (len(s) - 1) / apart
	for i := range v[0] {
		c := s[min(i, last)*apart]
		v[0][i], v[1][i] = c.s1, c.s2
	}
}

func (v *four) give(s []state, apart int) {
	last := (len(s) - 1) / apart
	for i := range v[0] {
		if i <= last {
			s[i*apart] = state{v[0][i], v[1][i]}
		}
	}
}
