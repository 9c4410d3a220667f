package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// text is a file of assembly for amd64, as package avo prints it.
type text struct {
	functions []*function
	data      map[string][]byte // read-only memory by its symbol
}

// function is a function of a file of assembly.
type function struct {
	name, signature string
	flags           string // such as NOSPLIT
	frame, args     int    // bytes
	lines           []line
}

// line is a label, a comment or an instruction.
type line struct {
	label, comment string
	op             string
	operands       []operand
}

// kind says what an operand is.
type kind int

const (
	vector    kind = iota // X or Y register number n
	general               // general register, by the name of its 64 bits
	immediate             // value
	memory                // disp(base)(index*scale)
	parameter             // name+disp(FP)
	global                // name<>+disp(SB)
	target                // name of a label
)

type operand struct {
	kind        kind
	name        string
	n           int // number of a vector register
	wide        bool
	value       int64
	base, index string
	scale, disp int
}

// registers is the number of vector registers that AVX2 has.
const registers = 16

var (
	textLine   = regexp.MustCompile(`^TEXT ·(\w+)\(SB\), ([\w|]+), \$(\d+)-(\d+)$`)
	dataLine   = regexp.MustCompile(`^DATA (\w+)<>\+(\d+)\(SB\)/(\d+), \$(\S+)$`)
	globalName = regexp.MustCompile(`^(\w+)<>\+(\d+)\(SB\)$`)
	paramName  = regexp.MustCompile(`^(\w+)\+(\d+)\(FP\)$`)
	address    = regexp.MustCompile(`^([+-]?\d+)?\((\w+)\)(?:\((\w+)\*(\d)\))?$`)
	vectorName = regexp.MustCompile(`^([XYZ])(\d+)$`)
	byteName   = regexp.MustCompile(`^([ABCD])L$`)
)

// parse reads assembly for amd64.
func parse(source string) (*text, error) {
	t := &text{data: map[string][]byte{}}
	var f *function
	signature := ""
	for number, s := range strings.Split(source, "\n") {
		s = strings.TrimRight(s, " ")
		fail := func(err error) error { return fmt.Errorf("line %d: %q: %w", number+1, s, err) }
		switch {
		case s == "" || strings.HasPrefix(s, "#include") || strings.HasPrefix(s, "GLOBL "):
		case strings.HasPrefix(s, "// func "):
			signature = strings.TrimPrefix(s, "// ")
		case strings.HasPrefix(s, "//"):
		case strings.HasPrefix(s, "TEXT "):
			m := textLine.FindStringSubmatch(s)
			if m == nil {
				return nil, fail(fmt.Errorf("not a TEXT that this command knows"))
			}
			frame, _ := strconv.Atoi(m[3])
			args, _ := strconv.Atoi(m[4])
			f = &function{name: m[1], signature: signature, flags: m[2], frame: frame, args: args}
			t.functions = append(t.functions, f)
		case strings.HasPrefix(s, "DATA "):
			if err := t.datum(s); err != nil {
				return nil, fail(err)
			}
		case strings.HasPrefix(s, "\t// "):
			f.lines = append(f.lines, line{comment: strings.TrimPrefix(s, "\t// ")})
		case strings.HasSuffix(s, ":"):
			f.lines = append(f.lines, line{label: strings.TrimSuffix(s, ":")})
		case strings.HasSuffix(f.name, wide): // is left out, and has operands that this command does not know
		default:
			l, err := instruction(strings.TrimSpace(s))
			if err != nil {
				return nil, fail(err)
			}
			f.lines = append(f.lines, l)
		}
	}
	return t, nil
}

// datum adds a DATA line to the memory of its symbol.
func (t *text) datum(s string) error {
	m := dataLine.FindStringSubmatch(s)
	if m == nil {
		return fmt.Errorf("not a DATA that this command knows")
	}
	offset, _ := strconv.Atoi(m[2])
	if offset != len(t.data[m[1]]) {
		return fmt.Errorf("the data of %s have a gap", m[1])
	}
	switch value := strings.Trim(m[4], "()"); {
	case m[3] == "4" && value != m[4]:
		v, err := strconv.ParseFloat(value, 32)
		if err != nil {
			return err
		}
		t.data[m[1]] = binary.LittleEndian.AppendUint32(t.data[m[1]], math.Float32bits(float32(v)))
	case m[3] == "4":
		v, err := strconv.ParseUint(value, 0, 32)
		if err != nil {
			return err
		}
		t.data[m[1]] = binary.LittleEndian.AppendUint32(t.data[m[1]], uint32(v))
	case m[3] == "8":
		v, err := strconv.ParseUint(value, 0, 64)
		if err != nil {
			return err
		}
		t.data[m[1]] = binary.LittleEndian.AppendUint64(t.data[m[1]], v)
	default:
		return fmt.Errorf("data of %s bytes", m[3])
	}
	return nil
}

func instruction(s string) (line, error) {
	op, rest, _ := strings.Cut(s, " ")
	l := line{op: op}
	if rest = strings.TrimSpace(rest); rest == "" {
		return l, nil
	}
	for _, o := range strings.Split(rest, ", ") {
		parsed, err := parseOperand(o, strings.HasPrefix(op, "J"))
		if err != nil {
			return l, err
		}
		l.operands = append(l.operands, parsed)
	}
	return l, nil
}

func parseOperand(s string, jump bool) (operand, error) {
	if jump {
		return operand{kind: target, name: s}, nil
	}
	if value, ok := strings.CutPrefix(s, "$"); ok {
		v, err := strconv.ParseInt(value, 0, 64)
		return operand{kind: immediate, value: v}, err
	}
	if m := vectorName.FindStringSubmatch(s); m != nil {
		n, _ := strconv.Atoi(m[2])
		if n >= registers {
			return operand{}, fmt.Errorf("%s is a register of AVX-512 only", s)
		}
		return operand{kind: vector, n: n, wide: m[1] != "X"}, nil
	}
	if m := globalName.FindStringSubmatch(s); m != nil {
		disp, _ := strconv.Atoi(m[2])
		return operand{kind: global, name: m[1], disp: disp}, nil
	}
	if m := paramName.FindStringSubmatch(s); m != nil {
		disp, _ := strconv.Atoi(m[2])
		return operand{kind: parameter, name: m[1], disp: disp}, nil
	}
	if m := address.FindStringSubmatch(s); m != nil {
		o := operand{kind: memory, base: m[2], index: m[3]}
		o.disp, _ = strconv.Atoi(m[1])
		o.scale, _ = strconv.Atoi(m[4])
		return o, nil
	}
	name := s
	if m := byteName.FindStringSubmatch(s); m != nil {
		name = m[1] + "X"
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, "B"), "L")
	if _, known := generals[name]; !known {
		return operand{}, fmt.Errorf("unknown operand %q", s)
	}
	return operand{kind: general, name: name}, nil
}
