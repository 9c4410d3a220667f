package biquad

// section is a filter as implementations on the processor run it: y = b0·x + s1, s1 ← c1·x − a1·s1 + s2, s2 ← c2·x − a2·s1.
type section struct {
	b0, c1, c2, a1, a2 float64
}

func newSection(c Coefficients) section {
	return section{c.B0, c.B1 - c.A1*c.B0, c.B2 - c.A2*c.B0, c.A1, c.A2}
}

// settleEvery is the number of samples between two calls of settle.
const settleEvery = 256

// filter filters at most lanes channels. dst and src are len(s)×n.
func (f *section) filter(s []state, dst, src []float32) {
	if len(s) == 1 {
		f.one(&s[0], dst, src)
		return
	}
	n := len(src) / lanes
	f.two((*[lanes]state)(s), dst[:n], dst[n:], src[:n], src[n:])
}

// channels filters the channels from lo to hi−1 of len(s).
func (f *section) channels(s []state, dst, src []float32, lo, hi int) {
	n := len(src) / len(s)
	for c := lo; c < hi; c += lanes {
		end := min(c+lanes, hi)
		f.filter(s[c:end], dst[c*n:end*n], src[c*n:end*n])
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
func (f *section) two(s *[lanes]state, y0, y1, x0, x1 []float32) {
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
