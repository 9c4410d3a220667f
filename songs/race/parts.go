package race

import (
	"context"
	"slices"
	"time"

	"crossover/calibration"
	"crossover/profiles"
	"crossover/songs"
)

// A route's parts are recorded in so many sessions, but only until so much time is over. Slower routes than so many times the
// fastest are not recorded: nobody follows them, not even where a GPU is lost and the processor goes on alone.
const (
	leastRecorded = 3
	mostRecorded  = 15
	recordFor     = 150 * time.Millisecond
	slowest       = 10
)

// divide finds the parts of the routes that were measured. It fails if ctx ends.
func (r *race) divide(ctx context.Context, m *Measured) error {
	type part struct{ name, implementation string }
	var besides []float64
	seconds := map[part][]float64{}
	for i := range m.Routes {
		route := &m.Routes[i]
		if slices.Contains(route.Implementations, "") || route.MedianSeconds > slowest*m.Routes[0].MedianSeconds {
			continue
		}
		parts, covered, err := r.record(ctx, route)
		if err != nil {
			return err
		}
		if len(parts) == 0 {
			continue
		}
		for _, p := range parts {
			key := part{p.Name, p.Implementation}
			if seconds[key] == nil {
				m.Parts = append(m.Parts, p)
			}
			seconds[key] = append(seconds[key], p.MedianSeconds)
		}
		besides = append(besides, max(0, route.MedianSeconds-covered))
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		p.MedianSeconds = profiles.Quantile(seconds[part{p.Name, p.Implementation}], 0.5)
	}
	if len(besides) > 0 {
		m.BetweenSeconds = profiles.Quantile(besides, 0.5)
	}
	return nil
}

// record records sessions by a route, and returns its parts, and the seconds of a call that they cover. The parts are as long as
// they are in sessions that are not recorded. A route that fails has no parts.
func (r *race) record(ctx context.Context, route *calibration.Route) ([]calibration.Part, float64, error) {
	p, err := songs.NewOn(r.backends, r.dispatcher, r.Graph)
	if err != nil {
		return nil, 0, err
	}
	defer p.Close()
	if p.Follow(route.Implementations) != nil || r.run(p) != nil {
		return nil, 0, nil
	}
	var recorder songs.Recorder
	p.Record(&recorder)
	var whole []float64
	took := map[string][]float64{}
	calls := float64(len(r.Calls))
	for begin := time.Now(); len(whole) < leastRecorded || len(whole) < mostRecorded && time.Since(begin) < recordFor; {
		p.Reset()
		session, of := 0.0, map[string]float64{}
		for _, inputs := range r.Calls {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			spans, seconds, err := recorder.Call(func() error { return p.Run(inputs...) })
			if err != nil {
				return nil, 0, nil
			}
			session += seconds
			for _, s := range spans {
				of[s.Name] += (s.End - s.Begin) / calls
			}
		}
		whole = append(whole, session/calls)
		for name, seconds := range of {
			took[name] = append(took[name], seconds)
		}
	}
	scale := route.MedianSeconds / profiles.Quantile(whole, 0.5) // recording takes a little time, and the machine's clock changes
	medians := map[string]float64{}
	for name, all := range took {
		medians[name] = scale * profiles.Quantile(all, 0.5)
	}
	return p.Parts(route.Implementations, medians, r.middle(), r.inputs()...)
}

// forecast predicts the routes of each measured session by the parts of the others of the same graph.
func forecast(races []*race, all []Measured) error {
	for i, r := range races {
		var others []calibration.PipelineLength
		for k := range all {
			if k != i && all[k].Graph.Name == r.Graph.Name && len(all[k].Parts) > 0 && len(all[k].Elements) == len(r.elements) {
				others = append(others, all[k].PipelineLength)
			}
		}
		p, err := songs.NewOn(r.backends, r.dispatcher, r.Graph)
		if err != nil {
			return err
		}
		for k := range all[i].Routes {
			route := &all[i].Routes[k]
			if slices.Contains(route.Implementations, "") {
				continue
			}
			if route.PredictedSeconds, err = p.ForecastBy(others, route.Implementations, r.middle(), r.inputs()...); err != nil {
				return err
			}
		}
		p.Close()
	}
	return nil
}
