package calibration

import (
	"bytes"
	"strings"
)

// mostColumns is how many bytes a line of numbers takes at most, if no number is longer.
const mostColumns = 120

// packNumbers returns the indented text of a host with the numbers of its operations side by side: a surface holds
// thousands.
func packNumbers(host []byte) []byte {
	t := text(host)
	var packed bytes.Buffer
	end := 0 // of what is packed
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

// packLists writes indented text, with each list of numbers on as few lines as it takes.
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

// packList writes a list of numbers, which has each on a line of its own.
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

// columns returns how many bytes the last line of a text has.
func columns(of *bytes.Buffer) int {
	written := of.Bytes()
	return len(written) - 1 - bytes.LastIndexByte(written, '\n')
}
