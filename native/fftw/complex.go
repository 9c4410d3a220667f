package fftw

import (
	"fmt"
	"runtime"
)

// Signs of the exponent, from fftw3.h.
const (
	signForward = -1 // FFTW_FORWARD
	signInverse = 1  // FFTW_BACKWARD
)

// ComplexPlan transforms batch rows of n complex values, which lie one after the other, in one direction. Several goroutines
// may call Transform at once, on different memory. Close must not be called while they run.
type ComplexPlan struct {
	n, batch int
	lib      *library
	held     *held
	calls    calls
}

// NewComplex returns a plan for batch rows of n complex values on the given number of threads, of which fewer than 16 384
// values use only one. It fails as [NewReal] does.
func NewComplex(n, batch, threads int, inverse bool) (*ComplexPlan, error) {
	lib, threads, err := prepare(n, batch, threads)
	if err != nil {
		return nil, err
	}
	p := &ComplexPlan{n: n, batch: batch, lib: lib, held: &held{lib: lib}}
	sign := signForward
	if inverse {
		sign = signInverse
	}
	c := &call{}
	from, to := address(c.buffer(0, p.words())), address(c.buffer(1, p.words()))
	p.held.forward = lib.made(threads, func() uintptr {
		return planManyComplex(lib.planComplex, n, batch, from, to, sign, effort(n, batch, ofComplex))
	})
	if p.held.forward == 0 {
		return nil, refused(n, batch)
	}
	runtime.AddCleanup(p, (*held).destroy, p.held)
	return p, nil
}

func (p *ComplexPlan) words() int { return 2 * p.batch * p.n }

// Transform writes the unscaled transform of each row of src to the rows of dst: an inverse plan computes n times the inverse
// transform. Both have batch·n values. They must not overlap; src is unchanged. Transform copies memory that lacks the
// alignment that FFTW needs. It panics if a length is wrong or the plan is closed.
func (p *ComplexPlan) Transform(dst, src []complex64) {
	if p.held.forward == 0 {
		panic("fftw: the plan is closed")
	}
	if len(dst) != p.batch*p.n || len(src) != p.batch*p.n {
		panic(fmt.Sprintf("fftw: a plan of %d rows of %d values got src of %d and dst of %d", p.batch, p.n, len(src), len(dst)))
	}
	c := p.calls.begin()
	from, to := src, dst
	if !fits(p.lib, address(src)) {
		from = complexes(c.buffer(0, p.words()))
		copy(from, src)
	}
	if !fits(p.lib, address(dst)) {
		to = complexes(c.buffer(1, p.words()))
	}
	c.execute(p.lib.executeComplex, p.held.forward, address(from), address(to))
	if !fits(p.lib, address(dst)) {
		copy(dst, to)
	}
	p.calls.end(c)
}

// Close frees the plan. Closing twice does nothing.
func (p *ComplexPlan) Close() { p.held.destroy() }
