package calibration

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Pipeline is what was measured of a graph of operations, whole calls of it by several routes: see package songs.
type Pipeline struct {
	Name    string           `json:"name"`    // of the graph
	Stages  []string         `json:"stages"`  // names of the graph's stages, in their order
	Created time.Time        `json:"created"` // when the measurement began; UTC, whole seconds
	Lengths []PipelineLength `json:"lengths"` // sorted by Elements, each once
}

// PipelineLength is what was measured at one length of the inputs.
type PipelineLength struct {
	Elements []int   `json:"elements"`        // of each input, and then of each output of the first call
	Audio    string  `json:"audio,omitempty"` // "generated", or the name of the recording; "" in files of older versions
	Blocks   int     `json:"blocks"`
	Margin   float64 `json:"margin"` // time of the second route over that of the first one, minus 1; 0 if there is one route
	Routes   []Route `json:"routes"` // the fastest first
	// Parts are what a call consists of, and BetweenSeconds is what it takes besides. A file of an older version has neither.
	Parts          []Part  `json:"parts,omitempty"`
	BetweenSeconds float64 `json:"between_seconds,omitempty"`
	// Revisions are those of the stages' implementations with which this was measured. An implementation without one had revision 0.
	Revisions []StageRevision `json:"revisions,omitempty"`
}

// StageRevision is the revision of an implementation of a stage, above 0: see kernels.Implementation.
type StageRevision struct {
	Stage          string `json:"stage"`
	Implementation string `json:"implementation"`
	Revision       int    `json:"revision"`
}

// RevisionOf returns the revision of a stage's implementation with which the length was measured.
func (l *PipelineLength) RevisionOf(stage, implementation string) int {
	for i := range l.Revisions {
		if r := &l.Revisions[i]; r.Stage == stage && r.Implementation == implementation {
			return r.Revision
		}
	}
	return 0
}

// Part is what a stage, or a tensor that no operation computes, took within calls of its pipeline.
type Part struct {
	Name           string  `json:"name"`                     // of the stage or the tensor
	Implementation string  `json:"implementation,omitempty"` // of the stage; "" for a tensor
	MedianSeconds  float64 `json:"median_seconds"`           // of a call
	// PredictedSeconds is what the surfaces predict for the stage alone. A tensor has its bytes instead.
	PredictedSeconds float64 `json:"predicted_seconds,omitempty"`
	Bytes            int     `json:"bytes,omitempty"`
}

// Route is one way to compute a pipeline.
type Route struct {
	Name string `json:"name"` // what it was measured as: "best-1" to "best-3", "first-1", "first-2", "stages", "processor", "gpu", "elsewhere"; people read Title
	// Implementations are those of the stages. "" is one that the dispatcher chooses.
	Implementations  []string `json:"implementations"`
	MedianSeconds    float64  `json:"median_seconds"`    // of a call; a mean over the calls of a session, where calls go on from each other
	PredictedSeconds float64  `json:"predicted_seconds"` // by the surfaces and the parts of the other lengths; 0 if nothing was predicted
}

// titles are what people read instead of the names of routes.
var titles = map[string]string{
	"best-1":    "forecast to be fastest",
	"best-2":    "forecast to be second",
	"best-3":    "forecast to be third",
	"first-1":   "the fastest before",
	"first-2":   "the second before",
	"stages":    "each stage chosen alone",
	"processor": "all on the processor",
	"gpu":       "all on the GPU",
	"elsewhere": "stages in other places",
}

// Title returns what the route was measured as, in words. A name that this version does not know is its own title.
func (r *Route) Title() string {
	if title, known := titles[r.Name]; known {
		return title
	}
	return r.Name
}

// The greatest numbers of pipelines of a host, stages and lengths of a pipeline, and routes, parts and revisions of a length.
const (
	MostPipelines = 64
	MostStages    = 256
	MostLengths   = 64
	MostRoutes    = 16
	MostParts     = 1024
	MostRevisions = 1024
)

// Pipeline returns what was measured of a graph, or nil if nothing was. It points into the host.
func (h *Host) Pipeline(name string) *Pipeline {
	for i := range h.Pipelines {
		if h.Pipelines[i].Name == name {
			return &h.Pipelines[i]
		}
	}
	return nil
}

// ForecastError returns by what part forecasts of pipelines are off: the median over all routes that have one. It is 0 if none has.
// A forecast knows nothing of its own length, so this is what forecasts at other lengths are off by.
func ForecastError(pipelines ...Pipeline) float64 {
	var all []float64
	for i := range pipelines {
		for _, l := range pipelines[i].Lengths {
			for _, r := range l.Routes {
				if r.PredictedSeconds > 0 {
					all = append(all, math.Abs(r.PredictedSeconds/r.MedianSeconds-1))
				}
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// SetPipeline puts a pipeline into the host, in place of the one of the same name.
func (h *Host) SetPipeline(p Pipeline) {
	h.Pipelines = slices.DeleteFunc(slices.Clone(h.Pipelines), func(q Pipeline) bool { return q.Name == p.Name })
	h.Pipelines = append(h.Pipelines, p)
}

// normalisePipelines sorts the pipelines and their lengths, in arrays of their own.
func (h *Host) normalisePipelines() {
	if len(h.Pipelines) == 0 {
		h.Pipelines = nil // left out of the file, and read back as nil
		return
	}
	h.Pipelines = slices.SortedFunc(slices.Values(h.Pipelines), func(a, b Pipeline) int { return cmp.Compare(a.Name, b.Name) })
	for i := range h.Pipelines {
		p := &h.Pipelines[i]
		p.Created = p.Created.UTC().Truncate(time.Second)
		p.Lengths = slices.SortedFunc(slices.Values(p.Lengths), func(a, b PipelineLength) int { return slices.Compare(a.Elements, b.Elements) })
		for k := range p.Lengths {
			clean(&p.Lengths[k].Audio)
		}
	}
}

// checkPipelines checks that pipelines are there once, and that each route has all stages.
func (h *Host) checkPipelines() error {
	if len(h.Pipelines) > MostPipelines {
		return fmt.Errorf("pipelines has %d (want at most %d)", len(h.Pipelines), MostPipelines)
	}
	for i := range h.Pipelines {
		p := &h.Pipelines[i]
		if err := checkName(p.Name); err != nil {
			return fmt.Errorf("pipelines[%d]: name %w", i, err)
		}
		err := p.check()
		if err == nil && h.Pipeline(p.Name) != p {
			err = errors.New("is there twice")
		}
		if err != nil {
			return fmt.Errorf("pipeline %s: %w", quoted(p.Name), err)
		}
	}
	return nil
}

func (p *Pipeline) check() error {
	if err := checkCreated(p.Created); err != nil {
		return err
	}
	if n := len(p.Stages); n == 0 || n > MostStages {
		return fmt.Errorf("has %d stages (want 1 to %d)", n, MostStages)
	}
	for i, name := range p.Stages {
		if err := checkName(name); err != nil {
			return fmt.Errorf("stages[%d]: %w", i, err)
		}
	}
	if n := len(p.Lengths); n == 0 || n > MostLengths {
		return fmt.Errorf("has %d lengths (want 1 to %d)", n, MostLengths)
	}
	for i := range p.Lengths {
		l := &p.Lengths[i]
		err := l.check(p.Stages)
		switch {
		case err != nil:
		case len(l.Elements) != len(p.Lengths[0].Elements):
			err = fmt.Errorf("elements has %d values, and those of lengths[0] %d", len(l.Elements), len(p.Lengths[0].Elements))
		case slices.ContainsFunc(p.Lengths[:i], func(m PipelineLength) bool { return slices.Equal(l.Elements, m.Elements) }):
			err = fmt.Errorf("elements %v are there twice", l.Elements)
		}
		if err != nil {
			return fmt.Errorf("lengths[%d]: %w", i, err)
		}
	}
	return nil
}

func (l *PipelineLength) check(stages []string) error {
	switch n := len(l.Routes); {
	case len(l.Elements) == 0 || slices.ContainsFunc(l.Elements, func(v int) bool { return v < 1 }):
		return fmt.Errorf("elements is %v (want a number of at least 1 for each input and output)", l.Elements)
	case l.Blocks < 1:
		return fmt.Errorf("blocks is %d (want at least 1)", l.Blocks)
	case !(l.Margin >= 0) || math.IsInf(l.Margin, 1):
		return fmt.Errorf("margin is %v (want a finite number, at least 0)", l.Margin)
	case n == 0 || n > MostRoutes:
		return fmt.Errorf("has %d routes (want 1 to %d)", n, MostRoutes)
	}
	for i := range l.Routes {
		r := &l.Routes[i]
		if err := checkName(r.Name); err != nil {
			return fmt.Errorf("routes[%d]: name %w", i, err)
		}
		switch {
		case len(r.Implementations) != len(stages):
			return fmt.Errorf("route %s has %d implementations (want %d, one for each stage)", quoted(r.Name), len(r.Implementations), len(stages))
		case !(r.MedianSeconds > 0) || math.IsInf(r.MedianSeconds, 1):
			return fmt.Errorf("route %s: median_seconds is %v (want a finite number above 0)", quoted(r.Name), r.MedianSeconds)
		case !(r.PredictedSeconds >= 0) || math.IsInf(r.PredictedSeconds, 1):
			return fmt.Errorf("route %s: predicted_seconds is %v (want a finite number, at least 0)", quoted(r.Name), r.PredictedSeconds)
		case i > 0 && r.MedianSeconds < l.Routes[i-1].MedianSeconds:
			return fmt.Errorf("route %s is faster than the one before (want the fastest first)", quoted(r.Name))
		case slices.ContainsFunc(l.Routes[:i], func(q Route) bool { return q.Name == r.Name }):
			return fmt.Errorf("route %s is there twice", quoted(r.Name))
		}
		for k, name := range r.Implementations {
			if name == "" {
				continue
			}
			if err := checkName(name); err != nil {
				return fmt.Errorf("route %s: implementations[%d]: %w", quoted(r.Name), k, err)
			}
		}
	}
	if err := l.checkRevisions(stages); err != nil {
		return err
	}
	return l.checkParts()
}

// checkRevisions checks that revisions are of stages, above 0, and there once.
func (l *PipelineLength) checkRevisions(stages []string) error {
	if n := len(l.Revisions); n > MostRevisions {
		return fmt.Errorf("has %d revisions (want at most %d)", n, MostRevisions)
	}
	for i := range l.Revisions {
		r := &l.Revisions[i]
		if err := checkName(r.Implementation); err != nil {
			return fmt.Errorf("revisions[%d]: implementation %w", i, err)
		}
		switch {
		case !slices.Contains(stages, r.Stage):
			return fmt.Errorf("revisions[%d]: stage %s is none of the pipeline's", i, quoted(r.Stage))
		case r.Revision < 1 || r.Revision > math.MaxInt32:
			return fmt.Errorf("revisions[%d]: revision is %d (want 1 to %d; one of 0 is left out)", i, r.Revision, math.MaxInt32)
		case slices.ContainsFunc(l.Revisions[:i], func(q StageRevision) bool { return q.Stage == r.Stage && q.Implementation == r.Implementation }):
			return fmt.Errorf("revisions[%d]: %s of stage %s is there twice", i, quoted(r.Implementation), quoted(r.Stage))
		}
	}
	return nil
}

// checkParts checks that parts are there once, and that each has something that its time can be compared with.
func (l *PipelineLength) checkParts() error {
	switch n := len(l.Parts); {
	case n > MostParts:
		return fmt.Errorf("has %d parts (want at most %d)", n, MostParts)
	case !(l.BetweenSeconds >= 0) || math.IsInf(l.BetweenSeconds, 1):
		return fmt.Errorf("between_seconds is %v (want a finite number, at least 0)", l.BetweenSeconds)
	}
	for i := range l.Parts {
		p := &l.Parts[i]
		err := checkName(p.Name)
		if err == nil && p.Implementation != "" {
			err = checkName(p.Implementation)
		}
		switch {
		case err != nil:
			return fmt.Errorf("parts[%d]: %w", i, err)
		case !(p.MedianSeconds > 0) || math.IsInf(p.MedianSeconds, 1):
			return fmt.Errorf("part %s: median_seconds is %v (want a finite number above 0)", quoted(p.Name), p.MedianSeconds)
		case p.Implementation != "" && (!(p.PredictedSeconds > 0) || math.IsInf(p.PredictedSeconds, 1) || p.Bytes != 0):
			return fmt.Errorf("part %s: predicted_seconds is %v and bytes %d (want a finite number above 0, and no bytes, for a stage)", quoted(p.Name),
				p.PredictedSeconds, p.Bytes)
		case p.Implementation == "" && (p.PredictedSeconds != 0 || p.Bytes < 1):
			return fmt.Errorf("part %s: predicted_seconds is %v and bytes %d (want at least 1 byte, and no prediction, for a tensor)", quoted(p.Name),
				p.PredictedSeconds, p.Bytes)
		case slices.ContainsFunc(l.Parts[:i], func(q Part) bool { return q.Name == p.Name && q.Implementation == p.Implementation }):
			return fmt.Errorf("part %s is there twice", quoted(p.Name))
		}
	}
	return nil
}
