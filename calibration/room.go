package calibration

import "fmt"

// mostCaseBytes is the most that a case takes in a file. The longest case that we measured, with five implementations
// and a GPU, takes 15 KB.
const mostCaseBytes = 16 << 10

// operationsBytes is the room that is left in a host for its operations. Fourteen of them in two placements, each with 200
// shapes and eight implementations, take 700 KB.
const operationsBytes = 2 << 20

// mostCases is how many cases a host has room for beside its operations.
const mostCases = (MaxHostBytes - operationsBytes) / mostCaseBytes

// CheckRoom returns an error if the file may have too little room for an entry of the given number of cases of the host with
// an id, beside the other hosts in the file. So a program can fail before it measures.
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
