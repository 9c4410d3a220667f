package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// value is one vector of complex values in registers.
type value struct{ re, im VecVirtual }

func newValue() value { return value{YMM(), YMM()} }

// add returns x + y.
func add(x, y value) value {
	z := newValue()
	VADDPS(y.re, x.re, z.re)
	VADDPS(y.im, x.im, z.im)
	return z
}

// sub returns x − y, in the registers of x.
func sub(x, y value) value {
	VSUBPS(y.re, x.re, x.re)
	VSUBPS(y.im, x.im, x.im)
	return x
}

// turn returns x − iy and x + iy, in the registers of x and y.
func turn(x, y value) (minus, plus value) {
	p := newValue()
	VSUBPS(y.im, x.re, p.re)
	VADDPS(y.re, x.im, p.im)
	VADDPS(y.im, x.re, x.re)
	VSUBPS(y.re, x.im, x.im)
	return x, p
}

// copied returns a copy of x.
func copied(x value) value {
	z := newValue()
	VMOVAPS(x.re, z.re)
	VMOVAPS(x.im, z.im)
	return z
}

// fma adds c·x to each part of z. c is a constant in memory.
func fma(c Mem, x, z value) {
	VFMADD231PS(c, x.re, z.re)
	VFMADD231PS(c, x.im, z.im)
}

// fnma subtracts c·x from each part of z.
func fnma(c Mem, x, z value) {
	VFNMADD231PS(c, x.re, z.re)
	VFNMADD231PS(c, x.im, z.im)
}

// fmaTurned returns z − i·c·x in the registers of z, and z + i·c·x in new registers.
func fmaTurned(c Mem, x, z value) (minus, plus value) {
	p := copied(z)
	VFNMADD231PS(c, x.im, p.re)
	VFMADD231PS(c, x.re, p.im)
	VFMADD231PS(c, x.im, z.re)
	VFNMADD231PS(c, x.re, z.im)
	return z, p
}

// times returns x·w.
func times(x value, wRe, wIm Op) value {
	z := newValue()
	VMULPS(wIm, x.im, z.re)
	VFMSUB231PS(wRe, x.re, z.re)
	VMULPS(wIm, x.re, z.im)
	VFMADD231PS(wRe, x.im, z.im)
	return z
}

var constants = map[string]Mem{}

// constant returns a vector of eight equal values in read-only memory.
func constant(name string, x float64) Mem {
	if m, ok := constants[name]; ok {
		return m
	}
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, F32(float32(x)))
	}
	constants[name] = m
	return m
}

// permutation returns eight lane indexes in read-only memory.
func permutation(name string, lanes ...uint32) Mem {
	if m, ok := constants[name]; ok {
		return m
	}
	m := GLOBL(name, RODATA|NOPTR)
	for i, l := range lanes {
		DATA(4*i, U32(l))
	}
	constants[name] = m
	return m
}

// streams addresses up to eight places. A register holds the distance between them.
type streams struct {
	base, upper      Register // upper is base + 4·distance; it exists only for more than four places
	distance, triple Register
}

func newStreams(base, distance Register, count int) *streams {
	s := &streams{base: base, distance: distance}
	if count > 3 {
		s.triple = GP64()
		LEAQ(Mem{Base: distance, Index: distance, Scale: 2}, s.triple)
	}
	if count > 4 {
		s.upper = GP64()
		LEAQ(Mem{Base: base, Index: distance, Scale: 4}, s.upper)
	}
	return s
}

// sibling addresses places the same distance apart from another base.
func (s *streams) sibling(base Register) *streams {
	t := &streams{base: base, distance: s.distance, triple: s.triple}
	if s.upper != nil {
		t.upper = GP64()
		LEAQ(Mem{Base: base, Index: s.distance, Scale: 4}, t.upper)
	}
	return t
}

// at returns the address of place i.
func (s *streams) at(i int) Mem {
	base := s.base
	if i >= 4 {
		base, i = s.upper, i-4
	}
	switch i {
	case 0:
		return Mem{Base: base}
	case 3:
		return Mem{Base: base, Index: s.triple, Scale: 1}
	default:
		return Mem{Base: base, Index: s.distance, Scale: uint8(i)}
	}
}

// advance moves every place by a number of bytes.
func (s *streams) advance(by Op) {
	ADDQ(by, s.base)
	if s.upper != nil {
		ADDQ(by, s.upper)
	}
}

// parameter loads a parameter that counts units of 1<<shift bytes into a register, as a number of bytes.
func parameter(name string, shift uint64) Register {
	r := Load(Param(name), GP64())
	if shift > 0 {
		SHLQ(U8(shift), r)
	}
	return r
}

// spill returns the address of size bytes of stack. It is aligned to a cache line, so that no vector lies in two lines.
func spill(size int) Mem {
	local := AllocLocal(size + line)
	r := GP64()
	LEAQ(local.Offset(line-1), r)
	ANDQ(I32(-line), r)
	return Mem{Base: r}
}

func storeValue(v value, m Mem) {
	VMOVUPS(v.re, m)
	VMOVUPS(v.im, m.Offset(line/2))
}

func loadValue(m Mem) value {
	v := newValue()
	VMOVUPS(m, v.re)
	VMOVUPS(m.Offset(line/2), v.im)
	return v
}

// loadPairs loads eight interleaved complex values in the order 0, 1, 4, 5, 2, 3, 6, 7, which costs least.
func loadPairs(m Mem) value {
	x, y := YMM(), YMM()
	VMOVUPS(m, x)
	VMOVUPS(m.Offset(line/2), y)
	v := newValue()
	VSHUFPS(U8(0x88), y, x, v.re)
	VSHUFPS(U8(0xdd), y, x, v.im)
	return v
}

// storePairs stores eight complex values interleaved, in their order.
func storePairs(v value, m Mem) {
	low, high := YMM(), YMM()
	VUNPCKLPS(v.im, v.re, low)
	VUNPCKHPS(v.im, v.re, high)
	x := YMM()
	VPERM2F128(U8(0x20), high, low, x)
	VMOVUPS(x, m)
	VPERM2F128(U8(0x31), high, low, x)
	VMOVUPS(x, m.Offset(line/2))
}
