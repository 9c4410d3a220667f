package calibration

import "fmt"

// mostCaseBytes is the greatest size of a case in a file. The longest measured case, with twelve implementations and a GPU,
// has 10 KB.
const mostCaseBytes = 16 << 10

// operationsBytes is the part of a host's size for its operations. Fifty operations in two placements, each with 500 shapes and
// six implementations, have nearly as much.
const operationsBytes = 4 << 20

// mostCases is the number of cases for which a host has room beside its operations.
const mostCases = (MaxHostBytes - operationsBytes) / mostCaseBytes

// CheckRoom returns an error if the file may have too little room for an entry with an id and a number of cases, beside the
// other hosts. So a program can fail before it measures.
func (x *Index) CheckRoom(id string, cases int) error {
	bytes, hosts := len(x.text), len(x.Entries)
	for _, e := range x.Entries {
		if e.ID == id {
			bytes -= e.at.end - e.at.start
			hosts--
		}
	}
	switch {
	case hosts >= MaxHosts:
		return fmt.Errorf("holds %d other hosts, as many as a file can take (take another file)", hosts)
	case cases > mostCases:
		return fmt.Errorf("an entry of %d cases may not fit (want at most %d)", cases, mostCases)
	case bytes > MaxFileBytes-cases*mostCaseBytes-operationsBytes:
		return fmt.Errorf("holds %d bytes of other hosts, and an entry of %d cases may not fit in the %d bytes that a file can take (take another file)",
			bytes, cases, MaxFileBytes)
	}
	return nil
}
