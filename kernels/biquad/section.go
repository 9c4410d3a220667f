package biquad

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg biquad
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// section is a filter as implementations on the processor run it: y = b0·x + s1, s1 ← c1·x − a1·s1 + s2, s2 ← c2·x − a2·s1.
type section struct {
	b0, c1, c2, a1, a2 float64

	all fourfold
}

func newSection(c Coefficients) section {
	f := section{b0: c.B0, c1: c.B1 - c.A1*c.B0, c2: c.B2 - c.A2*c.B0, a1: c.A1, a2: c.A2}
	for i, v := range []float64{f.b0, f.c1, f.c2, f.a1, f.a2} {
		f.all[i] = [lanes]float64{v, v, v, v}
	}
	return f
}

const (
	// lanes is the number of channels in a vector.
	lanes = 4

	// most is the greatest number of channels that one core filters side by side.
	most = 2 * lanes

	// Vectors are faster for at least fewest channels of at least shortest samples. With fewer, only those of several sections
	// are.
	fewest   = 3
	shortest = 20
)

// fourfold has the coefficients of a section in all lanes.
type fourfold [5][lanes]float64

// four has the values s1 and s2 of the states of four channels.
type four [2][lanes]float64

// settleEvery is the number of samples between two calls of settle.
const settleEvery = 256

// channels filters the channels from lo to hi−1 of len(s).
func (f *section) channels(s []state, dst, src []float32, lo, hi int) {
	n := len(src) / len(s)
	if lo == hi || n == 0 {
		return
	}
	if !byVectors(len(s), n) {
		f.besideGo(s[lo:hi], dst[lo*n:hi*n], src[lo*n:hi*n])
		return
	}
	side := most
	if crowded(n) && &dst[0] != &src[0] {
		side = lanes
	}
	for c := lo; c < hi; c += side {
		end := min(c+side, hi)
		f.beside(s[c:end], dst[c*n:end*n], src[c*n:end*n])
	}
}

// crowded reports whether channels of n samples lie about a multiple of 4 KiB apart. A cache of the first level keeps only eight
// lines of 64 bytes at such distances, as that of an AMD EPYC 9004 does, and eight channels read eight lines and write eight
// others. They took 1.6 times as long as four and four.
func crowded(n int) bool {
	const apart, about = 4096 / 4, 8 // samples
	return (n+about)%apart <= 2*about
}

// besideGo filters channels, two at a time. dst and src are len(s)×n. With one channel, the core mostly waits for the last
// state. A second channel uses that time. Four channels need more than the 16 registers of amd64, and took a quarter longer
// than two at a time (Go 1.26, AMD EPYC 9004).
func (f *section) besideGo(s []state, dst, src []float32) {
	n := len(src) / len(s)
	for ; len(s) >= 2; s, dst, src = s[2:], dst[2*n:], src[2*n:] {
		f.two((*[2]state)(s), dst[:n], dst[n:2*n], src[:n], src[n:2*n])
	}
	if len(s) > 0 {
		f.one(&s[0], dst, src)
	}
}

// one filters a channel.
func (f *section) one(s *state, dst, src []float32) {
	b0, c1, c2, a1, a2 := f.b0, f.c1, f.c2, f.a1, f.a2
	for len(src) > 0 {
		n := min(settleEvery, len(src))
		x, y := src[:n], dst[:n]
		s1, s2 := s.s1, s.s2
		for i := range x {
			v := float64(x[i])
			y[i] = float32(b0*v + s1)
			s1, s2 = (c1*v+s2)-a1*s1, c2*v-a2*s1
		}
		s.s1, s.s2 = s1, s2
		s.settle()
		src, dst = src[n:], dst[n:]
	}
}

// advance is one without its output.
func (f *section) advance(s *state, src []float32) {
	c1, c2, a1, a2 := f.c1, f.c2, f.a1, f.a2
	for len(src) > 0 {
		n := min(settleEvery, len(src))
		s1, s2 := s.s1, s.s2
		for _, sample := range src[:n] {
			v := float64(sample)
			s1, s2 = (c1*v+s2)-a1*s1, c2*v-a2*s1
		}
		s.s1, s.s2 = s1, s2
		s.settle()
		src = src[n:]
	}
}

// two filters two channels side by side.
func (f *section) two(s *[2]state, y0, y1, x0, x1 []float32) {
	b0, c1, c2, a1, a2 := f.b0, f.c1, f.c2, f.a1, f.a2
	for len(x0) > 0 {
		n := min(settleEvery, len(x0))
		u0, u1, v0, v1 := x0[:n], x1[:n], y0[:n], y1[:n]
		p1, p2, q1, q2 := s[0].s1, s[0].s2, s[1].s1, s[1].s2
		for i := range u0 {
			p, q := float64(u0[i]), float64(u1[i])
			v0[i] = float32(b0*p + p1)
			v1[i] = float32(b0*q + q1)
			p1, p2 = (c1*p+p2)-a1*p1, c2*p-a2*p1
			q1, q2 = (c1*q+q2)-a1*q1, c2*q-a2*q1
		}
		s[0], s[1] = state{p1, p2}, state{q1, q2}
		s[0].settle()
		s[1].settle()
		x0, x1, y0, y1 = x0[n:], x1[n:], y0[n:], y1[n:]
	}
}
