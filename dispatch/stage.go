package dispatch

// Stage is a stage of a pipeline that follows a route: what was measured of the whole pipeline has decided, or a forecast has, and
// the route names the implementation of the stage. So no thresholds choose. [Dispatcher.CaseIn] and [Dispatcher.OperationIn]
// make a Case and an Operation for a Stage, which answer as the route says. A [Watch] sees the calls of a stage as it sees others,
// and may doubt and swap the implementation there. That changes the stage of this pipeline alone.
type Stage struct {
	Pipeline, Name string
	Implementation string // that the route names; not ""
	// Factors are how many times as long calls take in the pipeline as they take alone, by implementation: see [Timed]. The
	// calls of one goroutine hand them to a Watch. That goroutine may replace the map, and must not change it.
	Factors map[string]float64
}

// ListIn returns the chooser of a list of kernels: stages of a route that are launched on a GPU at once. s has the names of its
// stages, joined, and the implementation that stands for them. instead is a name for computing each of these stages on the
// processor. ChooseShape answers as the route says, unless a [Watch] swapped the list, at shapes that are whatever numbers the
// time of the list depends on. The calibration knows nothing of such shapes, so the calls need a [Timed].Forecast.
func (d *Dispatcher) ListIn(s *Stage, instead string) *Operation {
	in := s.routed()
	in.list = true
	return d.operationIn(in, "", instead, []string{s.Implementation, instead}, nil)
}

// stageOf says which stage calls are in. The zero value stands for calls outside of routes.
type stageOf struct {
	pipeline, stage string
	list            bool // they are of a list of kernels, and stage has the names of its stages
}

// before puts the stage before the name of its case or operation.
func (s stageOf) before(name string) string {
	switch {
	case s == (stageOf{}):
		return name
	case s.list:
		return "list " + s.stage + " of " + s.pipeline
	}
	return "stage " + s.stage + " of " + s.pipeline + ", " + name
}

// routed is a stage with the implementation of its route. The zero value stands for calls outside of routes.
type routed struct {
	stageOf
	implementation string
}

func (s *Stage) routed() routed {
	if s == nil {
		return routed{}
	}
	return routed{stageOf{s.Pipeline, s.Name, false}, s.Implementation}
}

// reason says why the implementation is chosen.
func (r *routed) reason() string { return "as the route of " + r.pipeline + " says" }
