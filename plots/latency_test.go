package plots

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// testLatencies are those of three routes. One is late now and then.
func testLatencies() Latencies {
	l := Latencies{Title: "How long until a block of the synthesiser is done", About: []string{"10 streams", "512 samples at 44100 Hz"},
		Caption: []string{"made up"}, DeadlineSeconds: 512 / 44100.}
	for i, name := range []string{"serial", "pooled", "gpu"} {
		one := Latency{Name: name, Words: []string{"on one core", "", "on the GPU"}[i]}
		for k := range 40 {
			one.Seconds = append(one.Seconds, 4e-4*math.Pow(1.3, float64(i)+float64(k)/4))
			one.Counts = append(one.Counts, int(5000*math.Exp(-float64(k)*(0.4-0.1*float64(i)))))
		}
		one.Seconds, one.Counts = append(one.Seconds, one.Seconds[39]*[]float64{1.2, 1.5, 4}[i]), append(one.Counts, 1)
		one.Underruns = []int{0, 1, 1234}[i]
		l.Of = append(l.Of, one)
	}
	l.Of = append(l.Of, Latency{Name: "without blocks"})
	return l
}

// The curve has the share of the blocks that take as long or longer.
func TestExceeding(t *testing.T) {
	l := Latency{Name: "a", Seconds: []float64{1, 2, 4}, Counts: []int{6, 3, 1}}
	seconds, shares := l.exceeding()
	if !slices.Equal(seconds, []float64{1, 2, 4}) || !slices.Equal(shares, []float64{1, 0.4, 0.1}) {
		t.Errorf("%v, %v", seconds, shares)
	}
	for want, underruns := range map[string]int{"always in time": 0, "1 of 10 blocks too late": 1, "3 of 10 blocks too late": 3} {
		if l.Underruns = underruns; !strings.HasSuffix(l.sentence(), want) || !strings.Contains(l.sentence(), "a: at worst 4\u202fs") {
			t.Errorf("%q, want %q", l.sentence(), want)
		}
	}
}

// A chart without routes, with one block, and with blocks of hours can be drawn.
func TestLatencyChartOfLittle(t *testing.T) {
	for name, of := range map[string][]Latency{
		"nothing":   nil,
		"one block": {{Name: "a", Seconds: []float64{1e-3}, Counts: []int{1}}},
		"extremes":  {{Name: strings.Repeat("long ", 99), Seconds: []float64{1e-7, 7200}, Counts: []int{2_500_000, 1}}},
	} {
		var image strings.Builder
		if _, err := LatencyChart(Latencies{DeadlineSeconds: 0.01, Of: of}).WriteTo(&image); err != nil || image.Len() < 1000 {
			t.Errorf("%s: %d bytes, %v", name, image.Len(), err)
		}
	}
}
