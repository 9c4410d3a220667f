package accelerate

import (
	"errors"
	"runtime"
	"unsafe"
)

// Biquad is vDSP's cascade of second-order sections. Only one goroutine at a time may use a Biquad.
type Biquad struct {
	lib   *library
	setup uintptr
	delay []float32
}

// NewBiquad returns the cascade of sections, each of which has the coefficients b0, b1, b2, a1, a2 of y[n] = b0·x[n] +
// b1·x[n−1] + b2·x[n−2] − a1·y[n−1] − a2·y[n−2]. The output of a section is the input of the next one. NewBiquad fails if
// Probe does, if there are no sections, or if vDSP makes no setup.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_biquad_createsetup
func NewBiquad(sections ...[5]float64) (*Biquad, error) {
	lib, err := loaded()
	if err != nil {
		return nil, err
	}
	if len(sections) == 0 {
		return nil, errors.New("accelerate: a biquad without sections")
	}
	s := &Biquad{lib: lib, delay: make([]float32, 2*len(sections)+2)}
	if s.setup, _ = begin().pointer(unsafe.Pointer(&sections[0])).number(len(sections)).run(lib.createBiquad); s.setup == 0 {
		return nil, errors.New("accelerate: vDSP_biquad_CreateSetup made no setup")
	}
	runtime.AddCleanup(s, func(setup uintptr) { begin().number(int(setup)).run(lib.destroyBiquad) }, s.setup)
	return s, nil
}

// Filter writes the filtered src to dst. dst has the length of src, and may be src. history holds the last two inputs before
// the call, x[−2] and x[−1], and then the last two outputs of each section: two more values than twice the sections. Filter
// updates it for the next call. Filter panics if lengths differ.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_biquad
func (s *Biquad) Filter(dst, src, history []float32) {
	equal(dst, src)
	equal(history, s.delay)
	copy(s.delay, history)
	begin().number(int(s.setup)).slice(s.delay).slice(src).number(1).slice(dst).number(1).number(len(src)).run(s.lib.biquad)
	copy(history, s.delay)
	runtime.KeepAlive(s)
}
