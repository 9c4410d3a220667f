package plots

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"crossover/calibration"
	"crossover/timings"
)

// TestOddData draws data that a broken sweep or a file written by hand may hold. Drawing must not panic, nor draw outside of
// the chart.
func TestOddData(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	block := func(size int, seconds ...float64) timings.Block {
		return timings.Block{Size: size, Seconds: seconds, Iterations: make([]int, len(seconds)), Twin: -1}
	}
	hundred := &timings.Set{}
	for i := range 100 {
		hundred.Implementations = append(hundred.Implementations, fmt.Sprintf("implementation-%d", i))
	}
	for _, size := range []int{1, 10, 100} {
		b := block(size)
		for i := range 100 {
			b.Seconds, b.Iterations = append(b.Seconds, 1e-6*float64(size+i*i)), append(b.Iterations, 1)
		}
		hundred.Blocks = append(hundred.Blocks, b)
	}
	manySegments := calibration.Case{Axis: calibration.Axis{From: 1, To: 100000}}
	for i := range 5000 {
		manySegments.Segments = append(manySegments.Segments, calibration.Segment{
			From: 1 + 20*i, To: 20 + 20*i, Implementation: fmt.Sprint("impl", i%300),
			Interval: &calibration.Interval{Low: 1 + 10*i, High: 1 + 40*i},
		})
	}
	two := []string{"go", "go-parallel"}
	for name, c := range map[string]struct {
		c   calibration.Case
		set *timings.Set
	}{
		"nothing at all":        {calibration.Case{}, nil},
		"an empty set":          {calibration.Case{}, &timings.Set{}},
		"no blocks":             {calibration.Case{}, &timings.Set{Implementations: two}},
		"one block":             {calibration.Case{}, &timings.Set{Implementations: two, Blocks: []timings.Block{block(7, 1e-6, 2e-6)}}},
		"one implementation":    {calibration.Case{}, &timings.Set{Implementations: two[:1], Blocks: []timings.Block{block(7, 1e-6), block(9, 1e-6)}}},
		"zeros":                 {calibration.Case{}, &timings.Set{Implementations: two, Blocks: []timings.Block{block(1, 0, 0), block(0, 1e-6, 1e-6)}}},
		"NaN, infinite":         {calibration.Case{}, &timings.Set{Implementations: two, Blocks: []timings.Block{block(1, nan, inf), block(2, inf, 1e-6)}}},
		"negative":              {calibration.Case{}, &timings.Set{Implementations: two, Blocks: []timings.Block{block(-5, -1, 1e-6), block(5, -1, 1e-6)}}},
		"tiny and huge":         {calibration.Case{}, &timings.Set{Implementations: two, Blocks: []timings.Block{block(1, 5e-324, 1.7e308), block(math.MaxInt, 1, 1)}}},
		"the ends of the range": {calibration.Case{}, &timings.Set{Implementations: two, Blocks: []timings.Block{block(1, shortestTime, longestTime), block(largestSize, 1, 1)}}},
		"blocks that are short": {calibration.Case{}, &timings.Set{Implementations: two, Blocks: []timings.Block{block(1, 1e-6), block(2)}}},
		"one name twice":        {calibration.Case{}, &timings.Set{Implementations: []string{"go", "go"}, Blocks: []timings.Block{block(1, 1e-6, 2e-6)}}},
		"no names":              {calibration.Case{Segments: []calibration.Segment{{From: 1, To: 2}, {From: 3, To: 4}}}, &timings.Set{Implementations: []string{"", "\x00"}, Blocks: []timings.Block{block(1, 1e-6, 2e-6)}}},
		"a hundred curves":      {calibration.Case{}, hundred},
		"thousands of segments": {manySegments, nil},
		"segments upside down":  {calibration.Case{Segments: []calibration.Segment{{From: 9, To: 3}, {From: 0, To: -1}, {From: 5, To: 6}, {From: 5, To: 5}}}, nil},
		"intervals upside down": {calibration.Case{Segments: []calibration.Segment{{From: 1, To: 5}, {From: 6, To: 9, Interval: &calibration.Interval{Low: 8, High: 2}}}}, nil},
		"intervals far outside": {calibration.Case{Segments: []calibration.Segment{{From: 1, To: 5}, {From: 6, To: 9, Interval: &calibration.Interval{Low: 1 << 40, High: 1 << 50}}}}, nil},
		"doubts of every kind": {calibration.Case{Segments: []calibration.Segment{{From: 5, To: 9, Doubts: []calibration.Doubt{
			{From: 9, To: 5}, {From: 1, To: 1 << 40}, {From: -1, To: math.MaxInt}, {From: 6, To: 6, Tie: true}, {From: 100, To: 200}}}}}, nil},
		"an axis of one size":    {calibration.Case{Axis: calibration.Axis{From: 3, To: 3}}, nil},
		"an axis without end":    {calibration.Case{Axis: calibration.Axis{From: 1, To: math.MaxInt}}, nil},
		"bands of every size":    {calibration.Case{TieBand: nan, ExpectedRegret: inf, Segments: []calibration.Segment{{From: 1, To: 5}}}, nil},
		"negative bands":         {calibration.Case{TieBand: -1, ExpectedRegret: -1, Blocks: -4}, nil},
		"sizes of an instant":    {calibration.Case{Axis: calibration.Axis{From: 1<<60 - 1<<20, To: 1 << 60}}, nil},
		"times without end":      {calibration.Case{}, &timings.Set{Implementations: two, Blocks: []timings.Block{block(1, 0.9e9, 1e9), block(2, 1e9, 1e9)}}},
		"sizes next to another":  {calibration.Case{}, &timings.Set{Implementations: two, Blocks: []timings.Block{block(1_000_000, 1, 1), block(1_000_001, 1, 1)}}},
		"times next to another":  {calibration.Case{}, &timings.Set{Implementations: two, Blocks: []timings.Block{block(1, 1, 1), block(2, 1+1e-15, 1)}}},
		"a slowdown without end": {calibration.Case{}, &timings.Set{Implementations: two, Blocks: []timings.Block{block(1, 1e-15, 1e9), block(2, 1e-15, 1e9)}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &calibration.Host{Cases: []calibration.Case{c.c}}
			one := []Run{{Samples: c.set}}
			several := []Run{{c.set, nil}, {c.set, []int{-1, 0, 1, 1 << 61}}, {hundred, nil}, {}}
			for _, chart := range []*Chart{
				CaseChart(h, &c.c, one), Overview(h, map[string][]Run{"": one}),
				CaseChart(h, &c.c, several), Overview(h, map[string][]Run{"": several}),
			} {
				for _, fault := range list(chart).check() {
					t.Error(fault)
				}
			}
		})
	}
}

// FuzzCharts builds a host out of bytes and draws it.
func FuzzCharts(f *testing.F) {
	f.Add([]byte("go go-parallel fftw"), "fft/batch=1", "crossover")
	f.Add([]byte{0, 1, 2, 3, 255, 254, 253, 0, 0, 0, 0, 0, 0, 0xF0, 0x7F}, "\xff\n", "tie")
	f.Add([]byte{}, "", "")
	f.Fuzz(func(t *testing.T, data []byte, name, verdict string) {
		h, sets := hostOf(data, name, verdict)
		for _, chart := range []*Chart{CaseChart(h, &h.Cases[0], sets[name]), Overview(h, sets)} {
			for _, fault := range list(chart).check() {
				t.Error(fault)
			}
		}
	})
}

// hostOf reads a host of one case from arbitrary bytes.
func hostOf(data []byte, name, verdict string) (*calibration.Host, map[string][]Run) {
	next := func() uint64 {
		var word [8]byte
		n := copy(word[:], data)
		data = data[n:]
		return binary.LittleEndian.Uint64(word[:])
	}
	size := func() int {
		v := next()
		if v%8 == 0 {
			return int(v)
		}
		return int(v>>3) % 5000
	}
	float := func() float64 {
		v := next()
		if v%4 == 0 {
			return math.Float64frombits(v)
		}
		return 1e-7 * float64(v%100000)
	}
	flags := next()
	c := calibration.Case{
		Name: name, Verdict: calibration.Verdict(verdict), Reason: name, Degraded: flags&1 != 0,
		Axis:    calibration.Axis{Name: name, Unit: verdict, From: size(), To: size()},
		TieBand: float(), ExpectedRegret: float(), Blocks: size(),
	}
	set := &timings.Set{}
	for i := range 1 + flags>>1%12 {
		impl := fmt.Sprint(verdict, i)
		set.Implementations = append(set.Implementations, impl)
		c.Implementations = append(c.Implementations, calibration.Implementation{Name: impl, Excluded: verdict, Version: name})
	}
	for range flags >> 8 % 5 {
		s := calibration.Segment{From: size(), To: size(), Implementation: set.Implementations[size()&0xFF%len(set.Implementations)]}
		if size()%2 == 0 {
			s.Interval = &calibration.Interval{Low: size(), High: size(), AssumedBetweenRuns: float()}
			s.Doubts = append(s.Doubts, calibration.Doubt{From: size(), To: size(), Implementation: name, Tie: size()%2 == 0})
		}
		c.Segments = append(c.Segments, s)
	}
	for len(data) > 0 && len(set.Blocks) < 200 {
		b := timings.Block{Size: size(), Twin: -1}
		for range set.Implementations {
			b.Seconds = append(b.Seconds, float())
			b.Iterations = append(b.Iterations, 1)
		}
		set.Blocks = append(set.Blocks, b)
	}
	h := &calibration.Host{ID: name, Simulated: flags&2 != 0, Cases: []calibration.Case{c}}
	h.Facts.Chip, h.Facts.Cores, h.Environment.ToolCommit = verdict, size(), name
	half := &timings.Set{Implementations: set.Implementations[:1], Blocks: set.Blocks[len(set.Blocks)/2:]}
	return h, map[string][]Run{name: {{Samples: set}, {half, []int{size(), size()}}}}
}
