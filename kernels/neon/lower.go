package main

import (
	"fmt"
	"slices"
	"strings"
)

// register is a register of NEON before one of the thirty-two is chosen for it.
type register int

// none stands for half a vector that has no value, such as the upper half of what an instruction on X registers writes.
const none register = 0

// step is an instruction of the twin.
type step struct {
	encoding         // of an instruction on vectors
	format    string // or else the text, with the registers as %[1]d and so on
	registers []register
	writes    int  // the first of the registers are written
	tied      bool // the first is read too
	effect    bool // it does more than writing registers

	label, comment string
	branch         string // the label it may jump to
	leaves         bool   // the next step does not run after it
}

// moves reports whether a step copies a register.
func (s *step) moves() bool { return s.syntax == encodings["mov"].syntax }

// Registers of the twin. The general registers of amd64 have fixed counterparts. R14 and R15 are for single steps, others hold
// sums of addresses. R18, R27 to R30 belong to the platform and to Go.
var (
	generals = map[string]string{
		"AX": "R0", "CX": "R1", "DX": "R2", "BX": "R3", "SI": "R4", "DI": "R5", "R8": "R6", "R9": "R7", "R10": "R8", "R11": "R9",
		"R12": "R10", "R13": "R11", "R14": "R12", "R15": "R13", "BP": "R20", "SP": "",
	}
	sums = []string{"R16", "R17", "R19", "R21", "R22", "R23", "R24", "R25"}
)

const constants = "R26" // where the constants of vectors lie

// pool collects the constants of vectors of a file, each 16 bytes long.
type pool struct {
	values []string
	places map[string]int
}

func (p *pool) place(value string) int {
	at, known := p.places[value]
	if !known {
		at = len(p.values)
		p.places[value] = at
		p.values = append(p.values, value)
	}
	return at
}

// lowering turns a function into steps.
type lowering struct {
	*text
	*analysis
	pool  *pool
	f     *function
	steps []step
	last  register // the greatest register in use
	err   error

	line     int
	operands []operand
	index    map[string]string   // where an index was added to a base, by the two and the scale
	next     int                 // of sums
	kept     map[string]register // constants that stay in a register, by value
	keep     func(value string) bool
	uses     map[string]int // of constants that may stay in a register
	pooled   bool
	masks    int
}

// lower returns the steps of a function. keep says which constants stay in registers from its beginning on. The others are
// loaded at each use.
func (t *text) lower(f *function, p *pool, keep func(value string) bool) (*lowering, error) {
	a, err := t.analyse(f)
	if err != nil {
		return nil, err
	}
	l := &lowering{
		text: t, analysis: a, pool: p, f: f, index: map[string]string{}, kept: map[string]register{}, keep: keep,
		uses: map[string]int{},
	}
	for i := range f.lines {
		l.line = i
		line := &f.lines[i]
		switch {
		case line.comment != "":
			l.steps = append(l.steps, step{comment: line.comment})
		case line.label != "":
			l.index = map[string]string{}
			l.steps = append(l.steps, step{label: line.label})
		default:
			l.operands = line.operands
			if err := l.instruction(line); err != nil {
				return nil, fmt.Errorf("%s: %s %v: %w", f.name, line.op, line.operands, err)
			}
		}
		if l.err != nil {
			return nil, fmt.Errorf("%s: %s %v: %w", f.name, line.op, line.operands, l.err)
		}
	}
	var head []step
	if l.pooled {
		head = append(head, step{format: "MOVD $constants<>(SB), " + constants, effect: true})
		for _, value := range p.values {
			if r := l.kept[value]; r != none {
				head = append(head, l.constantLoad(r, value))
			}
		}
	}
	l.steps = append(head, l.steps...)
	return l, nil
}

// fresh returns a new register.
func (l *lowering) fresh() register {
	l.last++
	return l.last
}

// do appends an instruction on vectors that writes a new register, and returns it.
func (l *lowering) do(name string, sources ...register) register {
	e, known := encodings[name]
	if !known {
		panic("unknown instruction " + name)
	}
	return l.encoded(e, sources...)
}

func (l *lowering) encoded(e encoding, sources ...register) register {
	l.check(sources)
	to := l.fresh()
	l.steps = append(l.steps, step{encoding: e, registers: append([]register{to}, sources...), writes: 1})
	return to
}

// onto is do for an instruction that also reads what it writes: that starts as a copy of first.
func (l *lowering) onto(name string, first register, sources ...register) register {
	l.check(append(sources, first))
	to := l.do("mov", first)
	l.steps = append(l.steps, step{encoding: encodings[name], registers: append([]register{to}, sources...), writes: 1, tied: true})
	return to
}

// check notes an error if one of the registers is a half without a value.
func (l *lowering) check(registers []register) {
	if slices.Contains(registers, none) {
		l.err = fmt.Errorf("a half without a value is read")
	}
}

// raw appends a step that package obj's assembler knows.
func (l *lowering) raw(format string, values ...any) {
	l.steps = append(l.steps, step{format: fmt.Sprintf(format, values...), effect: true})
}

// load appends a load of registers. format has the registers as %[1]d and so on.
func (l *lowering) load(format string, count int) []register {
	s := step{format: format, writes: count}
	for range count {
		s.registers = append(s.registers, l.fresh())
	}
	l.steps = append(l.steps, s)
	return s.registers
}

// halves are the registers of the lower and the upper half of a vector, the same if the two halves are always the same.
type halves [2]register

// of returns the halves of a web.
func (l *lowering) of(w *web) halves {
	if w.halves[0] == none {
		w.halves[0] = l.fresh()
		switch {
		case w.narrow:
		case w.uniform:
			w.halves[1] = w.halves[0]
		default:
			w.halves[1] = l.fresh()
		}
	}
	return w.halves
}

// value returns the halves of operand i: of a register, of memory, or of a constant.
func (l *lowering) value(i int) halves {
	o := l.operands[i]
	switch o.kind {
	case vector:
		h := l.of(l.reads[l.line][i])
		if !o.wide {
			h[1] = none
		}
		return h
	case global:
		return l.constant(o.name, false)
	default:
		if l.narrow() {
			return halves{l.load("FMOVQ "+l.address(o, 0)+", F%[1]d", 1)[0], none}
		}
		r := l.load("FLDPQ "+l.address(o, 0)+", (F%[1]d, F%[2]d)", 2)
		return halves{r[0], r[1]}
	}
}

// narrow reports whether the instruction is on X registers.
func (l *lowering) narrow() bool {
	for _, o := range l.operands {
		if o.kind == vector && o.wide {
			return false
		}
	}
	return true
}

// constant returns the halves of a constant. If it is an addend, which the sum replaces, it is loaded at each use.
func (l *lowering) constant(name string, addend bool) halves {
	data := string(l.data[name])
	var h halves
	for i := range h {
		value := data[16*i:][:16]
		if i == 1 && value == data[:16] && !addend {
			h[1] = h[0]
			break
		}
		h[i] = l.constantIn(value, addend)
	}
	return h
}

func (l *lowering) constantIn(value string, addend bool) register {
	l.pooled = true
	l.pool.place(value)
	if !addend {
		l.uses[value]++
		if l.keep(value) {
			if l.kept[value] == none {
				l.kept[value] = l.fresh()
			}
			return l.kept[value]
		}
	}
	s := l.constantLoad(l.fresh(), value)
	l.steps = append(l.steps, s)
	return s.registers[0]
}

func (l *lowering) constantLoad(to register, value string) step {
	at := ""
	if place := l.pool.place(value); place > 0 {
		at = fmt.Sprint(16 * place)
	}
	return step{format: "FMOVQ " + at + "(" + constants + "), F%[1]d", registers: []register{to}, writes: 1}
}

// set makes halves the value that the instruction writes.
func (l *lowering) set(h halves) {
	w := l.writes[l.line]
	to := l.of(w)
	wide := l.operands[len(l.operands)-1].wide
	for i := range to {
		if i == 1 && (!wide || to[1] == none || to[1] == to[0]) {
			break
		}
		l.check(h[i : i+1])
		l.steps = append(l.steps, step{encoding: encodings["mov"], registers: []register{to[i], h[i]}, writes: 1})
	}
}

// both sets the result to what f returns for each half. If the result and the operands are the same in both halves, f runs
// once.
func (l *lowering) both(f func(half int) register) {
	var h halves
	h[0] = f(0)
	w := l.writes[l.line]
	switch {
	case w.uniform:
		h[1] = h[0]
	case l.operands[len(l.operands)-1].wide:
		h[1] = f(1)
	}
	l.set(h)
}

// address returns the text of an address and offset more bytes. Where there is an index, it adds it to the base first.
func (l *lowering) address(o operand, offset int) string {
	if o.kind == parameter {
		return fmt.Sprintf("%s+%d(FP)", o.name, o.disp+offset)
	}
	base := generals[o.base]
	if o.base == "SP" {
		l.err = fmt.Errorf("memory on the stack is addressed by LEAQ only")
	}
	if o.index != "" {
		base = l.sum(o)
	}
	if o.disp+offset == 0 {
		return "(" + base + ")"
	}
	return fmt.Sprintf("%d(%s)", o.disp+offset, base)
}

// sum returns the register that holds the base and the index of an operand.
func (l *lowering) sum(o operand) string {
	key := fmt.Sprint(o.base, " ", o.index, " ", o.scale)
	if r, known := l.index[key]; known {
		return r
	}
	r := sums[l.next]
	l.next = (l.next + 1) % len(sums)
	for k, v := range l.index {
		if v == r {
			delete(l.index, k)
		}
	}
	l.index[key] = r
	l.raw("ADD %s, %s, %s", scaled(o), generals[o.base], r)
	return r
}

// scaled returns the text of an index times its scale.
func scaled(o operand) string {
	if bits := map[int]int{1: 0, 2: 1, 4: 2, 8: 3}[o.scale]; bits > 0 {
		return fmt.Sprintf("%s<<%d", generals[o.index], bits)
	}
	return generals[o.index]
}

// changed forgets the sums of a register that changes.
func (l *lowering) changed(name string) {
	for k := range l.index {
		if slices.Contains(strings.Fields(k)[:2], name) {
			delete(l.index, k)
		}
	}
}
