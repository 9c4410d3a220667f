package calibration

import (
	"errors"
	"fmt"
	"io/fs"
)

// mostCaseBytes is the most that a case takes in a file. The longest case that we measured, with five implementations
// and a GPU, takes 15 KB.
const mostCaseBytes = 16 << 10

// CheckRoom returns an error if the file at path may have too little room for an entry of the given number of cases,
// beside the other hosts in the file. So a program can fail before it measures. A missing file has room.
func CheckRoom(path, id string, cases int) error {
	x, err := LoadIndex(path)
	if errors.Is(err, fs.ErrNotExist) {
		x, err = new(Index), nil
	}
	if err != nil {
		return err
	}
	if err := x.checkRoom(id, cases); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (x *Index) checkRoom(id string, cases int) error {
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
	case cases > MaxHostBytes/mostCaseBytes:
		return fmt.Errorf("an entry of %d cases may not fit (want at most %d)", cases, MaxHostBytes/mostCaseBytes)
	case bytes > MaxFileBytes-cases*mostCaseBytes:
		return fmt.Errorf("holds %d bytes of other hosts, and an entry of %d cases may not fit in the %d bytes that a file can take (take another file)",
			bytes, cases, MaxFileBytes)
	}
	return nil
}
