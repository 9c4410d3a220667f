package dispatch

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Called is a shape or a line of shapes, and how often a program called it.
type Called struct {
	Name  string // "fft/n=441,batch=64", "softmax/rows=16,columns=768,shared"
	Calls int64  // at least 1
	Line  int    // of the file that it was read from, from 1
}

// byteOrderMark begins the text files of some editors.
const byteOrderMark = "\ufeff"

// ReadShapes reads a file of shapes, as a [Recorder] writes it: a name a line, and behind it a count, which is 1 if it is
// missing. Counts of the same name are added. Lines that are empty or begin with # say nothing. The error names the file and
// the line. What the names mean is not checked.
func ReadShapes(path string) ([]Called, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []Called
	index := map[string]int{}
	lines := bufio.NewScanner(file)
	n := 1
	for ; lines.Scan(); n++ {
		line := lines.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, byteOrderMark)
		}
		c, err := readShape(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if c.Name == "" {
			continue
		}
		if k, twice := index[c.Name]; twice {
			all[k].Calls += min(c.Calls, math.MaxInt64-all[k].Calls)
			continue
		}
		if len(all) == MostRecorded {
			return nil, fmt.Errorf("%s:%d: more than %d shapes (want a file with fewer)", path, n, MostRecorded)
		}
		c.Line = n
		index[c.Name] = len(all)
		all = append(all, c)
	}
	switch err := lines.Err(); {
	case errors.Is(err, syscall.EISDIR):
		return nil, fmt.Errorf("%w (want a file of shapes)", err) // which names the path
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: the line is longer than %d bytes (want a shape and how often it was called, such as fft/n=441,batch=64 1000)",
			path, n, bufio.MaxScanTokenSize)
	case err != nil:
		return nil, fmt.Errorf("%s:%d: %w", path, n, err)
	}
	return all, nil
}

// readShape reads a line. Its name is "" if it says nothing.
func readShape(line string) (Called, error) {
	words := strings.Fields(line)
	if len(words) == 0 || words[0][0] == '#' {
		return Called{}, nil
	}
	c := Called{Name: words[0], Calls: 1}
	if len(words) > 2 {
		return c, fmt.Errorf("%q has %d words (want a shape and how often it was called, such as fft/n=441,batch=64 1000)", short(line), len(words))
	}
	if len(words) == 2 {
		var err error
		if c.Calls, err = strconv.ParseInt(words[1], 10, 64); err != nil || c.Calls < 1 {
			return c, fmt.Errorf("%q is no count of calls (want a whole number, at least 1)", short(words[1]))
		}
	}
	return c, nil
}
