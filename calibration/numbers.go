package calibration

import (
	"bytes"
	"strings"
)

// mostColumns is the greatest number of bytes in a line of several numbers.
const mostColumns = 120

// packNumbers returns the indented text of a host with several numbers of its operations on each line. A surface has
// thousands of numbers.
func packNumbers(host []byte) []byte {
	t := text(host)
	var packed bytes.Buffer
	end := 0 // end of the packed part
	_, err := t.object(0, func(key string, at int) (int, error) {
		behind, err := t.skipValue(at)
		if err == nil && key == "operations" {
			packed.Write(t[end:at])
			packLists(&packed, t[at:behind])
			end = behind
		}
		return behind, err
	})
	if err != nil {
		return host
	}
	packed.Write(t[end:])
	return packed.Bytes()
}

// packLists writes indented text, with each list of numbers on as few lines as possible.
func packLists(to *bytes.Buffer, t text) {
	for i := 0; i < len(t); {
		behind := i + 1
		switch t[i] {
		case '"':
			behind, _ = t.skipString(i)
		case '[':
			if first := t.at(t.skipSpace(i + 1)); first == '-' || '0' <= first && first <= '9' {
				behind, _ = t.skipNested(i)
				packList(to, t[i:behind])
				i = behind
				continue
			}
		}
		to.Write(t[i:behind])
		i = behind
	}
}

// packList writes a list of numbers that has one number on each line.
func packList(to *bytes.Buffer, list text) {
	inner, last := string(list[1:len(list)-1]), bytes.LastIndexByte(list, '\n')
	outer := string(list[last : len(list)-1]) // the line break before the closing bracket, and its indentation
	numbers := strings.FieldsFunc(inner, func(r rune) bool { return strings.ContainsRune(", \n", r) })
	if line := strings.Join(numbers, ", "); columns(to)+len("[]")+len(line) < mostColumns {
		to.WriteString("[" + line + "]")
		return
	}
	to.WriteString("[")
	for i, number := range numbers {
		switch {
		case i == 0:
			to.WriteString(outer + "  ")
		case columns(to)+len(", ,")+len(number) > mostColumns:
			to.WriteString("," + outer + "  ")
		default:
			to.WriteString(", ")
		}
		to.WriteString(number)
	}
	to.WriteString(outer + "]")
}

// columns returns the number of bytes in the last line of a text.
func columns(of *bytes.Buffer) int {
	written := of.Bytes()
	return len(written) - 1 - bytes.LastIndexByte(written, '\n')
}
