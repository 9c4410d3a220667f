package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"crossover/calibration"
	"crossover/calibration/surface"
	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/thresholds/surfaces"
	"crossover/timings"
)

// shapesShare is the part of the budget for shapes all over the operations. The cases get the rest. Most calls of programs are
// at shapes that lie on no case, and their choices cost twice as much as those on cases.
const shapesShare = 0.6

// elsewhereShare is the part of the budget that the cases get beside, if some are of other placements than caller. There are two
// of these for each other one if the machine has a GPU. Without it they had one size each. For data on the GPU, the processor
// was then chosen at all greater sizes of most operations.
const elsewhereShare = 0.25

// elsewhere is the worth of visits to shapes in other placements than caller, as a factor. Nearly all programs have their
// data in the placement caller, and what was measured there tells the times of the processor.
const elsewhere = 0.25

// budgets returns the budget of the shapes, which is 0 if there are none to measure, and the budget of the cases.
func (r *Run) budgets() (shapes, cases time.Duration) {
	if len(r.Spaces) == 0 {
		return 0, r.options.Budget
	}
	if len(r.cases) == 0 {
		return r.options.Budget, 0
	}
	shapes = min(r.askedBudget(), r.options.Budget/2)
	if !r.Alone {
		share := shapesShare
		if r.isElsewhere() {
			share -= elsewhereShare
		}
		shapes += time.Duration(share * float64(r.options.Budget-shapes))
	}
	return shapes, r.options.Budget - shapes
}

// shapesOf is the space of an operation as a planner sees it.
type shapesOf struct{ *kernels.Space }

func (s shapesOf) Draw(at []float64) ([]int, bool) {
	shape, ok := s.Space.Draw(at)
	return s.Values(shape), ok
}

func (s shapesOf) Add(values []int) int {
	var shape kernels.Shape
	copy(shape[:], values)
	return s.Space.Add(shape)
}

func (s shapesOf) At(size int) []int { return s.Case.Shape(size) }

// measureShapes measures shapes of the spaces. o are the options of the sweep of the cases.
func (r *Run) measureShapes(ctx context.Context, o sweeps.Options) error {
	of := map[string]*kernels.Space{}
	var cases []kernels.Case
	for _, s := range r.Spaces {
		of[s.Case.Name] = s
		cases = append(cases, s.Case)
	}
	times := newAskedTimes()
	o.Planner = func(c *kernels.Case) sweeps.Planner {
		s := of[c.Name]
		var next sweeps.Planner
		if p := r.spread(s); p != nil {
			next = p
		}
		return planFirst(c.Name, r.askedIn(c.Name), times, sizeIn(s), next)
	}
	o.Brief, o.Short, o.Ahead = !r.Alone, nil, r.compileUpcoming
	if len(r.cases) > 0 {
		o.Observe = nil
	}
	if o.Save != nil {
		o.Save = func(result *sweeps.Result) error {
			r.takeShapes(of[result.Case.Name], result)
			return cannotSave(result.Samples.SaveCompressed(r.Folder)) // shapes of many runs add up
		}
	}
	results, err := sweeps.Run(ctx, cases, o)
	for _, result := range results {
		r.takeShapes(of[result.Case.Name], result)
	}
	return err
}

// spread returns the planner of shapes all over a space. If only asked shapes are measured, it returns nil.
func (r *Run) spread(s *kernels.Space) *surfaces.Planner {
	if r.Alone {
		return nil
	}
	// Each operation and each placement has a seed of its own. What was measured of one is also fitted for the other operations of its
	// family, and for its other placements. The same shapes again would tell them little.
	p := surfaces.NewPlanner(shapesOf{s}, s.Case.Axes, s.Features, r.options.Seed^numberOf(s.Case.Name))
	if s.Placement != kernels.Caller {
		p.Weigh(elsewhere)
	}
	of := &calibration.Operation{Name: s.Operation, Placement: string(s.Placement)}
	for _, name := range s.Case.Axes {
		of.Axes = append(of.Axes, calibration.Axis{Name: name})
	}
	before := r.shapesBefore(s)
	p.Know(knownShapes(before), func(implementations []string) []surfaces.Point {
		earlier := thinned(surfaces.Points(before.For(implementations), before.Shape), mostKnown)
		return slices.Concat(earlier, r.pointsOfCases(of, implementations))
	})
	return p
}

// shapesBefore returns the timings of a space's shapes by earlier runs, without times of implementations that have changed since.
func (r *Run) shapesBefore(s *kernels.Space) *timings.Set {
	if r.Before == nil || r.Before.Shapes[s.Case.Name] == nil || !slices.Equal(r.Before.Shapes[s.Case.Name].Axes, s.Case.Axes) {
		return &timings.Set{}
	}
	before := r.Before.Shapes[s.Case.Name]
	return thresholds.Since(before, before.Changes(revisionOf(&s.Case), holdsIn(&s.Case, before, revisionOf(&s.Case), r.Before.Entry.Processors())))
}

// knownShapes returns how many shapes of earlier runs count as known. That is at most leftOutAt times the number of shapes at
// which the least measured implementation was timed, because slow ones are left out at two of three shapes. One that has changed
// since was timed nowhere. So the planner first spreads shapes over the space, as if the operation were new. Otherwise it would
// believe what the others say: beside an H200 it measured the new go-parallel of greedy at one shape, and choices took 17 times as
// long as the best ones.
func knownShapes(before *timings.Set) int {
	sizes := before.Sizes()
	known := len(sizes)
	for i := range before.Implementations {
		timed := 0
		for _, size := range sizes {
			if slices.ContainsFunc(before.At(size), func(b timings.Block) bool { return b.Timed(i) }) {
				timed++
			}
		}
		known = min(known, leftOutAt*timed)
	}
	return known
}

// leftOutAt is how many shapes there are for each one at which a hopelessly slow implementation is timed.
const leftOutAt = 3

// mostKnown is how many shapes of earlier runs guide a planner. The work of a fit grows with their cube, and it takes time from
// measuring.
const mostKnown = 60

// takeShapes puts the samples of an operation's shapes into the run, and the operation into the entry.
func (r *Run) takeShapes(s *kernels.Space, result *sweeps.Result) {
	set := &result.Samples
	set.Simulated, set.Axes, set.Shapes = r.Entry.Simulated, s.Case.Axes, map[int][]int{}
	for _, size := range set.Sizes() {
		set.Shapes[size] = s.Case.Shape(size)
	}
	if len(set.Blocks) == 0 { // also if all implementations turned out to be wrong, after blocks of theirs
		delete(r.Shapes, set.Case)
		r.Entry.Operations = slices.DeleteFunc(r.Entry.Operations, func(o calibration.Operation) bool {
			return o.Name == s.Operation && o.Placement == string(s.Placement)
		})
		return
	}
	operation := calibration.Operation{
		Name: s.Operation, Placement: string(s.Placement), Family: s.Family, Created: new(r.Entry.Created),
		Degraded: result.Degraded,
	}
	for _, a := range s.Axes {
		operation.Axes = append(operation.Axes, calibration.Axis{Name: a.Name, Unit: a.Unit})
	}
	r.noteAsked(&operation, set)
	span(&operation, set)
	for _, status := range result.Implementations {
		operation.Implementations = append(operation.Implementations, calibration.Implementation{
			Name: status.Name, Processor: string(status.Processor), Version: status.Version, Revision: status.Revision,
			RelativeError: status.RelativeError, ErrorBound: status.ErrorBound, Excluded: status.Excluded, Wrong: status.Wrong,
		})
	}
	operation.Surface.Axes, operation.Surface.Features = s.Case.Axes, s.Features
	operation.Blocks, operation.Samples = len(set.Blocks), set.Digest()
	r.Shapes[set.Case] = set
	k := slices.IndexFunc(r.Entry.Operations, func(o calibration.Operation) bool {
		return o.Name == operation.Name && o.Placement == operation.Placement
	})
	if k < 0 {
		r.Entry.Operations = append(r.Entry.Operations, operation)
		return
	}
	r.Entry.Operations[k] = operation
}

// shapesName returns the name of the samples of an operation's shapes. kernels.Space gives its case the same name.
func shapesName(o *calibration.Operation) string {
	if o.Placement == string(kernels.Caller) {
		return o.Name
	}
	return o.Name + "/" + o.Placement
}

// fitShapes fits the shapes of every operation, and puts the surfaces and their held-out results into the entry. What is
// promised of an operation rests on the losses of all operations of the host.
func (r *Run) fitShapes(ctx context.Context) error {
	all := make([]fittedOperation, len(r.Entry.Operations))
	if err := each(ctx, len(all), func(k int) { all[k] = r.fitOperation(&r.Entry.Operations[k]) }); err != nil {
		return err
	}
	var host []float64
	for _, f := range all {
		host = slices.Concat(host, f.held.Losses, f.crossed.Losses)
	}
	for k, f := range all {
		o := &r.Entry.Operations[k]
		for i := range o.Implementations {
			o.Implementations[i].RelativeError = rounded(o.Implementations[i].RelativeError)
		}
		o.Surface = f.surface
		o.HeldOut = heldOut(f.held, len(f.crossed.Losses), surfaces.Promised(f.held.Losses, f.crossed.Losses, host))
	}
	return nil
}

// fittedOperation is a surface, and how its choices were judged before it was fitted to all shapes.
type fittedOperation struct {
	surface       surface.Surface
	held, crossed surfaces.Judged
}

// fitOperation fits one operation and judges its choices. held is the result at shapes that are held out. crossed is that at
// the other shapes, whose choices come from fits without them. After the judging, the surface is fitted to all shapes, also to
// those that were held out. If there are too few samples, it stays as it is. Asked shapes are not judged, because choices there
// rest on no prediction. Other operations are read meanwhile, so only the asked shapes are filled in.
func (r *Run) fitOperation(o *calibration.Operation) (f fittedOperation) {
	f.surface = o.Surface
	set := r.Shapes[shapesName(o)]
	set = set.For(competingOf(o.Implementations, set.Implementations))
	fitAsked(o, set)
	problem := &surfaces.Problem{
		Axes: o.Surface.Axes, Features: o.Surface.Features, Implementations: set.Implementations, Points: r.pointsOf(o, set),
	}
	part := *problem
	part.Points = fitted(o, problem.Points)
	if fit, err := surfaces.New(&part); err == nil {
		f.held, f.crossed = judged(o, set, &part, fit)
		if fit, err = fit.More(problem, true); err == nil {
			f.surface = *fit.Surface
		}
	} else if fit, err := surfaces.New(problem); err == nil {
		f.surface = *fit.Surface
	}
	round(&f.surface)
	return f
}

// judged judges the choices by a fit to a part of the points, at the shapes that are held out and at those of the part.
func judged(o *calibration.Operation, set *timings.Set, part *surfaces.Problem, fit *surfaces.Fit) (held, crossed surfaces.Judged) {
	round(fit.Surface)
	predictor := surface.NewPredictor(fit.Surface)
	predicted := make([]float64, len(fit.Surface.Implementations))
	judge := unasked(o, set)
	held = surfaces.Judge(judge, set.Shape, func(shape []int) []int {
		predictor.Predict(shape, predicted)
		return ranking(fit.Surface, predicted, set.Implementations)
	})
	return held, surfaces.Crossed(judge, set.Shape, part, fit)
}

// pointsOf returns all points of an operation: its own, those of its cases, those of its family, and those of its other
// placements. set has the operation's own samples.
func (r *Run) pointsOf(o *calibration.Operation, set *timings.Set) []surfaces.Point {
	all := slices.Concat(surfaces.Points(set, set.Shape), r.pointsOfCases(o, set.Implementations))
	for _, more := range [][]surfaces.Point{
		r.pointsOfFamily(o, set.Implementations), r.pointsOfPlacements(o, set.Implementations),
	} {
		all = append(all, thinned(more, mostFitted-len(all))...)
	}
	return all
}

// fitted returns the points that are fitted before the choices are judged. These are the points that are not held out, and
// all asked shapes, where no prediction is judged.
func fitted(o *calibration.Operation, points []surfaces.Point) []surfaces.Point {
	return slices.DeleteFunc(slices.Clone(points), func(p surfaces.Point) bool {
		_, asked := o.FindAsked(p.Shape)
		return surfaces.HeldOut(p.Shape) && !asked
	})
}

// competingOf returns those of the names whose implementation is not excluded.
func competingOf(all []calibration.Implementation, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(all, func(i calibration.Implementation) bool {
			return i.Name == name && i.Excluded != ""
		})
	})
}

// ranking returns the indexes of implementations in the order of their predicted times, fastest first. Implementations
// without a prediction come last.
func ranking(s *surface.Surface, logSeconds []float64, implementations []string) []int {
	expected := make([]float64, len(implementations))
	order := make([]int, len(implementations))
	for i, name := range implementations {
		order[i], expected[i] = i, math.Inf(1)
		if k := slices.IndexFunc(s.Implementations, func(p surface.Implementation) bool { return p.Name == name }); k >= 0 {
			expected[i] = logSeconds[k]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case expected[a] < expected[b]:
			return -1
		case expected[a] > expected[b]:
			return 1
		}
		return 0
	})
	return order
}

// pointsOfPlacements returns the points of an operation in its other placements, of implementations on the processor only.
// Their times do not depend on the placement.
func (r *Run) pointsOfPlacements(o *calibration.Operation, implementations []string) []surfaces.Point {
	var all []surfaces.Point
	for k := range r.Entry.Operations {
		other := &r.Entry.Operations[k]
		if other.Name != o.Name || other.Placement == o.Placement || !slices.Equal(other.Surface.Axes, o.Surface.Axes) {
			continue
		}
		set := sameAs(r.Shapes[shapesName(o)], r.Shapes[shapesName(other)])
		all = append(all, surfaces.Points(set.For(onProcessor(other, implementations)), set.Shape)...)
	}
	return all
}

// pointsOfFamily returns the points of the other operations of an operation's family, in the same placement.
func (r *Run) pointsOfFamily(o *calibration.Operation, implementations []string) []surfaces.Point {
	var all []surfaces.Point
	relative := 0
	for k := range r.Entry.Operations {
		other := &r.Entry.Operations[k]
		if o.Family == "" || other.Family != o.Family || other.Name == o.Name || other.Placement != o.Placement ||
			!slices.Equal(other.Surface.Axes, o.Surface.Axes) {
			continue
		}
		relative++
		names, set := notExcluded(other, implementations), r.Shapes[shapesName(other)]
		points := append(surfaces.Points(set.For(names), set.Shape), r.pointsOfCases(other, names)...)
		for n := range points {
			points[n].Relative = relative
		}
		all = append(all, points...)
	}
	return all
}

// mostFitted is how many points a surface is fitted to, unless the operation itself has more. What was measured with the data
// elsewhere is left out first. So a host with fifty operations takes less than four megabytes.
const mostFitted = 500

// thinned returns at most so many of some points, evenly.
func thinned(points []surfaces.Point, most int) []surfaces.Point {
	if len(points) <= most {
		return points
	}
	var few []surfaces.Point
	for i := range max(0, most) {
		few = append(few, points[i*len(points)/most])
	}
	return few
}

// onProcessor returns the names, with "" in the place of each implementation that is not on the processor or is excluded.
func onProcessor(o *calibration.Operation, names []string) []string {
	return named(o, names, func(i *calibration.Implementation) bool {
		return i.Excluded == "" && i.Processor == string(kernels.CPU)
	})
}

// notExcluded returns the names, with "" in the place of each implementation that is excluded.
func notExcluded(o *calibration.Operation, names []string) []string {
	return named(o, names, func(i *calibration.Implementation) bool { return i.Excluded == "" })
}

// named returns the names, with "" in the place of each that is not of an implementation which is wanted.
func named(o *calibration.Operation, names []string, wanted func(i *calibration.Implementation) bool) []string {
	out := make([]string, len(names))
	for i, name := range names {
		for k := range o.Implementations {
			if known := &o.Implementations[k]; known.Name == name && wanted(known) {
				out[i] = name
			}
		}
	}
	return out
}

// pointsOfCases returns the points of an operation on the lines of its cases, as all runs of a case measured them.
func (r *Run) pointsOfCases(o *calibration.Operation, implementations []string) []surfaces.Point {
	var all []surfaces.Point
	for k := range r.Entry.Cases {
		c := &r.Entry.Cases[k]
		if c.Operation != o.Name || r.Timings[c.Name] == nil || placementOf(c) != o.Placement {
			continue
		}
		joined := &timings.Set{Case: c.Name, Implementations: implementations}
		for _, run := range r.History(c.Name) {
			joined.Blocks = append(joined.Blocks, sameAs(r.Shapes[shapesName(o)], run).For(implementations).Blocks...)
		}
		all = append(all, surfaces.Points(joined, func(size int) []int { return o.ShapeOf(c, size) })...)
	}
	return all
}

// placementOf returns the placement of a case.
func placementOf(c *calibration.Case) string {
	for _, p := range []kernels.Placement{kernels.Shared, kernels.Resident} {
		if c.Parameters[string(p)] != 0 {
			return string(p)
		}
	}
	return string(kernels.Caller)
}

// heldOut returns the result at held-out shapes as the file has it. crossed is the number of fitted shapes that the promise
// also rests on. A bound is never better than the result itself.
func heldOut(j surfaces.Judged, crossed int, promise surfaces.Promise) calibration.HeldOut {
	out := calibration.HeldOut{Shapes: len(j.Losses)}
	if out.Shapes == 0 {
		return out
	}
	relative := func(log float64) float64 { return rounded(math.Expm1(log)) }
	out.Crossed = crossed
	out.Regret, out.RegretUpper = relative(j.Mean), relative(max(j.Mean, promise.Mean))
	out.Within, out.WithinLower = rounded(j.Within), rounded(min(j.Within, promise.Within))
	out.NineInTenUpper = relative(promise.NineInTen)
	out.Worst, out.WorstShape = relative(j.Worst), j.WorstAt
	for k, shape := range j.Shapes {
		out.Points = append(out.Points, shape...)
		out.Losses = append(out.Losses, roundedTo(decimals, math.Expm1(j.Losses[k])))
	}
	return out
}

// digits is the number of digits of a fitted number in the file.
const digits = 7

func rounded(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil {
		return v
	}
	return short
}

// decimals is the number of decimals of losses and of a surface's weights in the file. Weights are added to a log-time, so
// their absolute rounding errors count, and not the relative ones. At a shape a few hundred weights are added, and most of
// their errors cancel. Predicted times of the two committed hosts change by 0.02 % in the mean, and by 0.1 % at most.
const decimals = 4

func roundedTo(decimals int, v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
	if err != nil {
		return v
	}
	return short + 0 // not −0
}

// round rounds the numbers of a surface to the digits in the file.
func round(s *surface.Surface) {
	each := func(values []float64, round func(float64) float64) {
		for i := range values {
			values[i] = round(values[i])
		}
	}
	each(s.Scales, rounded)
	for k := range s.Implementations {
		i := &s.Implementations[k]
		each(i.Linear, rounded)
		each(i.Weights, func(v float64) float64 { return roundedTo(decimals, v) })
		i.Risk = rounded(i.Risk)
	}
}

// loadShapes reads the samples of the shapes of the entry's operations. If the run was killed, samples may be newer than the
// entry, or may be missing.
func (r *Run) loadShapes(killed bool) error {
	var operations []calibration.Operation
	for _, o := range r.Entry.Operations {
		name := shapesName(&o)
		set, err := timings.Load(filepath.Join(r.Folder, timings.CompressedName(name)))
		if errors.Is(err, fs.ErrNotExist) && killed {
			continue
		}
		if err == nil && killed {
			o.Blocks, o.Samples = len(set.Blocks), set.Digest()
		}
		switch {
		case err != nil:
			return err
		case set.Case != name || set.Simulated != r.Entry.Simulated || set.Digest() != o.Samples || !slices.Equal(set.Axes, o.Surface.Axes):
			return fmt.Errorf("%s holds other samples than %s names", timings.CompressedName(name), EntryFile)
		}
		operations = append(operations, o)
		r.Shapes[name] = set
	}
	r.Entry.Operations = operations
	return nil
}

// What is kept of an operation's shapes from run to run. A choice at a shape is judged by at least two blocks. If shapes kept
// three, fewer shapes would have room, and choices at other shapes would be worse: docs/method.md has the figures.
const (
	mostShapes = 400
	mostLines  = 5000 // times, with those of twins
	leastKept  = 2    // blocks of a shape
)

// limits returns how much is kept of the shapes of an operation that has such asked shapes.
func limits(asked []calibration.Asked) timings.Limits {
	return timings.Limits{
		Shapes: mostShapes, Lines: mostLines, Blocks: leastKept,
		Asked: func(shape []int) bool {
			return slices.ContainsFunc(asked, func(a calibration.Asked) bool { return slices.Equal(a.Shape, shape) })
		},
		AskedBlocks: askedVisits * askedBlocks,
	}
}

// joinShapes adds the operations of two runs. Shapes of the older run are kept beside those of the newer run, unless fresh
// says that the older ones are forgotten.
func (j *joint) joinShapes(older, newer *Run, fresh func(name string) bool) {
	for k := range newer.Entry.Operations {
		o := newer.Entry.Operations[k]
		name := shapesName(&o)
		set := newer.Shapes[name]
		if before := older.Shapes[name]; before != nil && !fresh(name) && slices.Equal(before.Axes, set.Axes) {
			if known := older.Entry.Operation(o.Name, o.Placement); known != nil {
				o.Degraded = o.Degraded && known.Degraded
			}
			asked := askedOf(older, &o)
			set = timings.Merge(before, set, limits(slices.Concat(o.Asked, asked)))
			o.Asked = joinAsked(o.Asked, asked, set)
		}
		j.addShapes(o, set)
	}
	for k := range older.Entry.Operations {
		o := older.Entry.Operations[k]
		if name := shapesName(&o); j.Shapes[name] == nil {
			j.addShapes(o, older.Shapes[name])
		}
	}
}

// askedOf returns the asked shapes that a run has of an operation.
func askedOf(r *Run, o *calibration.Operation) []calibration.Asked {
	if known := r.Entry.Operation(o.Name, o.Placement); known != nil {
		return known.Asked
	}
	return nil
}

func (j *joint) addShapes(o calibration.Operation, set *timings.Set) {
	span(&o, set)
	o.Blocks, o.Samples = len(set.Blocks), set.Digest()
	j.Entry.Operations = append(j.Entry.Operations, o)
	j.Shapes[set.Case] = set
}
