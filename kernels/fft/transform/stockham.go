package transform

import "crossover/kernels/fft/double"

// stockham is the mixed-radix transform in Go. It has a pass for each factor. Each pass reads one buffer and writes another,
// and sorts on the way, so that no permutation follows.
//
// A pass of radix r turns s interleaved transforms of length r·m into r·s interleaved transforms of length m:
//
//	dst[q + s(rp+k)] = w^(pk) · Σ_j src[q + s(p+mj)] · exp(−2πi·jk/r),   w = exp(−2πi/(rm)),  p < m, q < s, k < r.
type stockham struct {
	n      int
	passes []pass
	work   []complex64
}

type pass struct {
	radix, m, s int
	twiddles    []complex64 // w^p, w^2p … w^((r−1)p) for each p
}

func newStockham(n int, radices []int) *stockham {
	t := &stockham{n: n}
	length, s := n, 1
	for _, r := range radices {
		m := length / r
		p := pass{radix: r, m: m, s: s, twiddles: make([]complex64, 0, (r-1)*m)}
		for i := range m {
			for k := 1; k < r; k++ {
				p.twiddles = append(p.twiddles, complex64(double.Root(i*k, length)))
			}
		}
		t.passes = append(t.passes, p)
		length, s = m, s*r
	}
	if len(t.passes) > 1 {
		t.work = make([]complex64, n)
	}
	return t
}

func (t *stockham) Clone() Complex {
	c := *t
	c.work = make([]complex64, len(t.work))
	return &c
}

func (t *stockham) Forward(dst, src []complex64) {
	if len(t.passes) == 0 {
		copy(dst, src)
		return
	}
	from := src
	for i := range t.passes {
		to := dst
		if (len(t.passes)-i)%2 == 0 { // so that the last pass lands in dst
			to = t.work
		}
		t.passes[i].run(to, from)
		from = to
	}
}

func (t *stockham) Inverse(dst, src []complex64) {
	t.Forward(dst, src)
	reverse(dst)
}

func (p *pass) run(dst, src []complex64) {
	switch {
	case p.radix == 2:
		p.radix2(dst, src)
	case p.radix == 3:
		p.radix3(dst, src)
	case p.radix == 4 && p.s == 1:
		p.first4(dst, src)
	case p.radix == 4:
		p.radix4(dst, src)
	case p.radix == 5:
		p.radix5(dst, src)
	case p.radix == 7:
		p.radix7(dst, src)
	}
}

func (p *pass) radix2(dst, src []complex64) {
	m, s := p.m, p.s
	for i := range m {
		w := p.twiddles[i]
		a, b := src[s*i:][:s], src[s*(i+m):][:s]
		y, z := dst[s*2*i:][:s], dst[s*(2*i+1):][:s]
		for q := range a {
			u, v := a[q], b[q]
			y[q] = u + v
			z[q] = (u - v) * w
		}
	}
}

func (p *pass) radix3(dst, src []complex64) {
	const sin = 0.866025403784438646763723170752936183 // sin(2π/3)
	m, s := p.m, p.s
	for i := range m {
		w1, w2 := p.twiddles[2*i], p.twiddles[2*i+1]
		a, b, c := src[s*i:][:s], src[s*(i+m):][:s], src[s*(i+2*m):][:s]
		x, y, z := dst[s*3*i:][:s], dst[s*(3*i+1):][:s], dst[s*(3*i+2):][:s]
		for q := range a {
			sum, diff := b[q]+c[q], b[q]-c[q]
			x[q] = a[q] + sum
			mid := a[q] - complex(0.5*real(sum), 0.5*imag(sum))
			turned := complex(sin*imag(diff), -sin*real(diff)) // −i·sin·diff
			y[q] = (mid + turned) * w1
			z[q] = (mid - turned) * w2
		}
	}
}

func (p *pass) radix4(dst, src []complex64) {
	m, s := p.m, p.s
	for i := range m {
		w := p.twiddles[3*i:][:3]
		w1, w2, w3 := w[0], w[1], w[2]
		a, b, c, d := src[s*i:][:s], src[s*(i+m):][:s], src[s*(i+2*m):][:s], src[s*(i+3*m):][:s]
		y0, y1, y2, y3 := dst[s*4*i:][:s], dst[s*(4*i+1):][:s], dst[s*(4*i+2):][:s], dst[s*(4*i+3):][:s]
		for q := range a {
			sumAC, diffAC := a[q]+c[q], a[q]-c[q]
			sumBD, diffBD := b[q]+d[q], b[q]-d[q]
			turned := complex(imag(diffBD), -real(diffBD)) // −i·diffBD
			y0[q] = sumAC + sumBD
			y1[q] = (diffAC + turned) * w1
			y2[q] = (sumAC - sumBD) * w2
			y3[q] = (diffAC - turned) * w3
		}
	}
}

// first4 is radix4 for s = 1, without the inner loop over s.
func (p *pass) first4(dst, src []complex64) {
	m := p.m
	a, b, c, d := src[:m], src[m:][:m], src[2*m:][:m], src[3*m:][:m]
	for i := range a {
		w, y := p.twiddles[3*i:][:3], dst[4*i:][:4]
		sumAC, diffAC := a[i]+c[i], a[i]-c[i]
		sumBD, diffBD := b[i]+d[i], b[i]-d[i]
		turned := complex(imag(diffBD), -real(diffBD)) // −i·diffBD
		y[0] = sumAC + sumBD
		y[1] = (diffAC + turned) * w[0]
		y[2] = (sumAC - sumBD) * w[1]
		y[3] = (diffAC - turned) * w[2]
	}
}

func (p *pass) radix5(dst, src []complex64) {
	const (
		cos1 = 0.309016994374947424102293417182819059  // cos(2π/5)
		cos2 = -0.809016994374947424102293417182819059 // cos(4π/5)
		sin1 = 0.951056516295153572116439333379382143  // sin(2π/5)
		sin2 = 0.587785252292473129168705954639072769  // sin(4π/5)
	)
	m, s := p.m, p.s
	for i := range m {
		w := p.twiddles[4*i:][:4]
		w1, w2, w3, w4 := w[0], w[1], w[2], w[3]
		a, b, c := src[s*i:][:s], src[s*(i+m):][:s], src[s*(i+2*m):][:s]
		d, e := src[s*(i+3*m):][:s], src[s*(i+4*m):][:s]
		y0, y1, y2 := dst[s*5*i:][:s], dst[s*(5*i+1):][:s], dst[s*(5*i+2):][:s]
		y3, y4 := dst[s*(5*i+3):][:s], dst[s*(5*i+4):][:s]
		for q := range a {
			sumBE, diffBE := b[q]+e[q], b[q]-e[q]
			sumCD, diffCD := c[q]+d[q], c[q]-d[q]
			u := a[q] + complex(cos1*real(sumBE)+cos2*real(sumCD), cos1*imag(sumBE)+cos2*imag(sumCD))
			v := a[q] + complex(cos2*real(sumBE)+cos1*real(sumCD), cos2*imag(sumBE)+cos1*imag(sumCD))
			// −i·(sin1·diffBE + sin2·diffCD) and −i·(sin2·diffBE − sin1·diffCD)
			g := complex(sin1*imag(diffBE)+sin2*imag(diffCD), -sin1*real(diffBE)-sin2*real(diffCD))
			h := complex(sin2*imag(diffBE)-sin1*imag(diffCD), sin1*real(diffCD)-sin2*real(diffBE))
			y0[q] = a[q] + sumBE + sumCD
			y1[q] = (u + g) * w1
			y2[q] = (v + h) * w2
			y3[q] = (v - h) * w3
			y4[q] = (u - g) * w4
		}
	}
}

func (p *pass) radix7(dst, src []complex64) {
	const (
		cos1 = 0.623489801858733530525004884004239810  // cos(2π/7)
		cos2 = -0.222520933956314404288902564496794760 // cos(4π/7)
		cos3 = -0.900968867902419126236102319507445051 // cos(6π/7)
		sin1 = 0.781831482468029808708444526674057750  // sin(2π/7)
		sin2 = 0.974927912181823607018131682993931217  // sin(4π/7)
		sin3 = 0.433883739117558120475768332848358754  // sin(6π/7)
	)
	m, s := p.m, p.s
	for i := range m {
		w := p.twiddles[6*i:][:6]
		a, b, c, d := src[s*i:][:s], src[s*(i+m):][:s], src[s*(i+2*m):][:s], src[s*(i+3*m):][:s]
		e, f, g := src[s*(i+4*m):][:s], src[s*(i+5*m):][:s], src[s*(i+6*m):][:s]
		y := dst[s*7*i:][:7*s]
		for q := range a {
			sumBG, diffBG := b[q]+g[q], b[q]-g[q]
			sumCF, diffCF := c[q]+f[q], c[q]-f[q]
			sumDE, diffDE := d[q]+e[q], d[q]-e[q]
			y[q] = a[q] + sumBG + sumCF + sumDE
			u, v := a[q]+weighted(sumBG, cos1, sumCF, cos2, sumDE, cos3), weighted(diffBG, sin1, diffCF, sin2, diffDE, sin3)
			y[q+s], y[q+6*s] = (u+complex(imag(v), -real(v)))*w[0], (u-complex(imag(v), -real(v)))*w[5]
			u, v = a[q]+weighted(sumBG, cos2, sumCF, cos3, sumDE, cos1), weighted(diffBG, sin2, diffCF, -sin3, diffDE, -sin1)
			y[q+2*s], y[q+5*s] = (u+complex(imag(v), -real(v)))*w[1], (u-complex(imag(v), -real(v)))*w[4]
			u, v = a[q]+weighted(sumBG, cos3, sumCF, cos1, sumDE, cos2), weighted(diffBG, sin3, diffCF, -sin1, diffDE, sin2)
			y[q+3*s], y[q+4*s] = (u+complex(imag(v), -real(v)))*w[2], (u-complex(imag(v), -real(v)))*w[3]
		}
	}
}

// weighted returns the sum of three values, each multiplied by a factor.
func weighted(x complex64, a float32, y complex64, b float32, z complex64, c float32) complex64 {
	return complex(a*real(x)+b*real(y)+c*real(z), a*imag(x)+b*imag(y)+c*imag(z))
}
