package accelerate

import (
	"errors"
	"runtime"
	"unsafe"
)

// Biquad is vDSP's second-order section. Only one goroutine at a time may use a Biquad.
type Biquad struct {
	lib   *library
	setup uintptr
	delay [4]float32
}

// NewBiquad returns the section y[n] = b0·x[n] + b1·x[n−1] + b2·x[n−2] − a1·y[n−1] − a2·y[n−2]. It fails if Probe does, or
// if vDSP makes no setup.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_biquad_createsetup
func NewBiquad(b0, b1, b2, a1, a2 float64) (*Biquad, error) {
	lib, err := loaded()
	if err != nil {
		return nil, err
	}
	coefficients := &[5]float64{b0, b1, b2, a1, a2}
	s := &Biquad{lib: lib}
	if s.setup, _ = begin().pointer(unsafe.Pointer(coefficients)).number(1).run(lib.createBiquad); s.setup == 0 {
		return nil, errors.New("accelerate: vDSP_biquad_CreateSetup made no setup")
	}
	runtime.AddCleanup(s, func(setup uintptr) { begin().number(int(setup)).run(lib.destroyBiquad) }, s.setup)
	return s, nil
}

// Filter writes the filtered src to dst. dst has the length of src, and may be src. history holds the last two inputs and
// outputs before the call: x[−2], x[−1], y[−2], y[−1]. Filter updates it for the next call. Filter panics if the lengths
// differ.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_biquad
func (s *Biquad) Filter(dst, src []float32, history *[4]float32) {
	equal(dst, src)
	s.delay = *history
	begin().number(int(s.setup)).slice(s.delay[:]).slice(src).number(1).slice(dst).number(1).number(len(src)).run(s.lib.biquad)
	*history = s.delay
	runtime.KeepAlive(s)
}
