package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"time"

	"crossover/calibration"
	"crossover/calibration/surface"
	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds/surfaces"
	"crossover/timings"
)

// shapesShare is the part of the budget that goes into shapes all over the operations; the cases get the rest.
const shapesShare = 0.5

// elsewhere is what a shape whose data lie elsewhere than in the memory of the caller is worth beside one of the caller's,
// where nearly all programs have theirs.
const elsewhere = 0.5

// budgets returns the budget of the shapes, which is 0 where there are none to measure, and that of the cases.
func (r *Run) budgets() (shapes, cases time.Duration) {
	if len(r.Spaces) == 0 {
		return 0, r.options.Budget
	}
	if len(r.cases) == 0 {
		return r.options.Budget, 0
	}
	shapes = min(r.askedBudget(), r.options.Budget/2)
	if !r.Alone {
		shapes += time.Duration(shapesShare * float64(r.options.Budget-shapes))
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

func axisNames(s *kernels.Space) []string {
	var names []string
	for _, a := range s.Axes {
		names = append(names, a.Name)
	}
	return names
}

// measureShapes measures shapes of the spaces, with the options that the cases were swept with.
func (r *Run) measureShapes(ctx context.Context, o sweeps.Options) error {
	of := map[string]*kernels.Space{}
	var cases []kernels.Case
	for _, s := range r.Spaces {
		of[s.Case.Name] = s
		cases = append(cases, s.Case)
	}
	o.Planner = func(c *kernels.Case) sweeps.Planner {
		s := of[c.Name]
		return planFirst(r.askedIn(c.Name), sizeIn(s), r.spread(s))
	}
	o.Brief = !r.Alone
	if len(r.cases) > 0 {
		o.Observe = nil
	}
	if o.Save != nil {
		o.Save = func(result *sweeps.Result) error {
			r.takeShapes(of[result.Case.Name], result)
			if err := cannotSave(result.Samples.SaveCompressed(r.Folder)); err != nil { // hundreds of shapes, of many runs in the end
				return err
			}
			return r.saveEntry(r.Folder)
		}
	}
	results, err := sweeps.Run(ctx, cases, o)
	for _, result := range results {
		r.takeShapes(of[result.Case.Name], result)
	}
	return err
}

// spread returns the planner of the shapes all over a space, nil if only shapes that were asked for are measured.
func (r *Run) spread(s *kernels.Space) sweeps.Planner {
	if r.Alone {
		return nil
	}
	p := surfaces.NewPlanner(shapesOf{s}, axisNames(s), s.Features, r.options.Seed+uint64(len(s.Placement)))
	if s.Placement != kernels.Caller {
		p.Weigh(elsewhere)
	}
	return p
}

// takeShapes puts into the run what was measured of an operation's shapes.
func (r *Run) takeShapes(s *kernels.Space, result *sweeps.Result) {
	set := &result.Samples
	set.Simulated, set.Axes, set.Shapes = r.Entry.Simulated, axisNames(s), map[int][]int{}
	for _, size := range set.Sizes() {
		set.Shapes[size] = s.Case.Shape(size)
	}
	if len(set.Blocks) == 0 {
		return
	}
	operation := calibration.Operation{Name: s.Operation, Placement: string(s.Placement)}
	for _, a := range s.Axes {
		operation.Axes = append(operation.Axes, calibration.Axis{Name: a.Name, Unit: a.Unit})
	}
	r.noteAsked(&operation, set)
	span(&operation, set)
	for _, status := range result.Implementations {
		operation.Implementations = append(operation.Implementations, calibration.Implementation{
			Name: status.Name, Processor: string(status.Processor), Version: status.Version,
			RelativeError: status.RelativeError, Excluded: status.Excluded, Wrong: status.Wrong,
		})
	}
	operation.Surface.Axes, operation.Surface.Features = axisNames(s), s.Features
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

// shapesName is the name of an operation's samples over its shapes, as kernels.Space names its case.
func shapesName(o *calibration.Operation) string {
	if o.Placement == string(kernels.Caller) {
		return o.Name
	}
	return o.Name + "/" + o.Placement
}

// fitShapes fits the shapes of every operation, and puts surfaces and their held-out results into the entry. What all
// operations lose says what to expect of each.
func (r *Run) fitShapes(ctx context.Context) error {
	held := make([]surfaces.Judged, len(r.Entry.Operations))
	crossed := make([]surfaces.Judged, len(r.Entry.Operations))
	var host []float64
	for k := range r.Entry.Operations {
		if err := ctx.Err(); err != nil {
			return err
		}
		held[k], crossed[k] = r.fitOperation(&r.Entry.Operations[k])
		host = slices.Concat(host, held[k].Losses, crossed[k].Losses)
	}
	for k := range r.Entry.Operations {
		promise := surfaces.Promised(held[k].Losses, crossed[k].Losses, host)
		r.Entry.Operations[k].HeldOut = heldOut(held[k], len(crossed[k].Losses), promise)
	}
	return nil
}

// fitOperation fits one operation and judges the choices: at shapes that were held out, and at fitted ones by fits without
// them. Where the samples do for no surface it has none. Shapes that somebody asked for judge nothing: choices there rest on no
// prediction.
func (r *Run) fitOperation(o *calibration.Operation) (held, crossed surfaces.Judged) {
	set := r.Shapes[shapesName(o)]
	set = set.For(competingOf(o.Implementations, set.Implementations))
	fitAsked(o, set)
	problem := &surfaces.Problem{
		Axes: o.Surface.Axes, Features: o.Surface.Features, Implementations: set.Implementations,
		Points: slices.Concat(fitted(o, surfaces.Points(set, set.Shape)),
			r.pointsOfPlacements(o, set.Implementations), r.pointsOfCases(o, set.Implementations)),
	}
	fit, err := surfaces.New(problem)
	if err != nil {
		return held, crossed
	}
	o.Surface = *fit.Surface
	round(&o.Surface)
	predictor := surface.NewPredictor(&o.Surface)
	predicted := make([]float64, len(o.Surface.Implementations))
	judge := unasked(o, set)
	held = surfaces.Judge(judge, set.Shape, func(shape []int) []int {
		predictor.Predict(shape, predicted)
		return ranking(&o.Surface, predicted, set.Implementations)
	})
	return held, surfaces.Crossed(judge, set.Shape, problem, fit)
}

// fitted returns the points that are not held out of the fit, and all that somebody asked for: no prediction is judged there.
func fitted(o *calibration.Operation, points []surfaces.Point) []surfaces.Point {
	return slices.DeleteFunc(points, func(p surfaces.Point) bool {
		_, asked := o.FindAsked(p.Shape)
		return surfaces.HeldOut(p.Shape) && !asked
	})
}

// competingOf returns the names, of some, of the implementations that were not excluded.
func competingOf(all []calibration.Implementation, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(all, func(i calibration.Implementation) bool {
			return i.Name == name && i.Excluded != ""
		})
	})
}

// ranking returns the indexes of implementations, the fastest as predicted first. Those that are not predicted come last.
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

// pointsOfPlacements returns what was measured of an operation with its data elsewhere, of the implementations on the
// processor: to these it makes no difference where the data are.
func (r *Run) pointsOfPlacements(o *calibration.Operation, implementations []string) []surfaces.Point {
	var all []surfaces.Point
	for k := range r.Entry.Operations {
		other := &r.Entry.Operations[k]
		if other.Name != o.Name || other.Placement == o.Placement || !slices.Equal(other.Surface.Axes, o.Surface.Axes) {
			continue
		}
		set := r.Shapes[shapesName(other)]
		all = append(all, surfaces.Fitted(surfaces.Points(set.For(onProcessor(other, implementations)), set.Shape))...)
	}
	return all
}

// onProcessor returns the names, of some, of implementations on the processor that were not excluded, and "" in the place
// of the others.
func onProcessor(o *calibration.Operation, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		for _, known := range o.Implementations {
			if known.Name == name && known.Excluded == "" && known.Processor == string(kernels.CPU) {
				out[i] = name
			}
		}
	}
	return out
}

// pointsOfCases returns what the cases of an operation say of shapes on their lines. A case is left out whose parameters do
// not name the other axes.
func (r *Run) pointsOfCases(o *calibration.Operation, implementations []string) []surfaces.Point {
	var all []surfaces.Point
	for k := range r.Entry.Cases {
		c := &r.Entry.Cases[k]
		set := r.Timings[c.Name]
		if c.Operation != o.Name || set == nil || placementOf(c) != o.Placement {
			continue
		}
		base, running := make([]int, len(o.Axes)), -1
		known := 0
		for i, a := range o.Axes {
			if a.Name == c.Axis.Name {
				running = i
				known++
			} else if value, ok := c.Parameters[a.Name]; ok {
				base[i] = value
				known++
			}
		}
		if running < 0 || known < len(o.Axes) {
			continue
		}
		points := surfaces.Points(set.For(implementations), func(size int) []int {
			shape := slices.Clone(base)
			shape[running] = size
			return shape
		})
		all = append(all, surfaces.Fitted(points)...)
	}
	return all
}

// placementOf returns the placement of a case's data.
func placementOf(c *calibration.Case) string {
	for _, p := range []kernels.Placement{kernels.Shared, kernels.Resident} {
		if c.Parameters[string(p)] != 0 {
			return string(p)
		}
	}
	return string(kernels.Caller)
}

// heldOut returns what choices cost as the file holds it. crossed is how many fitted shapes the promise rests on, too. Bounds
// are on the right side of what was seen.
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
		out.Losses = append(out.Losses, relative(j.Losses[k]))
	}
	return out
}

// digits is how many digits of a fitted number the file keeps.
const digits = 7

func rounded(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil {
		return v
	}
	return short
}

// round rounds the numbers of a surface as the file keeps them.
func round(s *surface.Surface) {
	each := func(values []float64) {
		for i := range values {
			values[i] = rounded(values[i])
		}
	}
	each(s.Scales)
	for k := range s.Implementations {
		i := &s.Implementations[k]
		each(i.Linear)
		each(i.Weights)
		i.Risk = rounded(i.Risk)
	}
}

// loadShapes reads the samples over the shapes of the entry's operations. Those of a run that was killed may be newer than
// the entry, or not there yet.
func (r *Run) loadShapes(killed bool) error {
	var operations []calibration.Operation
	for _, o := range r.Entry.Operations {
		name := shapesName(&o)
		set, err := timings.Load(compressedFile(r.Folder, name))
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

// mostShapes is how many shapes of an operation are kept from run to run.
const mostShapes = 400

// joinShapes takes up the operations of two runs. Shapes of the older run are kept beside those of the newer one, unless the
// operation is to forget them.
func (j *joint) joinShapes(older, newer *Run, fresh func(name string) bool) {
	for k := range newer.Entry.Operations {
		o := newer.Entry.Operations[k]
		name := shapesName(&o)
		set := newer.Shapes[name]
		if before := older.Shapes[name]; before != nil && !fresh(name) && slices.Equal(before.Axes, set.Axes) {
			set = timings.Merge(before, set, mostShapes)
			o.Asked = joinAsked(o.Asked, askedOf(older, &o), set)
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

// askedOf returns the asked shapes of an operation that a run has too.
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
