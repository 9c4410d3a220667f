package plots

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// sizeTicker marks sizes at powers of two, with the labels 1 2 4 … 512 1Ki 2Ki … 1Mi. In ranges of less than an octave it
// marks round whole numbers.
type sizeTicker struct {
	most int // labels
}

// Ticks implements plot.Ticker. min and max must be above 0.
func (t sizeTicker) Ticks(min, max float64) []plot.Tick {
	first, last := int(math.Ceil(math.Log2(min))), int(math.Floor(math.Log2(max)))
	if last <= first {
		return linearTicks(min, max, 1, t.most/2, func(v float64) string { return grouped(int(v)) })
	}
	step := 1
	for _, s := range []int{1, 2, 4, 5, 10, 20} {
		step = s
		if (last-first)/s < t.most {
			break
		}
	}
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		tick := plot.Tick{Value: math.Ldexp(1, e)}
		if e%step == 0 {
			tick.Label = sizeLabel(int(tick.Value))
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// linearTicks returns at most most+1 round values from min to max, at least step apart.
func linearTicks(min, max, step float64, most int, label func(float64) string) []plot.Tick {
	base := math.Max(step, math.Pow(10, math.Floor(math.Log10((max-min)/float64(most)))))
	for _, f := range []float64{1, 2, 5, 10, 20} {
		step = base * f
		if (max-min)/step < float64(most) {
			break
		}
	}
	var ticks []plot.Tick
	for k := math.Ceil(min / step); k*step <= max && len(ticks) <= most; k++ {
		ticks = append(ticks, plot.Tick{Value: k * step, Label: label(k * step)})
	}
	return ticks
}

// sizeLabel writes a size in binary multiples if they are exact: 512, 1Ki, 64Ki, 1Mi, 1 000.
func sizeLabel(n int) string {
	for _, unit := range []struct {
		name string
		bits int
	}{{"Ei", 60}, {"Pi", 50}, {"Ti", 40}, {"Gi", 30}, {"Mi", 20}, {"Ki", 10}} {
		if n >= 1<<unit.bits && n%(1<<unit.bits) == 0 {
			return grouped(n>>unit.bits) + unit.name
		}
	}
	return grouped(n)
}

// grouped writes a whole number with its digits in groups of three: 1 048 576. The spaces are narrow and do not break.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	if len(digits) <= 3 {
		return sign + digits
	}
	head := len(digits) % 3
	out := digits[:head]
	for ; head < len(digits); head += 3 {
		if out != "" {
			out += "\u202f"
		}
		out += digits[head : head+3]
	}
	return sign + out
}

// timeTicker marks times: 10 µs, 1 ms. It makes as many labels as fit.
type timeTicker struct {
	most int // labels
}

// Ticks implements plot.Ticker. min and max must be above 0.
func (t timeTicker) Ticks(min, max float64) []plot.Tick {
	low, high := int(math.Floor(math.Log10(min))), int(math.Ceil(math.Log10(max)))
	within := func(v float64) bool { return v >= min*(1-1e-12) && v <= max*(1+1e-12) }
	for _, mantissas := range [][]float64{{1, 1.5, 2, 3, 4, 5, 6, 8}, {1, 2, 5}, {1, 3}, {1}} {
		var ticks []plot.Tick
		for e := low; e <= high; e++ {
			for _, m := range mantissas {
				if v := power10(m, e); within(v) {
					ticks = append(ticks, plot.Tick{Value: v, Label: timeLabel(v)})
				}
			}
		}
		if len(ticks) <= 2 {
			return linearTicks(min, max, 0, t.most, timeLabel)
		}
		if len(ticks) <= t.most {
			return ticks
		}
	}
	// There are many decades: only some have a label.
	step := 0
	for _, step = range []int{1, 2, 3, 6, 9, 12} {
		if (high-low)/step < t.most {
			break
		}
	}
	var ticks []plot.Tick
	for e := low; e <= high; e++ {
		if v := power10(1, e); within(v) {
			tick := plot.Tick{Value: v}
			if e%step == 0 {
				tick.Label = timeLabel(v)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// power10 returns m·10^e with a single rounding.
func power10(m float64, e int) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(m, 'f', -1, 64)+"e"+strconv.Itoa(e), 64)
	return v
}

// timeLabel writes a time in seconds with at most four digits and a unit: 1.5 µs, 20 ms.
func timeLabel(seconds float64) string {
	value, name := seconds*1e15, "fs"
	for _, unit := range []struct {
		name string
		size float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}, {"ps", 1e-12}} {
		if seconds >= unit.size*0.99995 {
			value, name = seconds/unit.size, unit.name
			break
		}
	}
	digits := strconv.FormatFloat(value, 'g', 4, 64)
	if value >= 1000 {
		digits = strconv.FormatFloat(value, 'f', 0, 64)
	}
	return digits + "\u202f" + name
}

// ratioTicker marks slowdowns: 1×, 1.25×, 2×.
type ratioTicker struct{}

// Ticks implements plot.Ticker.
func (ratioTicker) Ticks(_, max float64) []plot.Tick {
	values := []float64{1, 1.25, 1.5, 2, 3}
	switch {
	case max <= 1.25:
		values = []float64{1, 1.05, 1.1, 1.15, 1.2, 1.25}
	case max <= 1.5:
		values = []float64{1, 1.1, 1.2, 1.3, 1.4, 1.5}
	}
	var ticks []plot.Tick
	for _, v := range values {
		if v <= max {
			ticks = append(ticks, plot.Tick{Value: v, Label: ratioLabel(v)})
		}
	}
	return ticks
}

// ratioLabel writes a ratio with at most three digits.
func ratioLabel(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) + "×" }
