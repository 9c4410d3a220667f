package plots

import (
	"math"
	"slices"
	"strconv"

	"crossover/thresholds"
)

// worth is the worth of a choice at a measured size.
type worth struct {
	size  float64
	ratio float64 // time of the next best implementation, divided by that of the choice
}

// worthsOf returns the worths of each span's choice at measured sizes, in ascending order of sizes. There is none at a size
// at which the choice, or every other implementation, was not timed.
func worthsOf(spans []span, curves *thresholds.Curves) [][]worth {
	all := make([][]worth, len(spans))
	for s, size := range curves.Sizes {
		n := len(spans) - 1
		for n >= 0 && spans[n].from > float64(size) {
			n--
		}
		if n < 0 || float64(size) > spans[n].to {
			continue
		}
		chosen := slices.Index(curves.Implementations, spans[n].implementation)
		if chosen < 0 {
			continue
		}
		if ratio := curves.Gain(chosen, s); !math.IsNaN(ratio) {
			all[n] = append(all[n], worth{float64(size), ratio})
		}
	}
	return all
}

// times writes a ratio such as 3.2×, with more digits near 1.
func times(ratio float64) string {
	digits := 0
	switch {
	case ratio >= 9999.5:
		return ">9999×"
	case ratio < 1.095:
		digits = 2
	case ratio < 9.95:
		digits = 1
	}
	return strconv.FormatFloat(ratio, 'f', digits, 64) + "×"
}
