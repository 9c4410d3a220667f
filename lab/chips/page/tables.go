package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"crossover/lab/chips"
)

// tables lists the tables of the page.
var tables = []struct {
	name  string
	table func() string
}{
	{"constants", constants},
	{"chips", published},
	{"fit", fit},
	{"predictions", predictions},
	{"crossovers", crossovers},
	{"comparison", comparison},
}

// fill puts the tables between their marks.
func fill(page string) (string, error) {
	for _, t := range tables {
		begin, end := "<!-- "+t.name+" -->\n", "<!-- end -->"
		before, rest, found := strings.Cut(page, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			return "", fmt.Errorf("no lines %q and %q in it", strings.TrimSpace(begin), end)
		}
		page = before + begin + "\n" + t.table() + "\n" + end + after
	}
	return page, nil
}

// table writes rows of cells as Markdown. The first row is the head. text are the columns of text; all others are aligned to
// the right.
func table(text []int, rows [][]string) string {
	var b strings.Builder
	for n, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if n > 0 {
			continue
		}
		for column := range row {
			rule := "| ---: "
			if slices.Contains(text, column) {
				rule = "| --- "
			}
			b.WriteString(rule)
		}
		b.WriteString("|\n")
	}
	return b.String()
}

func constants() string {
	rows := [][]string{{"constant", "value", "source"}}
	for _, c := range chips.Constants() {
		rows = append(rows, []string{c.Name, strings.TrimSpace(strconv.FormatFloat(c.Value, 'g', 4, 64) + " " + c.Unit), c.Source})
	}
	return table([]int{0, 2}, rows)
}

func published() string {
	rows := [][]string{{"chip", "cores, fast + efficient", "GPU cores", "GPU clock, GHz", "peak, TFLOPS", "memory, GB/s", "source"}}
	for _, c := range chips.Published() {
		rows = append(rows, []string{c.Name, fmt.Sprintf("%d + %d", c.PerformanceCores, c.EfficiencyCores), strconv.Itoa(c.GPUCores),
			figure(c.GPUGigahertz), figure(c.TeraFLOPS), figure(c.GigabytesPerSec), c.Source})
	}
	return table([]int{0, 6}, rows)
}

func figure(value *float64) string {
	if value == nil {
		return "not found"
	}
	return strconv.FormatFloat(*value, 'g', -1, 64)
}

func fit() string {
	f := chips.Fitted()
	rows := [][]string{{"elements", "Metal, published", "model", "off by", "vDSP, published", "model", "off by"}}
	off := func(model, published float64) string { return fmt.Sprintf("%+.1f %%", 100*(model/published-1)) }
	for _, r := range f.Rows {
		rows = append(rows, []string{count(r.Elements),
			ms(r.Metal), ms(r.MetalModel), off(r.MetalModel, r.Metal), ms(r.VDSP), ms(r.VDSPModel), off(r.VDSPModel, r.VDSP)})
	}
	return table(nil, rows)
}

func ms(seconds float64) string { return fmt.Sprintf("%.2f ms", 1e3*seconds) }

// us writes microseconds with three digits.
func us(seconds float64) string {
	v := 1e6 * seconds
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f µs", v)
	case v < 100:
		return fmt.Sprintf("%.1f µs", v)
	case v < 9999.5:
		return fmt.Sprintf("%.0f µs", v)
	}
	return fmt.Sprintf("%.1f ms", v/1e3)
}

// span writes two times as an interval.
func span(low, high float64) string {
	if us(low) == us(high) {
		return us(low)
	}
	return us(low) + " – " + us(high)
}

// count writes a whole number: with a binary unit if that is exact, to two decimals of Mi from a million on, and otherwise
// with groups of three digits.
func count(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d Mi", n>>20)
	case n >= 1<<16 && n%(1<<10) == 0:
		return fmt.Sprintf("%d Ki", n>>10)
	case n >= 1e6:
		return fmt.Sprintf("%.2f Mi", float64(n)/(1<<20))
	case n >= 1000:
		return fmt.Sprintf("%d %03d", n/1000, n%1000)
	}
	return strconv.Itoa(n)
}

// m1 is the chip that the page predicts for.
func m1() chips.Chip {
	c, err := chips.Find("m1")
	if err != nil {
		panic("page: m1: " + err.Error())
	}
	return c
}

func predictions() string {
	c := m1()
	band := c.Latency()
	var b strings.Builder
	for _, v := range chips.Predictions() {
		fmt.Fprintf(&b, "**%s**: %s.\n\n", v.Name, v.About)
		rows := [][]string{{v.Axis, "processor", "GPU", "GPU whose clock is up", "faster"}}
		for _, n := range v.Sizes {
			cpu := v.CPU(c, n)
			low, high := v.GPU(c, n, band.Least, false), v.GPU(c, n, band.Most, false)
			upLow, upHigh := v.GPU(c, n, band.Least, true), v.GPU(c, n, band.Most, true)
			faster := "open"
			switch {
			case cpu <= upLow:
				faster = "processor"
			case cpu > high:
				faster = "GPU"
			}
			rows = append(rows, []string{count(n), us(cpu), span(low, high), span(upLow, upHigh), faster})
		}
		b.WriteString(table([]int{4}, rows) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// crossover writes the band of a crossover, from the least to the greatest latency.
func crossover(v chips.Versus, c chips.Chip, busy bool) string {
	band := c.Latency()
	low, found := v.Crossover(c, band.Least, busy)
	high, always := v.Crossover(c, band.Most, busy)
	limit := count(v.Sizes[len(v.Sizes)-1])
	switch {
	case !found:
		return "none up to " + limit
	case !always:
		return count(low) + " – beyond " + limit
	case low == high:
		return count(low)
	}
	return count(low) + " – " + count(high)
}

func crossovers() string {
	head := []string{"chip", "GPU clock"}
	for _, v := range chips.Predictions() {
		head = append(head, v.Name+", "+v.Axis)
	}
	rows := [][]string{head}
	for _, name := range chips.Names() {
		c, err := chips.Find(name)
		if err != nil {
			panic("page: " + err.Error())
		}
		for _, busy := range []bool{false, true} {
			row := []string{name, "rising"}
			if busy {
				row = []string{"", "up"}
			}
			for _, v := range chips.Predictions() {
				row = append(row, crossover(v, c, busy))
			}
			rows = append(rows, row)
		}
	}
	return table([]int{0, 1}, rows)
}

// comparison compares the prediction of Fourier transforms with published times that no fit has used.
func comparison() string {
	c := m1()
	band := c.Latency()
	var v chips.Versus
	for _, p := range chips.Predictions() {
		if p.Name == "FFT" {
			v = p
		}
	}
	const batch = 256
	gflops := func(roundTrip float64, busy bool) string {
		return fmt.Sprintf("%.0f", batch*chips.FFTFlops/v.GPU(c, batch, roundTrip, busy)/1e9)
	}
	return table([]int{0}, [][]string{
		{"an M1, complex transforms of 4 096", "published", "model, clock rising", "model, clock up"},
		{"batch from which the GPU is faster", "64", crossover(v, c, false), crossover(v, c, true)},
		{"GPU, batch of 256, GFLOPS", "138", gflops(band.Most, false) + " – " + gflops(band.Least, false), gflops(band.Most, true) + " – " + gflops(band.Least, true)},
		{"vDSP, each", "2.29 µs", us(v.CPU(c, 1)), us(v.CPU(c, 1))},
	})
}
