package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"crossover/audio"
	"crossover/cmd/internal/command"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/plots"
	"crossover/profiles"
	"crossover/profiles/trace"
	"crossover/songs"
	"crossover/songs/race"
)

// onRecordings are the pipelines that compute on a recording. The others compute on inputs of their own.
var onRecordings = []string{analysis, "separator"}

// onOthers returns the names of those others.
func onOthers() []string {
	return slices.DeleteFunc(slices.Clone(race.Names), func(name string) bool { return slices.Contains(onRecordings, name) })
}

// subject is a pipeline with its inputs.
type subject struct {
	call    func() error
	record  func(*songs.Recorder)
	follow  func(plan string) error
	explain func() string // of the last call: its first line is the pipeline's
	unknown func() []string
	close   func()

	signposts *signposts // nil if none are emitted

	recording string // or what a call computes
	samples   int    // of the recording; 0 without one
	recorded  int    // samples of a recording that was repeated because it is short; 0 if it was not
	rate      float64
	session   int // calls until the pipeline begins anew; 0 if each call does
}

// newSubject returns a pipeline over a recording, or over inputs of its own. A call is the analysis of the whole recording, or the
// next call of the middle one of a pipeline's usual sessions: a segment, a block or a step.
func newSubject(b *kernels.Backends, d *dispatch.Dispatcher, pipeline string, recording kernels.Input) (*subject, error) {
	if pipeline == analysis {
		return newAnalysis(b, d, recording)
	}
	all, err := race.Usual(pipeline, recording)
	if err != nil {
		return nil, err
	}
	session := all[len(all)/2]
	p, err := songs.NewOn(b, d, session.Graph)
	if err != nil {
		return nil, err
	}
	var elements []int
	for i, data := range session.Calls[0] {
		elements = append(elements, len(data)/kernels.Tensor{Type: session.Graph.Inputs[i].Type}.Len())
	}
	next := 0
	s := &subject{
		call: func() error {
			if next == len(session.Calls) {
				p.Reset()
				next = 0
			}
			next++
			return p.Run(session.Calls[next-1]...)
		},
		record: p.Record,
		follow: func(plan string) error {
			p.Reset()
			next = 0
			return p.FollowPlan(plan, elements...)
		},
		explain:   p.Explain,
		unknown:   p.Unknown,
		close:     p.Close,
		recording: session.Length,
		session:   len(session.Calls),
	}
	if slices.Contains(onRecordings, pipeline) {
		s.recording, s.samples, s.rate = recording.Name, len(session.Calls[0][0]), recording.SampleRate
		if n := len(recording.Samples); n < s.samples {
			s.recorded = n
		}
	}
	return s, nil
}

// newAnalysis returns the analysis of a recording.
func newAnalysis(b *kernels.Backends, d *dispatch.Dispatcher, recording kernels.Input) (*subject, error) {
	a, err := songs.NewAnalysisOn(b, d, songs.AnalysisParams{SampleRate: recording.SampleRate})
	if err != nil {
		return nil, err
	}
	return &subject{
		call: func() error {
			_, err := a.Run(recording.Samples)
			return err
		},
		record:    a.Record,
		follow:    func(plan string) error { return a.Follow(plan, len(recording.Samples)) },
		explain:   a.Explain,
		unknown:   a.Unknown,
		close:     a.Close,
		recording: recording.Name,
		samples:   len(recording.Samples),
		rate:      recording.SampleRate,
	}, nil
}

// profile times calls of a pipeline over a recording, prints what it found, and writes what the options ask for.
func profile(ctx context.Context, m machine, o *options, stdout, stderr io.Writer) error {
	var marks *signposts
	if o.signposts {
		var err error
		if marks, err = newSignposts(m.signposts); err != nil {
			return fmt.Errorf("%w (leave --signposts out)", err)
		}
	}
	recording, loading := kernels.GeneratedInput(), 0.0
	if o.audio != "" {
		var err error
		begin := time.Now()
		if recording, err = audio.ReadWAV(o.audio); err != nil {
			return err
		}
		loading = time.Since(begin).Seconds()
	}
	d, err := load(o.calibration, stderr)
	if err != nil {
		return err
	}
	s, err := newSubject(m.Backends, d, o.pipeline, recording)
	if err != nil && o.audio != "" {
		return fmt.Errorf("--audio %s, at %g Hz: %w", o.audio, recording.SampleRate, err)
	}
	if err != nil {
		return err
	}
	defer s.close()
	s.signposts = marks
	built, err := s.calls(ctx, o.plan, o.calls)
	if err != nil {
		return err
	}
	p := built.Profile()
	if o.plan == songs.Best { // the others say themselves what they follow
		first, _, _ := strings.Cut(s.explain(), "\n")
		_, p.Reason, _ = strings.Cut(first, ": ")
	}
	if unknown := s.unknown(); d != nil && len(unknown) > 0 {
		fmt.Fprintf(stderr, "profile: %s knows nothing of %s, so Go computes %s on one core (go run ./cmd/calibrate measures all operations)\n",
			o.calibration, strings.Join(unknown, ", "), them(len(unknown)))
	}
	if err := s.allocations(ctx, p); err != nil {
		return err
	}
	p.Created, p.Commit, p.Pipeline, p.Plan = time.Now().UTC().Truncate(time.Second), command.Commit(), o.pipeline, o.plan
	p.Recording, p.Samples, p.Recorded, p.SampleRate, p.Loading = s.recording, s.samples, s.recorded, s.rate, loading
	_, p.Host = command.HostFacts()
	if p.Roofs, err = m.roofs(ctx, p); err != nil {
		return interrupted(ctx, err)
	}
	if err := report(stdout, p); err != nil {
		return err
	}
	if o.earlier != nil {
		if err := reportChanges(stdout, o.earlier, p); err != nil {
			return err
		}
	}
	if o.json != "" {
		if err := command.Replace(o.json, p.Write); err != nil {
			return err
		}
	}
	if o.trace != "" {
		if err := writeTrace(o.trace, p, built); err != nil {
			return err
		}
	}
	if o.plots == "" {
		return nil
	}
	others, err := s.otherPlans(ctx, o.plan, stderr)
	if err != nil {
		return err
	}
	comparePlans(stdout, p, others, d != nil && d.Fallback() == "")
	files, err := plots.WriteProfile(ctx, o.plots, p, others, o.earlier)
	for _, file := range files {
		fmt.Fprintln(stdout, file)
	}
	return interrupted(ctx, err)
}

// load returns the dispatcher of a calibration. Without a file it is nil. A note says so, or that the entry is not of this host.
func load(path string, stderr io.Writer) (*dispatch.Dispatcher, error) {
	d, err := dispatch.Load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fmt.Fprintf(stderr, "profile: %s does not exist, so nothing is known of this machine, and Go computes stages on one core "+
			"unless the plan names others (go run ./cmd/calibrate writes the file)\n", path)
		return nil, nil
	case err == nil && d.Fallback() != "":
		fmt.Fprintf(stderr, "profile: %s: %s (go run ./cmd/calibrate makes an entry of this host)\n", path, d.Fallback())
	}
	return d, err
}

// them stands for so many stages.
func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// interrupted returns the error of a run that a signal ended, if it did.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return command.Interrupted(errors.New("interrupted"))
	}
	return err
}

// warmCalls are made before calls are timed. The first two of a pipeline allocate.
const warmCalls = 3

// calls times calls by a plan: n, or as many as fit into the usual time for n = 0.
func (s *subject) calls(ctx context.Context, plan string, n int) (*profiles.Builder, error) {
	if err := s.follow(plan); err != nil {
		return nil, err
	}
	var r songs.Recorder
	s.record(&r)
	defer s.record(nil)
	unwatch := func() {}
	defer func() { unwatch() }()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a call allocates next to nothing
	b := &profiles.Builder{}
	for k := -warmCalls; n == 0 || k < n; k++ {
		if ctx.Err() != nil {
			return nil, command.Interrupted(errors.New("interrupted"))
		}
		if k == 0 {
			unwatch = s.signposts.watch(&r, fmt.Sprintf("%s, plan %s", s.recording, plan))
		}
		spans, seconds, err := r.Call(s.call)
		if err != nil {
			return nil, err
		}
		switch {
		case k == -1:
			runtime.GC() // collects what the first calls left
			if n == 0 {
				n = min(max(int(callSeconds/seconds), leastCalls), usualMost)
			}
		case k >= 0:
			b.Add(spans, seconds)
		}
	}
	return b, nil
}

// allocations counts what a call allocates on average, in calls that are not recorded. Go's runtime and package openblas keep some
// objects for each processor, and a garbage collection takes these away. Calls allocate them again, until each processor has
// taken part. So there is no collection meanwhile, and the calls that are counted come after about as many others.
func (s *subject) allocations(ctx context.Context, p *profiles.Profile) error {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a call allocates next to nothing
	if _, err := s.repeat(ctx); err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	calls, err := s.repeat(ctx)
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	p.Allocations = float64(after.Mallocs-before.Mallocs) / float64(calls)
	p.Allocated = float64(after.TotalAlloc-before.TotalAlloc) / float64(calls)
	return nil
}

// repeat makes as many calls as fit into a second, at least warmCalls and at most a hundred or a whole session, and returns their
// number. What a pipeline keeps from call to call grows in its first session.
func (s *subject) repeat(ctx context.Context) (calls int, err error) {
	most := max(100, s.session)
	for start := time.Now(); calls < warmCalls || calls < most && time.Since(start) < time.Second; calls++ {
		if ctx.Err() != nil {
			return calls, command.Interrupted(errors.New("interrupted"))
		}
		if err := s.call(); err != nil {
			return calls, err
		}
	}
	return calls, nil
}

// roofs measures the processor, and each GPU that computed a stage.
func (m machine) roofs(ctx context.Context, p *profiles.Profile) ([]profiles.Roof, error) {
	r, err := m.processor(ctx, m.Backends)
	if err != nil {
		return nil, err
	}
	all := []profiles.Roof{r}
	if slices.ContainsFunc(p.Stages, func(s profiles.Stage) bool { return s.Place == profiles.GPU }) {
		for _, g := range m.GPUs {
			if device := g.Opened(); device != nil {
				if r, err = m.gpu(ctx, device); err != nil {
					return nil, err
				}
				all = append(all, r)
				break
			}
		}
	}
	return all, nil
}

// otherCalls is the number of calls of a plan that is drawn beside the profiled one.
const otherCalls = 9

// otherPlans times the other plans, as far as they can run here.
func (s *subject) otherPlans(ctx context.Context, but string, stderr io.Writer) (all []plots.Planned, err error) {
	for _, name := range songs.PlanNames {
		if name == but {
			continue
		}
		b, err := s.calls(ctx, name, otherCalls)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, err
		case err != nil:
			fmt.Fprintf(stderr, "profile: the plan %s is not drawn: %v\n", name, err)
			continue
		}
		all = append(all, plots.Planned{Plan: name, Profile: b.Profile()})
	}
	return all, nil
}

// writeTrace writes all calls to a file.
func writeTrace(path string, p *profiles.Profile, b *profiles.Builder) error {
	return command.Replace(path, func(w io.Writer) error {
		return trace.Write(w, fmt.Sprintf("%s of %s, plan %s", p.Pipeline, p.Recording, p.Plan), b.Spans(), p.Calls)
	})
}
