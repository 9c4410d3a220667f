package main

import (
	"fmt"
	"strings"
)

// plain are the instructions with one counterpart, which takes the last source first.
var plain = map[string]string{
	"VADDPS": "fadd.4s", "VSUBPS": "fsub.4s", "VDIVPS": "fdiv.4s", "VADDPD": "fadd.2d", "VSUBPD": "fsub.2d",
	"VMULPD": "fmul.2d", "VDIVPD": "fdiv.2d", "VANDPS": "and.16b", "VPAND": "and.16b", "VORPS": "orr.16b", "VXORPS": "eor.16b",
	"VPADDD": "add.4s", "VPSUBD": "sub.4s", "VPADDQ": "add.2d", "VPSUBQ": "sub.2d", "VUNPCKLPS": "zip1.4s", "VUNPCKHPS": "zip2.4s",
	"VUNPCKLPD": "zip1.2d", "VUNPCKHPD": "zip2.2d", "VHADDPS": "faddp.4s",
	// If one of the sources is NaN, FMAX and FMIN return NaN. VMAXPS and VMINPS return the operand in front.
	"VMAXPS": "fmax.4s", "VMINPS": "fmin.4s", "VMAXPD": "fmax.2d", "VMINPD": "fmin.2d",
	// On the lowest lane. The upper lanes have no use in the texts.
	"VADDSS": "fadd.s", "VMAXSS": "fmax.s",
}

// single are the instructions of one source with one counterpart.
var single = map[string]string{
	"VSQRTPS": "fsqrt.4s", "VCVTDQ2PS": "scvtf.4s",
	// Numbers out of range become the nearest one in range. VCVTPS2DQ and VCVTTPS2DQ return the least one for all of them.
	"VCVTPS2DQ": "fcvtns.4s", "VCVTTPS2DQ": "fcvtzs.4s",
}

// shuffles are the counterparts of VSHUFPS.
var shuffles = map[int64]string{0x88: "uzp1.4s", 0xdd: "uzp2.4s", 0x44: "zip1.2d", 0xee: "zip2.2d"}

// instruction appends the counterpart of an instruction.
func (l *lowering) instruction(line *line) error {
	op, o := line.op, line.operands
	if strings.HasPrefix(op, "V") {
		return l.vectorInstruction(line)
	}
	defer func() {
		if len(o) > 0 && o[len(o)-1].kind == general && op != "CMPQ" && !strings.HasPrefix(op, "TEST") {
			l.changed(o[len(o)-1].name)
		}
	}()
	switch op {
	case "RET":
		l.steps = append(l.steps, step{format: "RET", effect: true, leaves: true})
		return nil
	case "MOVSS":
		if o[0].kind == vector {
			l.steps = append(l.steps, step{format: "FMOVS F%[1]d, " + l.address(o[1], 0), registers: []register{l.value(0)[0]}, effect: true})
		} else {
			l.set(halves{l.load("FMOVS "+l.address(o[0], 0)+", F%[1]d", 1)[0], none})
		}
		return nil
	}
	return l.general(line)
}

// general appends the counterpart of an instruction on general registers.
func (l *lowering) general(line *line) error {
	op, o := line.op, line.operands
	reg := func(i int) string { return generals[o[i].name] }
	// Flags are set only where a jump follows before they are set again.
	s := ""
	if l.flagsRead() {
		s = "S"
	}
	switch op {
	case "MOVQ":
		switch {
		case o[0].kind == immediate:
			l.raw("MOVD $%d, %s", o[0].value, reg(1))
		case o[0].kind == parameter || o[0].kind == memory:
			l.raw("MOVD %s, %s", l.address(o[0], 0), reg(1))
		case o[1].kind == parameter || o[1].kind == memory:
			l.raw("MOVD %s, %s", reg(0), l.address(o[1], 0))
		default:
			l.raw("MOVD %s, %s", reg(0), reg(1))
		}
	case "MOVL":
		l.raw("MOVWU %s, %s", reg(0), l.address(o[1], 0))
	case "MOVB":
		l.raw("MOVBU %s, %s", l.address(o[0], 0), reg(1))
	case "MOVLQSX":
		l.raw("MOVW %s, %s", l.address(o[0], 0), reg(1))
	case "ADDQ", "SUBQ":
		name := op[:3] + s
		switch {
		case o[0].kind == general:
			l.raw("%s %s, %s, %s", name, reg(0), reg(1), reg(1))
		case o[0].kind == immediate:
			l.raw("%s $%d, %s, %s", name, o[0].value, reg(1), reg(1))
		default:
			l.raw("MOVD %s, R14", l.address(o[0], 0))
			l.raw("%s R14, %s, %s", name, reg(1), reg(1))
		}
	case "DECQ":
		if o[0].kind == general {
			l.raw("SUB%s $1, %s, %s", s, reg(0), reg(0))
			break
		}
		l.raw("MOVD %s, R14", l.address(o[0], 0))
		l.raw("SUB%s $1, R14, R14", s)
		l.raw("MOVD R14, %s", l.address(o[0], 0))
	case "NEGQ":
		l.raw("NEG %s, %s", reg(0), reg(0))
	case "ANDQ":
		l.raw("AND $%d, %s, %s", o[0].value, reg(1), reg(1))
	case "XORQ":
		if o[0] != o[1] {
			return fmt.Errorf("only a register and itself are known")
		}
		l.raw("MOVD $0, %s", reg(0))
	case "SHLQ":
		l.raw("LSL $%d, %s, %s", o[0].value, reg(1), reg(1))
	case "IMULQ":
		l.raw("MUL %s, %s, %s", reg(0), reg(1), reg(1))
	case "IMUL3Q":
		l.raw("MOVD $%d, R14", o[0].value)
		l.raw("MUL R14, %s, %s", reg(1), reg(2))
	case "LEAQ":
		switch {
		case o[0].kind == global:
			l.raw("MOVD $%s<>(SB), %s", o[0].name, reg(1))
		case o[0].base == "SP":
			l.raw("MOVD $locals-%d(SP), %s", l.f.frame-o[0].disp, reg(1))
		case o[0].index == "":
			l.raw("ADD $%d, %s, %s", o[0].disp, generals[o[0].base], reg(1))
		case o[0].disp == 0:
			l.raw("ADD %s, %s, %s", scaled(o[0]), generals[o[0].base], reg(1))
		default:
			return fmt.Errorf("an index and an offset")
		}
	case "BSFL":
		l.raw("RBIT %s, %s", reg(0), reg(1))
		l.raw("CLZ %s, %s", reg(1), reg(1))
	case "TESTQ", "TESTB", "TESTL":
		if o[0] != o[1] {
			return fmt.Errorf("only a register and itself are known")
		}
		l.raw("CMP $0, %s", reg(0))
	case "CMPQ":
		switch o[1].kind {
		case immediate:
			l.raw("CMP $%d, %s", o[1].value, reg(0))
		case general:
			l.raw("CMP %s, %s", reg(1), reg(0))
		default:
			l.raw("MOVD %s, R14", l.address(o[1], 0))
			l.raw("CMP R14, %s", reg(0))
		}
	default:
		branch := map[string]string{"JMP": "B", "JL": "BLT", "JGE": "BGE", "JZ": "BEQ", "JE": "BEQ", "JNZ": "BNE", "JNE": "BNE", "JB": "BLO"}[op]
		if branch == "" {
			return fmt.Errorf("no counterpart is known")
		}
		l.steps = append(l.steps, step{format: branch + " " + o[0].name, effect: true, branch: o[0].name, leaves: op == "JMP"})
	}
	return nil
}

// flagsRead reports whether a conditional jump follows before another instruction sets flags.
func (l *lowering) flagsRead() bool {
	for _, next := range l.f.lines[l.line+1:] {
		switch next.op {
		case "JMP", "RET":
			return false
		case "ADDQ", "SUBQ", "DECQ", "NEGQ", "ANDQ", "XORQ", "SHLQ", "IMULQ", "IMUL3Q", "TESTQ", "TESTB", "TESTL", "CMPQ", "BSFL":
			return false
		}
		if strings.HasPrefix(next.op, "J") {
			return true
		}
	}
	return false
}

// vectorInstruction appends the counterpart of an instruction on vectors: one for each half.
func (l *lowering) vectorInstruction(line *line) error {
	op, o := line.op, line.operands
	last := len(o) - 1
	switch {
	case op == "VZEROUPPER":
		return nil
	case line.clears():
		l.both(func(int) register { return l.do("movi") })
		return nil
	case plain[op] != "":
		b, a := l.value(0), l.value(1)
		l.both(func(h int) register { return l.do(plain[op], a[h], b[h]) })
		return nil
	case single[op] != "":
		a := l.value(0)
		l.both(func(h int) register { return l.do(single[op], a[h]) })
		return nil
	case strings.HasPrefix(op, "VFM") || strings.HasPrefix(op, "VFNM"):
		return l.multiplyAdd(op)
	}
	switch op {
	case "VMOVUPS", "VMOVUPD", "VMOVAPS", "VMOVDQU":
		if o[last].kind == vector {
			if o[0].kind == global {
				l.set(l.constant(o[0].name, true))
				return nil
			}
			l.set(l.value(0))
			return nil
		}
		h := l.value(0)
		s := step{format: "FSTPQ (F%[1]d, F%[2]d), " + l.address(o[1], 0), registers: h[:], effect: true}
		if h[1] == none {
			s = step{format: "FMOVQ F%[1]d, " + l.address(o[1], 0), registers: h[:1], effect: true}
		}
		l.steps = append(l.steps, s)
	case "VBROADCASTSS":
		switch {
		case o[0].kind == vector:
			v := l.do("dup.4s", l.value(0)[0])
			l.set(halves{v, v})
		case l.writes[l.line].element:
			v := l.load("FMOVS "+l.address(o[0], 0)+", F%[1]d", 1)[0]
			l.set(halves{v, v})
		default:
			v := l.do("dup.4s", l.load("FMOVS "+l.address(o[0], 0)+", F%[1]d", 1)[0])
			l.set(halves{v, v})
		}
	case "VBROADCASTSD":
		if o[0].kind == vector {
			return fmt.Errorf("only a value in memory is known")
		}
		v := l.do("dup.d[0]", l.load("FMOVD "+l.address(o[0], 0)+", F%[1]d", 1)[0])
		l.set(halves{v, v})
	case "VMOVSD":
		if o[last].kind == vector {
			return fmt.Errorf("only a store is known")
		}
		l.steps = append(l.steps, step{format: "FMOVD F%[1]d, " + l.address(o[1], 0), registers: []register{l.value(0)[0]}, effect: true})
	case "VBROADCASTF128":
		v := l.load("FMOVQ "+l.address(o[0], 0)+", F%[1]d", 1)[0]
		l.set(halves{v, v})
	case "VINSERTF128":
		a := l.value(2)
		var b register
		if o[1].kind == vector {
			b = l.value(1)[0]
		} else {
			b = l.load("FMOVQ "+l.address(o[1], 0)+", F%[1]d", 1)[0]
		}
		l.set(halves{a[0], b})
	case "VEXTRACTF128":
		upper := l.value(1)[1]
		if o[last].kind == vector {
			l.set(halves{upper, none})
			return nil
		}
		l.check([]register{upper})
		l.steps = append(l.steps, step{format: "FMOVQ F%[1]d, " + l.address(o[2], 0), registers: []register{upper}, effect: true})
	case "VPERM2F128":
		b, a := l.value(1), l.value(2)
		switch o[0].value {
		case 0x20:
			l.set(halves{a[0], b[0]})
		case 0x31:
			l.set(halves{a[1], b[1]})
		default:
			return fmt.Errorf("halves are known as 0x20 and 0x31")
		}
	case "VMULPS":
		b, a := l.value(0), l.value(1)
		switch {
		case l.element(0):
			l.both(func(h int) register { return l.do("fmul.s[0]", a[h], b[0]) })
		case l.element(1):
			l.both(func(h int) register { return l.do("fmul.s[0]", b[h], a[0]) })
		default:
			l.both(func(h int) register { return l.do("fmul.4s", a[h], b[h]) })
		}
	case "VANDNPS":
		b, a := l.value(0), l.value(1)
		l.both(func(h int) register { return l.do("bic.16b", b[h], a[h]) })
	case "VPSLLD", "VPSRAD", "VPSLLQ", "VPSRLQ":
		e := map[string]encoding{
			"VPSLLD": shift("shl", "4s", int(o[0].value)), "VPSRAD": shift("sshr", "4s", int(o[0].value)),
			"VPSLLQ": shift("shl", "2d", int(o[0].value)), "VPSRLQ": shift("ushr", "2d", int(o[0].value)),
		}[op]
		a := l.value(1)
		l.both(func(h int) register { return l.encoded(e, a[h]) })
	case "VROUNDPS":
		name := map[int64]string{0x08: "frintn.4s", 0x0b: "frintz.4s"}[o[0].value]
		if name == "" {
			return fmt.Errorf("an unknown rounding")
		}
		a := l.value(1)
		l.both(func(h int) register { return l.do(name, a[h]) })
	case "VCMPPS":
		return l.compare(".4s")
	case "VCMPPD":
		return l.compare(".2d")
	case "VBLENDVPS":
		mask, b, a := l.value(0), l.value(1), l.value(2)
		whole := l.reads[l.line][0].mask
		l.both(func(h int) register {
			m := mask[h]
			if !whole {
				m = l.encoded(shift("sshr", "4s", 31), m)
			}
			return l.onto("bit.16b", a[h], b[h], m)
		})
	case "VBLENDVPD":
		mask, b, a := l.value(0), l.value(1), l.value(2)
		l.both(func(h int) register {
			return l.onto("bit.16b", a[h], b[h], l.encoded(shift("sshr", "2d", 63), mask[h]))
		})
	case "VCVTPS2PD":
		a := l.value(0)
		l.set(halves{l.do("fcvtl", a[0]), l.do("fcvtl2", a[0])})
	case "VCVTPD2PSY":
		a := l.value(0)
		l.set(halves{l.onto("fcvtn2", l.do("fcvtn", a[0]), a[1]), none})
	case "VSHUFPS":
		name := shuffles[o[0].value]
		if name == "" {
			return fmt.Errorf("an unknown shuffle")
		}
		b, a := l.value(1), l.value(2)
		l.both(func(h int) register { return l.do(name, a[h], b[h]) })
	case "VPERMILPS":
		if o[0].value != 0xb1 {
			return fmt.Errorf("an unknown permutation")
		}
		a := l.value(1)
		l.both(func(h int) register { return l.do("rev64.4s", a[h]) })
	case "VMOVSLDUP", "VMOVSHDUP":
		a := l.value(0)
		name := map[string]string{"VMOVSLDUP": "trn1.4s", "VMOVSHDUP": "trn2.4s"}[op]
		l.both(func(h int) register { return l.do(name, a[h], a[h]) })
	case "VMOVHLPS":
		b, a := l.value(0), l.value(1)
		l.set(halves{l.do("zip2.2d", b[0], a[0]), none})
	case "VPMULDQ":
		b, a := l.value(0), l.value(1)
		l.both(func(h int) register { return l.do("smull", l.do("xtn", a[h]), l.do("xtn", b[h])) })
	case "VPBLENDD":
		b, a := l.value(1), l.value(2)
		l.both(func(h int) register { return l.onto("bit.16b", a[h], b[h], l.words(int(o[0].value)>>(4*h))) })
	case "VPERMPD":
		a := l.value(1)
		if lane, one := broadcastLane(line); one {
			v := l.do(fmt.Sprintf("dup.d[%d]", lane%2), a[lane/2])
			l.set(halves{v, v})
			break
		}
		if o[0].value != 0b11_01_10_00 {
			return fmt.Errorf("an unknown permutation")
		}
		l.set(halves{l.do("zip1.2d", a[0], a[1]), l.do("zip2.2d", a[0], a[1])})
	case "VPERMPS":
		return l.permute()
	case "VADDSUBPS":
		b, a := l.value(0), l.value(1)
		l.both(func(h int) register {
			return l.do("trn1.4s", l.do("fsub.4s", a[h], b[h]), l.do("rev64.4s", l.do("fadd.4s", a[h], b[h])))
		})
	case "VMOVMSKPS":
		return l.signs()
	case "VMASKMOVPS":
		l.masked()
	default:
		return fmt.Errorf("no counterpart is known")
	}
	return nil
}

// element reports whether operand i has its value in one lane only.
func (l *lowering) element(i int) bool {
	w := l.reads[l.line][i]
	return w != nil && w.element
}

// multiplyAdd appends a fused multiplication and addition. Like FMLA, its result replaces the addend. FMLA and FMLS add a
// product or its negative, so the other signs take a negation.
func (l *lowering) multiplyAdd(op string) error {
	var x, y, addend int
	switch digits := op[len(op)-5 : len(op)-2]; digits {
	case "231":
		x, y, addend = 0, 1, 2
	case "213":
		x, y, addend = 1, 2, 0
	case "132":
		x, y, addend = 0, 2, 1
	}
	var sum halves
	if l.operands[addend].kind == global {
		sum = l.constant(l.operands[addend].name, true)
	} else {
		sum = l.value(addend)
	}
	a, b := l.value(x), l.value(y)
	name, lanes := "fmla", ".4s"
	if strings.HasSuffix(op, "PD") {
		lanes = ".2d"
	}
	if l.element(x) {
		a, b = b, a
	}
	if l.element(x) || l.element(y) {
		lanes, b[1] = ".s[0]", b[0]
	}
	kind := op[:len(op)-5]
	if strings.HasPrefix(op, "VFN") {
		name = "fmls"
	}
	l.both(func(h int) register {
		s := sum[h]
		switch kind {
		case "VFMSUB", "VFNMSUB":
			s = l.do("fneg.4s", s)
		case "VFMADDSUB":
			s = l.do("trn1.4s", l.do("fneg.4s", s), l.do("rev64.4s", s))
		}
		return l.onto(name+lanes, s, a[h], b[h])
	})
	return nil
}

// compare appends a comparison of lanes of the given arrangement. All bits of a lane are set where it holds.
func (l *lowering) compare(lanes string) error {
	b, a := l.value(1), l.value(2)
	predicate := l.operands[0].value
	same := l.operands[1] == l.operands[2]
	switch predicate {
	case 0x00, 0x03, 0x04, 0x11, 0x15:
	default:
		return fmt.Errorf("an unknown predicate")
	}
	l.both(func(h int) register {
		switch predicate {
		case 0x00: // equal
			return l.do("fcmeq"+lanes, a[h], b[h])
		case 0x04: // not equal
			return l.do("mvn.16b", l.do("fcmeq"+lanes, a[h], b[h]))
		case 0x11: // less
			return l.do("fcmgt"+lanes, b[h], a[h])
		case 0x15: // not less
			return l.do("mvn.16b", l.do("fcmgt"+lanes, b[h], a[h]))
		}
		ordered := l.do("fcmeq"+lanes, a[h], a[h])
		if !same {
			ordered = l.do("and.16b", ordered, l.do("fcmeq"+lanes, b[h], b[h]))
		}
		return l.do("mvn.16b", ordered)
	})
	return nil
}

// permute appends a permutation of eight lanes that moves pairs of neighbours, and may swap the two of each pair.
func (l *lowering) permute() error {
	source, lanes := l.value(0), l.reads[l.line][1].indices
	if lanes == nil {
		return fmt.Errorf("the lanes are not a constant")
	}
	var result halves
	for h := range result {
		at := lanes[4*h:][:4]
		first, second := at[0]/2, at[2]/2
		swapped := at[0]%2 == 1
		if at[0]^1 != at[1] || at[2]^1 != at[3] || swapped != (at[2]%2 == 1) {
			return fmt.Errorf("not a permutation of pairs")
		}
		name := map[[2]int]string{{0, 0}: "zip1.2d", {1, 1}: "zip2.2d", {1, 0}: "ext.16b#8"}[[2]int{first % 2, second % 2}]
		if name == "" {
			return fmt.Errorf("an unknown permutation")
		}
		result[h] = l.do(name, source[first/2], source[second/2])
		if swapped {
			result[h] = l.do("rev64.4s", result[h])
		}
	}
	l.set(result)
	return nil
}

// broadcastLane returns the lane of 64 bits that VPERMPD writes to all lanes, if it does so.
func broadcastLane(line *line) (lane int, one bool) {
	v := line.operands[0].value
	return int(v & 3), line.op == "VPERMPD" && line.operands[0].kind == immediate && v == v&3*0b01_01_01_01
}

// words returns a mask of the words of a register: those whose bits are set among the lowest four.
func (l *lowering) words(bits int) register {
	var mask strings.Builder
	for word := range 4 {
		all := byte(0)
		if bits>>word&1 != 0 {
			all = 0xff
		}
		mask.Write([]byte{all, all, all, all})
	}
	return l.constantIn(mask.String(), false)
}

// signs appends what gathers the signs of the lanes in the low bits of a general register.
func (l *lowering) signs() error {
	a := l.value(0)
	var part halves
	for h := range part {
		var places strings.Builder
		for lane := range 4 {
			places.Write([]byte{byte(4*h + lane), 0, 0, 0})
		}
		part[h] = l.do("ushl.4s", l.encoded(shift("ushr", "4s", 31), a[h]), l.constantIn(places.String(), false))
	}
	sum := l.do("addv.4s", l.do("orr.16b", part[0], part[1]))
	to := l.operands[1].name
	l.changed(to)
	l.steps = append(l.steps, step{format: "VMOV V%[1]d.S[0], " + generals[to], registers: []register{sum}, effect: true})
	return nil
}

// masked appends a load or a store of the first lanes, as many as the mask counts: masks of the texts are prefixes. It goes
// from lane to lane and ends at the first that does not count, so that no other memory is touched.
func (l *lowering) masked() {
	o := l.operands
	load := o[2].kind == vector
	var mask, v halves
	var memory operand
	if load {
		memory, mask = o[0], l.value(1)
		v = halves{l.do("movi"), l.do("movi")}
	} else {
		memory, mask, v = o[2], l.value(1), l.value(0)
	}
	l.masks++
	end := fmt.Sprintf("masked%d", l.masks)
	text := []string{}
	address := l.address(memory, 0)
	if strings.HasPrefix(address, "(") {
		text = append(text, "MOVD "+strings.Trim(address, "()")+", R15")
	} else {
		text = append(text, "MOVD $"+address+", R15")
	}
	for lane := range 8 {
		text = append(text, fmt.Sprintf("VMOV V%%[%d]d.S[%d], R14", 3+lane/4, lane%4), "CBZ R14, "+end)
		if load {
			text = append(text, fmt.Sprintf("VLD1.P 4(R15), V%%[%d]d.S[%d]", 1+lane/4, lane%4))
		} else {
			text = append(text, fmt.Sprintf("VST1.P V%%[%d]d.S[%d], 4(R15)", 1+lane/4, lane%4))
		}
	}
	s := step{registers: []register{v[0], v[1], mask[0], mask[1]}, effect: true, format: strings.Join(text, "\n\t") + "\n\n" + end + ":"}
	if load {
		s.writes, s.tied, s.effect = 2, true, false
	}
	l.steps = append(l.steps, s)
	if load {
		l.set(v)
	}
}
