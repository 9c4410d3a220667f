package calibration

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// decodeHost decodes the host that is a part of the text. Most of a host are the numbers of its surfaces: shapes and weights.
// They are read here, in a tenth of the time that encoding/json takes, while encoding/json decodes the rest. A host in which
// something is unusual is decoded by encoding/json alone, which also says what is wrong.
func (t text) decodeHost(at span, h *Host) error {
	n := numbers{from: t}
	if rest, ok := n.takeHost(at); ok {
		read := make(chan bool, 1)
		go func() { read <- n.read() }()
		err := json.Unmarshal(rest, h)
		if <-read && err == nil && rest.checkNumbers(0) == nil && n.fill(h) {
			return nil
		}
	}
	*h = Host{}
	if err := t.decode(at, h); err != nil {
		return err
	}
	return t.checkNumbers(at.start)
}

// numbers are those of the surfaces of a host.
type numbers struct {
	from  text
	lists []list
}

// list is the list of a surface's shapes, or of the weights of one of its implementations.
type list struct {
	operation, implementation int // implementation is −1 for shapes
	at                        span
	shapes                    []int
	weights                   []float64
}

// takeHost finds the lists of a host. It returns the text of the host with [] in place of each, or false if encoding/json may
// understand the text in another way.
func (n *numbers) takeHost(at span) (rest text, ok bool) {
	operation := 0
	_, err := n.member(at.start, map[string]visit{"operations": func(i int) (int, error) {
		return n.from.array(i, func(i int) (int, error) {
			behind, err := n.member(i, map[string]visit{"surface": func(i int) (int, error) { return n.takeSurface(i, operation) }})
			operation++
			return behind, err
		})
	}})
	start := at.start
	for _, l := range n.lists {
		rest = append(append(rest, n.from[start:l.at.start]...), "[]"...)
		start = l.at.end
	}
	return append(rest, n.from[start:at.end]...), err == nil
}

// takeSurface finds the lists of a surface and returns the offset behind it.
func (n *numbers) takeSurface(i, operation int) (int, error) {
	implementation := -1
	take := func(i int) (int, error) {
		behind, err := n.from.skipValue(i)
		if err == nil {
			n.lists = append(n.lists, list{operation: operation, implementation: implementation, at: span{i, behind}})
		}
		return behind, err
	}
	return n.member(i, map[string]visit{"shapes": take, "implementations": func(i int) (int, error) {
		defer func() { implementation = -1 }()
		return n.from.array(i, func(i int) (int, error) {
			implementation++
			return n.member(i, map[string]visit{"weights": take})
		})
	}})
}

// read reads the lists. It returns false if one is no list of numbers.
func (n *numbers) read() bool {
	for k := range n.lists {
		l := &n.lists[k]
		ok := false
		if l.implementation < 0 {
			l.shapes, ok = numbersIn(n.from[l.at.start:l.at.end], text.integer)
		} else {
			l.weights, ok = numbersIn(n.from[l.at.start:l.at.end], text.number)
		}
		if !ok {
			return false
		}
	}
	return true
}

// errUnusual stands for whatever encoding/json is to decode or to refuse.
var errUnusual = errors.New("unusual")

// visit reads a value and returns the offset behind it.
type visit func(at int) (int, error)

// member visits some members of the object that starts at an offset, and returns the offset behind it. It fails if such a
// member is there twice, or in capital letters: encoding/json has rules for that.
func (n *numbers) member(i int, visits map[string]visit) (int, error) {
	seen := map[string]bool{}
	return n.from.object(i, func(key string, at int) (int, error) {
		for name, visit := range visits {
			if !strings.EqualFold(key, name) {
				continue
			}
			if key != name || seen[name] {
				return 0, errUnusual
			}
			seen[name] = true
			return visit(at)
		}
		return n.from.skipValue(at)
	})
}

// fill puts the lists into a host that was decoded without them. It returns false if they do not fit.
func (n *numbers) fill(h *Host) bool {
	for _, l := range n.lists {
		if l.operation >= len(h.Operations) {
			return false
		}
		s := &h.Operations[l.operation].Surface
		switch {
		case l.implementation < 0:
			s.Shapes = l.shapes
		case l.implementation >= len(s.Implementations):
			return false
		default:
			s.Implementations[l.implementation].Weights = l.weights
		}
	}
	return true
}

// numbersIn reads a list of numbers. read reads the number at an offset and returns the offset behind it, 0 if there is none.
// numbersIn returns false if the text is no such list.
func numbersIn[T any](list text, read func(text, int) (T, int)) (all []T, ok bool) {
	if list[0] != '[' {
		return nil, false
	}
	all = make([]T, 0, 1+bytes.Count(list, []byte(",")))
	i := list.skipSpace(1)
	if list.at(i) == ']' {
		return all, true
	}
	for {
		number, behind := read(list, i)
		if behind == 0 {
			return nil, false
		}
		all = append(all, number)
		i = list.skipSpace(behind)
		switch list.at(i) {
		case ']':
			return all, true
		case ',':
			i = list.skipSpace(i + 1)
		default:
			return nil, false
		}
	}
}

// integer reads the whole number of at most nine digits that starts at an offset, and returns the offset behind it. That is 0
// for other text.
func (t text) integer(i int) (v, behind int) {
	start, negative := i, t.at(i) == '-'
	if negative {
		start++
	}
	for i = start; i < len(t) && isDigit(t[i]); i++ {
		v = 10*v + int(t[i]-'0')
	}
	switch c := t.at(i); {
	case i == start, i > start+9, t[start] == '0' && i > start+1, c == '.', c == 'e', c == 'E':
		return 0, 0
	case negative:
		v = -v
	}
	return v, i
}

// number reads the number that starts at an offset, and returns the offset behind it. That is 0 for other text.
func (t text) number(i int) (v float64, behind int) {
	start, negative := i, t.at(i) == '-'
	if negative {
		i++
	}
	digits, mantissa := i, uint64(0)
	for i < len(t) && isDigit(t[i]) {
		mantissa = 10*mantissa + uint64(t[i]-'0')
		i++
	}
	point, decimals := i, 0
	if t.at(i) == '.' {
		for i++; i < len(t) && isDigit(t[i]); i++ {
			mantissa = 10*mantissa + uint64(t[i]-'0')
		}
		if decimals = i - (point + 1); decimals == 0 {
			return 0, 0
		}
	}
	if point == digits || t[digits] == '0' && point > digits+1 {
		return 0, 0
	}
	exact := i-digits <= 15 // fifteen digits have at most 53 bits
	if letter := t.at(i); letter == 'e' || letter == 'E' {
		exact = false
		if i++; t.at(i) == '-' || t.at(i) == '+' {
			i++
		}
		if !isDigit(t.at(i)) {
			return 0, 0
		}
		for isDigit(t.at(i)) {
			i++
		}
	}
	if !exact {
		v, err := strconv.ParseFloat(string(t[start:i]), 64)
		if err != nil {
			return 0, 0
		}
		return v, i
	}
	v = float64(mantissa) / powers[decimals]
	if negative {
		v = -v
	}
	return v, i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// powers are the powers of ten that are exact, as far as they are needed. A whole number of at most 53 bits over one of them
// is the nearest number to the decimal.
//
// Source: W. Clinger, How to Read Floating Point Numbers Accurately, PLDI 1990.
var powers = [16]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}
