package plots

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"

	"crossover/calibration"
	"crossover/thresholds"
	"crossover/timings"
)

// Logarithmic axes end where sizes and times stop making sense. Values outside are not drawn.
const (
	largestSize  = 1 << 60
	shortestTime = 1e-15 // seconds
	longestTime  = 1e8   // seconds
)

func drawableSize(n int) bool           { return n >= 1 && n <= largestSize }
func drawableTime(seconds float64) bool { return seconds >= shortestTime && seconds <= longestTime }

// curve is the part of a chart about one implementation. X is a size. Y is seconds per call or a slowdown. times and
// slowdown are medians of all runs, at the sizes at which the implementation was timed.
type curve struct {
	name     string
	times    plotter.XYs
	slowdown plotter.XYs // time divided by that of the best implementation
	newest   points
	earlier  points  // of the runs before the newest
	least    float64 // log of the least slowdown at any size
	absence
}

// points are an implementation's values in single runs.
type points struct {
	blocks   plotter.XYs // raw times
	slowdown plotter.XYs // medians of single runs; none if there is a single run
}

// absence says at which of the case's sizes an implementation was not timed.
type absence struct {
	gaps  []bool // for each point, whether there was such a size between the point and the one before
	below bool   // whether there was one below the first point
	above bool   // whether there was one above the last
}

// curvesOf returns the curves of runs and of their summary. The first run is the newest. Curves that come closest to being
// best come first.
func curvesOf(runs []Run, summary *thresholds.Curves) []curve {
	sets := samplesOf(runs)
	var alone []thresholds.Curves
	for _, set := range sets {
		alone = append(alone, thresholds.Summarise(set))
	}
	var curves []curve
	for i, name := range summary.Implementations {
		c := curve{name: name, least: math.Inf(1)}
		skipped := false
		for s, size := range summary.Sizes {
			if !drawableSize(size) {
				continue
			}
			seconds, loss := summary.Seconds[i][s], summary.Loss[i][s]
			if !drawableTime(seconds) || math.IsInf(loss, 0) {
				skipped = true
				continue
			}
			c.below = c.below || skipped && len(c.times) == 0
			c.gaps = append(c.gaps, skipped && len(c.times) > 0)
			skipped = false
			c.times = append(c.times, plotter.XY{X: float64(size), Y: seconds})
			c.slowdown = append(c.slowdown, plotter.XY{X: float64(size), Y: math.Exp(min(loss, 50))})
			c.least = min(c.least, loss)
		}
		c.above = skipped
		for n, set := range sets {
			of := &c.earlier
			if n == 0 {
				of = &c.newest
			}
			of.blocks = append(of.blocks, rawTimes(set, name)...)
			if len(sets) > 1 {
				of.slowdown = append(of.slowdown, slowdowns(&alone[n], name)...)
			}
		}
		if len(c.times) > 0 {
			curves = append(curves, c)
		}
	}
	slices.SortStableFunc(curves, func(a, b curve) int {
		return cmp.Or(cmp.Compare(a.least, b.least), cmp.Compare(a.name, b.name))
	})
	return curves
}

// rawTimes returns the times of an implementation in the blocks of a run.
func rawTimes(set *timings.Set, name string) plotter.XYs {
	i := slices.Index(set.Implementations, name)
	var points plotter.XYs
	for b := range set.Blocks {
		block := &set.Blocks[b]
		if i >= 0 && drawableSize(block.Size) && block.Timed(i) && drawableTime(block.Seconds[i]) {
			points = append(points, plotter.XY{X: float64(block.Size), Y: block.Seconds[i]})
		}
	}
	return points
}

// slowdowns returns the slowdowns of an implementation in one run.
func slowdowns(run *thresholds.Curves, name string) plotter.XYs {
	i := slices.Index(run.Implementations, name)
	var points plotter.XYs
	for s, size := range run.Sizes {
		if i >= 0 && drawableSize(size) && !math.IsInf(run.Loss[i][s], 0) {
			points = append(points, plotter.XY{X: float64(size), Y: math.Exp(min(run.Loss[i][s], 50))})
		}
	}
	return points
}

// winners returns the fastest implementation at each measured size.
func winners(runs []Run) (sizes []int, names []string) {
	summary := thresholds.Summarise(samplesOf(runs)...)
	for s, size := range summary.Sizes {
		for i, name := range summary.Implementations {
			if summary.Loss[i][s] == 0 && drawableSize(size) {
				sizes, names = append(sizes, size), append(names, name)
				break
			}
		}
	}
	return sizes, names
}

// span is the drawn form of a segment. It goes from its threshold to the next one.
type span struct {
	from, to       float64
	implementation string
	onGPU          bool
	threshold      int     // 0 for the first one
	low, high      float64 // the threshold's interval; both are 0 if it has none
	doubts         []doubt
}

// spansOf returns the segments of a case that can be drawn.
func spansOf(c *calibration.Case) []span {
	var spans []span
	gpus := onGPU(c)
	for i := range c.Segments {
		s := &c.Segments[i]
		if !drawableSize(s.From) || !drawableSize(s.To) || s.To < s.From {
			continue
		}
		next := span{
			from: float64(s.From), to: float64(s.To), implementation: s.Implementation, onGPU: gpus[s.Implementation], doubts: doubtsOf(s),
		}
		if n := len(spans); n > 0 {
			if next.from <= spans[n-1].from {
				continue
			}
			spans[n-1].to = next.from
			next.threshold = s.From
			if i := s.Interval; i != nil && drawableSize(i.Low) && drawableSize(i.High) && i.Low <= i.High {
				next.low, next.high = float64(i.Low), float64(i.High)
			}
		}
		spans = append(spans, next)
	}
	return spans
}

// onGPU returns the set of a case's implementations that a GPU computes.
func onGPU(c *calibration.Case) map[string]bool {
	on := map[string]bool{}
	for _, i := range c.Implementations {
		if i.Processor == "gpu" {
			on[i.Name] = true
		}
	}
	return on
}

// sizeRange returns the range of sizes on a chart of an axis, spans and curves.
func sizeRange(axis calibration.Axis, spans []span, curves []curve) (from, to float64) {
	from, to = math.Inf(1), math.Inf(-1)
	cover := func(v float64) { from, to = min(from, v), max(to, v) }
	for _, n := range []int{axis.From, axis.To} {
		if drawableSize(n) {
			cover(float64(n))
		}
	}
	for _, s := range spans {
		cover(s.from)
		cover(s.to)
	}
	for _, c := range curves {
		for _, p := range c.times {
			cover(p.X)
		}
	}
	if from > to {
		return 1, 1
	}
	return from, to
}

// timeRange returns the range of times on a chart of curves: every median, and the blocks up to three times beyond the
// medians. The range is wide enough for tick labels of four digits to differ.
func timeRange(curves []curve) (from, to float64) {
	const far, narrowest = 3, 1.02
	from, to = math.Inf(1), math.Inf(-1)
	for _, c := range curves {
		for _, p := range c.times {
			from, to = min(from, p.Y), max(to, p.Y)
		}
	}
	if from > to {
		return 1e-6, 1e-3
	}
	low, high := from, to
	for _, c := range curves {
		for _, points := range []plotter.XYs{c.newest.blocks, c.earlier.blocks} {
			for _, p := range points {
				low, high = min(low, max(p.Y, from/far)), max(high, min(p.Y, to*far))
			}
		}
	}
	if high < low*narrowest {
		low, high = low/narrowest, high*narrowest
	}
	return low, high
}

// widen adds a share of a logarithmic range on each side of it. A range of one value becomes one octave.
func widen(from, to, share float64) (float64, float64) {
	factor := math.Pow(to/from, share)
	if to == from {
		factor = math.Sqrt2
	}
	return from / factor, to * factor
}

// slowdownRange returns the upper end of the panel of slowdowns: the first round ratio that shows the whole of every curve,
// and 3 if there is none. Greater slowdowns do not change a decision.
func slowdownRange(curves []curve) float64 {
	largest := 1.0
	for _, c := range curves {
		for _, p := range c.slowdown {
			largest = max(largest, p.Y)
		}
	}
	for _, end := range []float64{1.25, 1.5, 2} {
		if largest <= end {
			return end
		}
	}
	return 3
}
