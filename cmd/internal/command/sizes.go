package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// SizeRange is the value of --sizes: sizes from Low to High. Ratio is the ratio of neighbouring sizes of the grid.
type SizeRange struct {
	Low, High int
	Ratio     float64 // 0 if the planner decides
}

// maxSize is the greatest size that --sizes accepts. No machine can hold 2⁴⁰ values, and their number of bytes still fits an
// int64.
const maxSize = 1 << 40

// ParseSizes parses lo:hi or lo:hi:xN, such as 64:1Mi:x2. Numbers are whole and may end in Ki, Mi or Gi.
func ParseSizes(text string) (SizeRange, error) {
	fail := func(format string, args ...any) (SizeRange, error) {
		return SizeRange{}, Usage("--sizes %q: %s (want lo:hi:xN, e.g. 64:1Mi:x2)", text, fmt.Sprintf(format, args...))
	}
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return fail("%s", Plural(len(parts), "part"))
	}
	var r SizeRange
	var err error
	if r.Low, err = parseSize(parts[0]); err != nil {
		return fail("lower bound %v", err)
	}
	if r.High, err = parseSize(parts[1]); err != nil {
		return fail("upper bound %v", err)
	}
	if r.High < r.Low {
		return fail("upper bound %d is below lower bound %d", r.High, r.Low)
	}
	if len(parts) == 3 {
		ratio, ok := strings.CutPrefix(parts[2], "x")
		r.Ratio, err = strconv.ParseFloat(ratio, 64)
		if !ok || err != nil || !(r.Ratio > 1) || r.Ratio > 1024 {
			return fail("step %q is not x and a number above 1, at most 1024", parts[2])
		}
	}
	return r, nil
}

func parseSize(text string) (int, error) {
	digits, unit := text, 1
	for suffix, factor := range map[string]int{"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = rest, factor
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a whole number, with or without Ki, Mi or Gi", text)
	case n == 0:
		return 0, fmt.Errorf("is 0, and sizes start at 1")
	case n > uint64(math.MaxInt64/unit) || int(n)*unit > maxSize:
		return 0, fmt.Errorf("%q is more than 1024Gi", text)
	}
	return int(n) * unit, nil
}
