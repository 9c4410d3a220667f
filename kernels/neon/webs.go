package main

import (
	"bytes"
	"fmt"
	"strings"
)

// web is a set of definitions of a vector register that have uses in common, and these uses: a value, whatever register it
// lies in.
type web struct {
	// uniform says that both halves of the vector are always the same. One register of NEON then holds both.
	uniform bool
	// narrow says that the upper half has no value.
	narrow bool
	// mask says that each lane has either all bits or none.
	mask bool
	// element says that the value is only ever a factor, and that every definition loads one value into all lanes. NEON
	// multiplies by a lane of a vector, so that one lane suffices.
	element bool
	// indices are the lanes that the constant in this web selects, if it is the operand of a permutation.
	indices []int

	halves [2]register // of NEON, made on demand
}

// uses returns the operands of an instruction that are vector registers it reads, and the operand that is the vector register
// it writes, or −1.
func (l *line) uses() (read []int, written int) {
	last := len(l.operands) - 1
	written = -1
	if l.op == "" || last < 0 {
		return nil, -1
	}
	if l.operands[last].kind == vector {
		written = last
	}
	if l.clears() {
		return nil, written
	}
	for i, o := range l.operands {
		if o.kind == vector && (i != last || l.accumulates()) {
			read = append(read, i)
		}
	}
	return read, written
}

// clears reports whether an instruction sets a vector to 0, by an exclusive or of a register and itself.
func (l *line) clears() bool {
	return l.op == "VXORPS" && l.operands[0] == l.operands[1]
}

// accumulates reports whether the register that an instruction writes is an operand too.
func (l *line) accumulates() bool {
	return strings.HasPrefix(l.op, "VFMADD") || strings.HasPrefix(l.op, "VFMSUB") || strings.HasPrefix(l.op, "VFNM")
}

// analysis has the webs of a function: reads and writes are by line and operand.
type analysis struct {
	reads  []map[int]*web
	writes []*web
	all    []*web
}

// successors returns the lines that may run after line i.
func (f *function) successors(i int) []int {
	l := &f.lines[i]
	var next []int
	if l.op != "RET" && l.op != "JMP" && i+1 < len(f.lines) {
		next = append(next, i+1)
	}
	if strings.HasPrefix(l.op, "J") {
		for k := range f.lines {
			if f.lines[k].label == l.operands[0].name {
				next = append(next, k)
			}
		}
	}
	return next
}

// analyse finds the webs of a function. It fails if a register is read that was not written.
func (t *text) analyse(f *function) (*analysis, error) {
	// The definitions that reach each line, by register.
	type reaching [registers]map[int]bool
	before := make([]reaching, len(f.lines))
	work := []int{0}
	seen := make([]bool, len(f.lines))
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		seen[i] = true
		after := before[i]
		if _, written := f.lines[i].uses(); written >= 0 {
			after[f.lines[i].operands[written].n] = map[int]bool{i: true}
		}
		for _, next := range f.successors(i) {
			changed := !seen[next]
			for r := range after {
				for d := range after[r] {
					if !before[next][r][d] {
						if before[next][r] == nil {
							before[next][r] = map[int]bool{}
						}
						before[next][r][d] = true
						changed = true
					}
				}
			}
			if changed {
				work = append(work, next)
			}
		}
	}

	// Definitions that reach the same use are joined.
	parent := make([]int, len(f.lines))
	for i := range parent {
		parent[i] = i
	}
	var root func(i int) int
	root = func(i int) int {
		if parent[i] != i {
			parent[i] = root(parent[i])
		}
		return parent[i]
	}
	type use struct{ line, operand, definition int }
	var uses []use
	for i := range f.lines {
		read, _ := f.lines[i].uses()
		for _, o := range read {
			first := -1
			for d := range before[i][f.lines[i].operands[o].n] {
				if first < 0 {
					first = d
				}
				parent[root(d)] = root(first)
			}
			if first < 0 {
				return nil, fmt.Errorf("%s: %s reads a vector that has no value", f.name, f.lines[i].op)
			}
			uses = append(uses, use{i, o, first})
		}
	}
	a := &analysis{reads: make([]map[int]*web, len(f.lines)), writes: make([]*web, len(f.lines))}
	byRoot := map[int]*web{}
	for i := range f.lines {
		if _, written := f.lines[i].uses(); written >= 0 {
			r := root(i)
			if byRoot[r] == nil {
				byRoot[r] = &web{uniform: true, mask: true, element: true}
				a.all = append(a.all, byRoot[r])
			}
			a.writes[i] = byRoot[r]
		}
	}
	for _, u := range uses {
		if a.reads[u.line] == nil {
			a.reads[u.line] = map[int]*web{}
		}
		a.reads[u.line][u.operand] = byRoot[root(u.definition)]
	}
	t.properties(f, a)
	return a, nil
}

// within are the instructions that compute each lane from the same lane of their operands.
var within = map[string]bool{
	"VADDPS": true, "VSUBPS": true, "VMULPS": true, "VDIVPS": true, "VMAXPS": true, "VMINPS": true, "VSQRTPS": true,
	"VADDPD": true, "VSUBPD": true, "VMULPD": true, "VDIVPD": true, "VMAXPD": true, "VMINPD": true, "VANDPS": true,
	"VANDNPS": true, "VORPS": true, "VXORPS": true, "VPAND": true, "VPADDD": true, "VPSUBD": true, "VPADDQ": true,
	"VPSUBQ": true, "VPMULDQ": true, "VPSLLD": true, "VPSRAD": true, "VPSLLQ": true, "VPSRLQ": true, "VCMPPS": true, "VCMPPD": true,
	"VBLENDVPS": true, "VROUNDPS": true, "VCVTPS2DQ": true, "VCVTTPS2DQ": true, "VCVTDQ2PS": true, "VMOVAPS": true,
	"VMOVUPS": true, "VMOVUPD": true, "VMOVDQU": true, "VFMADD231PS": true, "VFNMADD231PS": true, "VFMSUB231PS": true,
	"VFNMSUB231PS": true, "VFMADD213PS": true, "VFMADD213PD": true, "VFMSUB213PS": true, "VFMADD132PS": true,
	"VBLENDVPD": true,
}

// properties finds out what is known of webs: all is assumed, and what does not hold is taken away until nothing changes.
func (t *text) properties(f *function, a *analysis) {
	for changed := true; changed; {
		changed = false
		for i := range f.lines {
			l, w := &f.lines[i], a.writes[i]
			if w == nil {
				continue
			}
			if w.uniform && !t.uniform(l, a.reads[i]) {
				w.uniform, changed = false, true
			}
		}
	}
	for i := range f.lines {
		l, w := &f.lines[i], a.writes[i]
		if w != nil {
			w.narrow = w.narrow || !l.operands[len(l.operands)-1].wide
			w.mask = w.mask && l.op == "VCMPPS"
			w.element = w.element && l.op == "VBROADCASTSS" && l.operands[0].kind == memory
			if l.op == "VMOVUPS" && l.operands[0].kind == global {
				w.indices = lanesOf(t.data[l.operands[0].name])
			}
		}
		for o, w := range a.reads[i] {
			// The other factor must be a whole vector.
			other := map[int]int{0: 1, 1: 0}
			partner := a.reads[i][other[o]]
			switch {
			case l.op != "VMULPS" && !strings.HasSuffix(l.op, "231PS"), o > 1, l.op == "VFMADDSUB231PS", partner == w:
				w.element = false
			case partner != nil && partner.element && w.element && o == 0:
				w.element = false
			}
		}
	}
}

// uniform reports whether the instruction writes the same to both halves.
func (t *text) uniform(l *line, reads map[int]*web) bool {
	if !l.operands[len(l.operands)-1].wide {
		return false
	}
	switch {
	case l.op == "VBROADCASTSS", l.op == "VBROADCASTSD", l.op == "VBROADCASTF128", l.clears():
		return true
	case l.op == "VPERMPD":
		_, one := broadcastLane(l)
		return one
	case !within[l.op]:
		return false
	}
	for i, o := range l.operands {
		switch o.kind {
		case vector:
			if w := reads[i]; w != nil && !w.uniform {
				return false
			}
		case global:
			if d := t.data[o.name]; !bytes.Equal(d[:16], d[16:32]) {
				return false
			}
		case memory, parameter:
			return false
		}
	}
	return true
}

// lanesOf returns the lanes that a constant of eight words selects, or nil if it selects none.
func lanesOf(data []byte) []int {
	var lanes []int
	for ; len(data) >= 4; data = data[4:] {
		if data[0] > 7 || data[1]|data[2]|data[3] != 0 {
			return nil
		}
		lanes = append(lanes, int(data[0]))
	}
	return lanes
}
