package command

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// printable writes text without terminal commands. Names and reasons from a file may have any characters. Control characters
// other than line ends and tabs become question marks.
type printable struct{ to io.Writer }

func (p printable) Write(text []byte) (int, error) {
	clean := make([]byte, 0, len(text))
	for k := 0; k < len(text); k++ {
		b := text[k]
		switch {
		case b == '\n' || b == '\t':
		case b < ' ' || b == 0x7F:
			b = '?'
		case b == 0xC2 && k+1 < len(text) && text[k+1] >= 0x80 && text[k+1] < 0xA0: // U+0080 to U+009F in UTF-8
			b = '?'
			k++
		}
		clean = append(clean, b)
	}
	if _, err := p.to.Write(clean); err != nil {
		return 0, err
	}
	return len(text), nil
}

// raw returns the writer under a printable one. A progress bar needs it, because the bar sends terminal commands.
func raw(w io.Writer) io.Writer {
	if p, ok := w.(printable); ok {
		return p.to
	}
	return w
}

// longestError is the greatest length of a printed error, in bytes. Its text may come from a file or a library.
const longestError = 2000

// bounded returns a line. If the line is longer than most bytes, it returns the beginning and the end.
func bounded(line string, most int) string {
	if len(line) <= most {
		return line
	}
	head, tail := most*3/4, len(line)-most/4
	for !utf8.RuneStart(line[head]) {
		head--
	}
	for !utf8.RuneStart(line[tail]) {
		tail++
	}
	return fmt.Sprintf("%s … (%d bytes left out) … %s", line[:head], tail-head, line[tail:])
}
