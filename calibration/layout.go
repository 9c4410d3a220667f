package calibration

import "bytes"

// mostColumns is the greatest number of bytes in a line of several values.
const mostColumns = 200

// layOut returns a compact text with line breaks, and no spaces behind the commas of a line. An object or array has one line if
// it fits into one. Otherwise its text is one space further right, and each value of an array begins a line, such as an
// implementation. A line has as many fields of an object as fit, and as many numbers of a list, because each host has many
// thousands of both. A field that fits into no line begins one, and the field behind it begins another one. The text must be that
// of encoding/json.
func layOut(compact []byte, indentation int) []byte {
	l := layout{from: compact}
	l.value(0, indentation, 0)
	return l.to.Bytes()
}

// layout is a text that is laid out.
type layout struct {
	from text
	to   bytes.Buffer
	line int // where the last line begins
}

// value writes the value that starts at an offset and returns the offset behind it. indentation is that of the value's line,
// and behind is the number of bytes that follow it on its last line.
func (l *layout) value(at, indentation, behind int) int {
	end := l.end(at)
	if nested := l.from[at] == '{' || l.from[at] == '['; !nested || l.inLine(at, end, mostColumns-behind) {
		if !nested {
			l.to.Write(l.from[at:end])
		}
		return end
	}
	if first := l.from[at+1]; l.from[at] == '[' && (first == '-' || '0' <= first && first <= '9') {
		l.numbers(at, end, indentation)
		return end
	}
	object := l.from[at] == '{'
	l.to.WriteByte(l.from[at])
	alone := true // the next field begins a line
	for at++; at < end-1; at++ {
		if behind := l.endOfField(at); object && !alone && l.inLine(at, behind, mostColumns-len(",")) {
			at = behind
		} else {
			l.breakLine(indentation + 1)
			if object {
				colon := l.end(at)
				l.to.Write(l.from[at:colon])
				l.to.WriteString(": ")
				at = colon + 1
			}
			line := l.line
			at = l.value(at, indentation+1, len(","))
			alone = l.line != line
		}
		if l.from[at] == ',' {
			l.to.WriteByte(',')
		}
	}
	l.breakLine(indentation)
	l.to.WriteByte(l.from[end-1])
	return end
}

// endOfField returns the offset behind the field of an object, or behind the value of an array, that starts at an offset.
func (l *layout) endOfField(at int) int {
	end := l.end(at)
	if l.from[end] == ':' {
		end = l.end(end + 1)
	}
	return end
}

// inLine writes an object, array or field behind the last line's text, if the line then has at most so many bytes. Otherwise it
// writes nothing.
func (l *layout) inLine(at, end, most int) bool {
	start := l.to.Len()
	for at < end {
		behind := at + 1
		if l.from[at] == '"' {
			behind = l.end(at)
		}
		l.to.Write(l.from[at:behind])
		if l.from[at] == ':' {
			l.to.WriteByte(' ')
		}
		if at = behind; l.to.Len()-l.line > most {
			l.to.Truncate(start)
			return false
		}
	}
	return true
}

// numbers writes a list of numbers on as few lines as possible.
func (l *layout) numbers(at, end, indentation int) {
	l.to.WriteByte('[')
	l.breakLine(indentation + 1)
	for at++; at < end-1; at++ {
		behind := l.end(at)
		if room := mostColumns - (l.to.Len() - l.line); l.to.Len() > l.line+indentation+1 && behind-at+len(",") > room {
			l.breakLine(indentation + 1)
		}
		l.to.Write(l.from[at:behind])
		if at = behind; l.from[at] == ',' {
			l.to.WriteByte(',')
		}
	}
	l.breakLine(indentation)
	l.to.WriteByte(']')
}

// breakLine begins a line.
func (l *layout) breakLine(indentation int) {
	l.to.WriteByte('\n')
	l.line = l.to.Len()
	for range indentation {
		l.to.WriteByte(' ')
	}
}

// end returns the offset behind the value that starts at an offset.
func (l *layout) end(at int) int {
	behind, err := l.from.skipValue(at)
	if err != nil {
		panic("calibration: encoding/json wrote what is not JSON: " + err.Error())
	}
	return behind
}
