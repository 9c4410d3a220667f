package calibration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// text is the JSON text of a whole file. Its methods find places in the text without decoding it, so that one of many hosts
// can be decoded alone. encoding/json would take some ten times as long. The methods check only what they need: a part that
// they skip may be nonsense between its brackets. encoding/json decodes and checks the parts that they return.
type text []byte

// remedy is what to do about a file whose text is damaged. It does not name --force, because such a file may hold other hosts.
const remedy = "restore it, e.g. from git, or move it away and calibrate again"

// span is the part t[start:end] of a text that has one value.
type span struct{ start, end int }

// at returns the byte at an offset. Beyond the end it returns 0, which no JSON text contains.
func (t text) at(i int) byte {
	if i < len(t) {
		return t[i]
	}
	return 0
}

// line returns the number of the line at an offset.
func (t text) line(i int) int { return 1 + bytes.Count(t[:min(i, len(t))], []byte("\n")) }

// stop returns the error for an unexpected byte at an offset.
func (t text) stop(i int, want string) error {
	if i >= len(t) {
		return fmt.Errorf("line %d: the file is cut short (%s)", t.line(i), remedy)
	}
	return fmt.Errorf("line %d: want %s, as calibrate writes it (%s)", t.line(i), want, remedy)
}

// syntax returns an error if the text is not JSON.
func (t text) syntax() error {
	if json.Valid(t) {
		return nil
	}
	return t.decode(span{0, len(t)}, new(json.RawMessage))
}

// decode decodes one value. Its error is one line that names the line of the text and, inside an object, the field.
func (t text) decode(at span, into any) error {
	err := json.Unmarshal(t[at.start:at.end], into)
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset := at.start + int(syntax.Offset)
		if offset >= len(t) && strings.HasPrefix(err.Error(), "unexpected end") {
			return t.stop(offset, "")
		}
		return fmt.Errorf("line %d: not JSON, %w (%s)", t.line(offset), err, remedy)
	}
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		place := ""
		if mistyped.Field != "" {
			place = mistyped.Field + ": "
		}
		line := t.line(at.start + int(mistyped.Offset))
		return fmt.Errorf("line %d: %sgot %s (want %s)", line, place, cut(mistyped.Value, mostQuoted), kindOf(mistyped.Type))
	}
	if wrong := t.mistimed(at.start); wrong.end > 0 { // the decoder does not say where a time is wrong
		got := cut(string(t[wrong.start:wrong.end]), mostQuoted)
		clean(&got)
		return fmt.Errorf("line %d: %s: got %s (want a time such as \"2026-11-03T12:00:00Z\")", t.line(wrong.start), timeField, got)
	}
	message := cut(err.Error(), 2*mostQuoted)
	clean(&message)
	return fmt.Errorf("line %d: %s (%s)", t.line(at.start), message, remedy)
}

// kindOf says in a word what JSON has for values of a type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number"
	}
	return "a number"
}

// timeField is the name of every field that has a time.
const timeField = "created"

var errFound = errors.New("found")

// mistimed returns the first time that is none, in the value that starts at t[i]. It returns an empty span if there is none.
func (t text) mistimed(i int) (wrong span) {
	var value func(i int) (int, error)
	member := func(key string, i int) (int, error) {
		behind, err := t.skipValue(i)
		if key != timeField || err != nil {
			return value(i)
		}
		if json.Unmarshal(t[i:behind], new(time.Time)) != nil {
			wrong = span{i, behind}
			return 0, errFound
		}
		return behind, nil
	}
	value = func(i int) (int, error) {
		switch t.at(i) {
		case '{':
			return t.object(i, member)
		case '[':
			return t.array(i, value)
		}
		return t.skipValue(i)
	}
	value(t.skipSpace(i)) // its error is errFound, or that of a text which is no JSON and was refused before
	return wrong
}

// object calls visit with each key of the object that starts at t[i] and with the offset of its value; visit returns
// the offset behind the value. object returns the offset behind the object.
func (t text) object(i int, visit func(key string, at int) (int, error)) (int, error) {
	return t.members(i, '{', '}', func(i int) (int, error) {
		behind, err := t.skipString(i)
		if err != nil {
			return 0, err
		}
		var key string
		if err := t.decode(span{i, behind}, &key); err != nil {
			return 0, err
		}
		i = t.skipSpace(behind)
		if t.at(i) != ':' {
			return 0, t.stop(i, "a colon")
		}
		return visit(key, t.skipSpace(i+1))
	})
}

// value decodes the value that starts at t[i] and returns the offset behind it.
func (t text) value(i int, into any) (int, error) {
	behind, err := t.skipValue(i)
	if err != nil {
		return 0, err
	}
	return behind, t.decode(span{i, behind}, into)
}

// array calls element with the offset of each element of the array that starts at t[i]; element returns the offset
// behind it. array returns the offset behind the array.
func (t text) array(i int, element func(int) (int, error)) (int, error) {
	return t.members(i, '[', ']', element)
}

// members walks over the text between two brackets, separated by commas. member takes the offset of one member and
// returns the offset behind that member. members returns the offset behind the closing bracket.
func (t text) members(i int, open, shut byte, member func(int) (int, error)) (int, error) {
	if t.at(i) != open {
		return 0, t.stop(i, fmt.Sprintf("%q", open))
	}
	i = t.skipSpace(i + 1)
	if t.at(i) == shut {
		return i + 1, nil
	}
	for {
		behind, err := member(i)
		if err != nil {
			return 0, err
		}
		i = t.skipSpace(behind)
		switch t.at(i) {
		case shut:
			return i + 1, nil
		case ',':
			i = t.skipSpace(i + 1)
		default:
			return 0, t.stop(i, fmt.Sprintf("a comma or %q", shut))
		}
	}
}

// skipValue returns the offset behind the value that starts at t[i].
func (t text) skipValue(i int) (int, error) {
	switch t.at(i) {
	case '"':
		return t.skipString(i)
	case '{', '[':
		return t.skipNested(i)
	}
	behind := i
	for behind < len(t) && strings.IndexByte(",]} \t\r\n", t[behind]) < 0 {
		behind++
	}
	if behind == i || behind == len(t) {
		return 0, t.stop(behind, "a value")
	}
	return behind, nil
}

// structural marks the bytes that skipNested must look at. Most bytes are not marked, and a table is the fastest way
// past them.
var structural = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

// skipNested returns the offset behind the object or array that starts at t[i].
func (t text) skipNested(i int) (int, error) {
	depth, shut := 0, 0
	for i < len(t) {
		if !structural[t[i]] {
			i++
			continue
		}
		switch t[i] {
		case '"':
			behind, err := t.skipString(i)
			if err != nil {
				return 0, err
			}
			i = behind
			continue
		case '[':
			depth++
			if shut <= i {
				shut = t.next(i, ']')
			}
			if t.isFlat(i+1, shut) { // a list of numbers, as most of a file
				i = shut
				continue
			}
		case '{':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i, nil
		}
	}
	return 0, t.stop(i, "")
}

// next returns the offset of the next byte of a kind from t[i] on, and the end of the text if there is none.
func (t text) next(i int, kind byte) int {
	if n := bytes.IndexByte(t[i:], kind); n >= 0 {
		return i + n
	}
	return len(t)
}

// isFlat reports whether t[start:end] has no strings, objects and arrays. It looks for arrays first. In a text of many
// brackets the next one is near, so that such a text takes no more time than others.
func (t text) isFlat(start, end int) bool {
	part := t[start:end]
	return end < len(t) && bytes.IndexByte(part, '[') < 0 && bytes.IndexByte(part, '"') < 0 && bytes.IndexByte(part, '{') < 0
}

// skipString returns the offset behind the string that starts at t[i].
func (t text) skipString(i int) (int, error) {
	if t.at(i) != '"' {
		return 0, t.stop(i, "a string")
	}
	for i++; i < len(t); i++ {
		switch t[i] {
		case '\\':
			i++
		case '"':
			return i + 1, nil
		}
	}
	return 0, t.stop(i, "")
}

// skipSpace returns the offset of the first byte from t[i] on that is not white space.
func (t text) skipSpace(i int) int {
	for i < len(t) && (t[i] == ' ' || t[i] == '\n' || t[i] == '\t' || t[i] == '\r') {
		i++
	}
	return i
}

// checkNumbers refuses a null among the numbers of the operations of the host that starts at an offset.
func (t text) checkNumbers(start int) error {
	_, err := t.object(start, func(key string, at int) (int, error) {
		behind, err := t.skipValue(at)
		if err == nil && strings.EqualFold(key, "operations") {
			if err = t.noNullIn(span{at, behind}); err != nil {
				err = fmt.Errorf("operations: %w", err)
			}
		}
		return behind, err
	})
	return err
}

// noNullIn refuses a null among the elements of an array inside a value. encoding/json would read it as 0.
func (t text) noNullIn(at span) error {
	for i := at.start; i < at.end; i++ {
		switch t[i] {
		case '"':
			behind, err := t.skipString(i)
			if err != nil {
				return err
			}
			i = behind - 1
		case '[', ',':
			if element := t.skipSpace(i + 1); t.at(element) == 'n' {
				return fmt.Errorf("line %d: got null in a list (want a value)", t.line(element))
			}
		}
	}
	return nil
}
