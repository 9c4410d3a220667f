package stream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"crossover/dispatch"
	"crossover/host"
	"crossover/kernels"
	"crossover/songs"
)

// Options say what is played, and how.
type Options struct {
	Backends   *kernels.Backends    // nil stands for kernels.Here
	Dispatcher *dispatch.Dispatcher // may be nil
	AfterIdle  *dispatch.Dispatcher // for [Routes]: it chooses by the times of calls after a pause; nil if there are none
	Source     *Source
	Routes     []songs.Entrant // that take turns
	// Spare is the route that is taken while streams stay off the GPU. It must be on the processor. The zero value stands for the
	// first of Routes that is.
	Spare   songs.Entrant
	Streams int     // at a time, 1 to 10 000
	Seconds float64 // of audio, above 0, at most a year
	Fast    bool    // one block after the other, without waiting for its time
	Guard   *Guard  // watches the machine if a route is on a GPU; may be nil
	Seed    uint64  // of the order of turns
	// Faults are made to go wrong during the run. A run with faults waits for the times of its blocks, has a Guard and a route on a
	// GPU, and keeps what it plays, to compare it with the spare route.
	Faults []Fault
	// Every is how often the guard looks; 0 stands for 250 ms.
	Every time.Duration

	clock  clock                  // nil stands for the system's
	memory int64                  // bytes of the machine; 0 stands for the host's
	end    func(output []float32) // is called with the sum of all streams at the end of a block; may be nil
	after  func(block uint64)     // is called after a block, in the audio goroutine, in place of a goroutine for the guard
	keeper func(*keeper)          // is given the keeper before the first block; may be nil
}

// The ranges of options.
const (
	MostStreams = 10_000
	MostSeconds = 366 * 24 * 3600
)

// Report is what a run measured.
type Report struct {
	Pipeline        string  `json:"pipeline"`
	RateHz          float64 `json:"rate_hz"`
	Block           int     `json:"block_samples"`
	Streams         int     `json:"streams"`
	Fast            bool    `json:"fast"`
	DeadlineSeconds float64 `json:"deadline_seconds"`
	AudioSeconds    float64 `json:"audio_seconds"` // that were played, or computed
	WallSeconds     float64 `json:"wall_seconds"`
	Interrupted     bool    `json:"interrupted"`

	Routes  []RouteReport `json:"routes"`
	Wake    Times         `json:"wake"`              // how late the goroutine began; zero if Fast
	Skipped int           `json:"skipped_blocks"`    // underruns of no route, which were not computed because their deadline was over
	Silent  int           `json:"silent_blocks"`     // of a stream, because every implementation of a stage failed
	Failure string        `json:"failure,omitempty"` // the first one

	// ProcessorLoad is the processor time of the process, divided by the wall time; 1 is one core. The growths are from the
	// first block to the end, after garbage was collected. Nil means that the system does not say.
	ProcessorLoad       *float64 `json:"processor_load"`
	HeapGrowthBytes     int64    `json:"heap_growth_bytes"`
	ResidentGrowthBytes *int64   `json:"resident_growth_bytes"`
	StreamBytes         int64    `json:"stream_bytes"` // of heap that one stream takes, by all routes

	Changes []Change `json:"changes"` // when streams left the GPU, and went back

	// With faults only: what streams did about each, and the relative L2 error of what was played, compared with the spare route.
	Faults    []FaultReport `json:"faults,omitempty"`
	Deviation *float64      `json:"deviation,omitempty"`
}

// RouteReport is what a route took in its turns. Latency is from a block's time to its end, Compute from its begin to its end, and
// Each is a single stream's part of Compute. If a helper is late, the block counts for its route, with the time of the spare one.
type RouteReport struct {
	Name      string   `json:"name"`
	Stages    []string `json:"implementations"`
	Unknown   []string `json:"unknown_stages,omitempty"` // left to the dispatcher, which knows nothing of them
	OnGPU     bool     `json:"on_gpu"`
	Blocks    int      `json:"blocks"`
	Underruns int      `json:"underruns"`
	Compute   Times    `json:"compute"`
	Latency   Times    `json:"latency"`
	Each      Times    `json:"each_stream"`
	Latencies []Bucket `json:"latencies"`
}

// check fails if an option is out of its range.
func (o *Options) check() error {
	switch {
	case o.Source == nil || len(o.Routes) == 0:
		return errors.New("stream: no source or no route (want both)")
	case o.Streams < 1 || o.Streams > MostStreams:
		return fmt.Errorf("stream: %d streams (want 1 to %d)", o.Streams, MostStreams)
	case !(o.Seconds > 0 && o.Seconds <= MostSeconds):
		return fmt.Errorf("stream: %g seconds (want more than 0, and at most %d)", o.Seconds, MostSeconds)
	}
	if o.Every < 0 {
		return fmt.Errorf("stream: the guard looks every %v (want 0, which stands for 250ms, or more)", o.Every)
	}
	if err := check(o.Source.Block, o.Source.Rate); err != nil {
		return err
	}
	if i := slices.IndexFunc(o.Routes, func(r songs.Entrant) bool { return !r.OnGPU }); o.Spare.Route == nil && i >= 0 {
		o.Spare = o.Routes[i]
	}
	if o.Spare.Route == nil || o.Spare.OnGPU {
		return errors.New("stream: every route is on a GPU (want one on the processor, for when the GPU cannot be used)")
	}
	if slices.ContainsFunc(o.Routes, func(r songs.Entrant) bool { return r.Name == o.Spare.Name && r.OnGPU }) {
		return fmt.Errorf("stream: a route on a GPU and the spare one are called %s (want a name for each)", o.Spare.Name)
	}
	return nil
}

// all returns the routes that take turns and, behind them, the spare one if it does not.
func (o *Options) all() []songs.Entrant {
	if slices.ContainsFunc(o.Routes, func(r songs.Entrant) bool { return r.Name == o.Spare.Name }) {
		return o.Routes
	}
	return append(slices.Clone(o.Routes), o.Spare)
}

// Run plays streams. It returns when the audio is over, or when ctx is done: then the report has what was measured until then.
// Run fails if an option is out of its range, if a route cannot run here, if the streams or the notes on faults need more than half of the
// machine's memory, or if ctx is done before the first block.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := o.checkFaults(); err != nil {
		return nil, err
	}
	if o.Backends == nil {
		o.Backends = kernels.Here()
	}
	if o.Every == 0 {
		o.Every = 250 * time.Millisecond
	}
	if !o.onGPU() {
		o.Guard = nil // no route leaves a GPU
	}
	m := machine{o.Backends, o.Dispatcher, o.Source, ctx.Err}
	c := &callback{source: o.Source, clock: o.clock, fast: o.Fast, guard: o.Guard, rng: randomOrder(o.Seed),
		output: make([]float32, o.Source.Block), end: o.end}
	report := &Report{Pipeline: o.Source.Graph.Name, RateHz: o.Source.Rate, Block: o.Source.Block, Streams: o.Streams, Fast: o.Fast,
		DeadlineSeconds: float64(o.Source.Block) / o.Source.Rate}
	var err error
	if report.StreamBytes, err = o.affordable(&m); err != nil {
		return nil, err
	}
	defer func() {
		for _, s := range c.slots {
			if p := s.player.Load(); p != nil {
				p.closeWithin(lastCall)
			}
		}
	}()
	for i, r := range o.all() {
		if slices.ContainsFunc(o.all()[:i], func(other songs.Entrant) bool { return other.Name == r.Name }) {
			return nil, fmt.Errorf("stream: two routes are called %s (want a name for each)", r.Name)
		}
		p, err := m.player(r, o.Streams)
		if err != nil {
			return nil, err
		}
		s := &slot{Entrant: r}
		s.player.Store(p)
		c.slots = append(c.slots, s)
		if i < len(o.Routes) {
			c.order = append(c.order, i)
		}
		if r.Name == o.Spare.Name {
			c.spare = s
		}
		if s.Route = p.pipelines[0].Chosen(); s.Route == nil {
			s.Route = r.Route
		}
		s.unknown = p.pipelines[0].Unknown()
	}
	c.next = len(c.order) // so that the first round is shuffled
	first := c.slots[0].player.Load()
	first.reset()
	c.using.Store(first)
	k := &keeper{machine: m, callback: c, guard: o.Guard, streams: o.Streams}
	if o.keeper != nil {
		o.keeper(k)
	}

	if c.clock == nil {
		c.clock = newSystemClock()
	}
	for _, s := range c.slots {
		if o.Guard != nil && s.OnGPU {
			s.player.Load().help(c.clock, o.Guard.failed)
		}
	}
	if o.Guard != nil {
		usual, _ := k.probe()
		processor, _ := k.time(o.Spare)
		o.Guard.begin(usual, processor)
	}
	if len(o.Faults) > 0 {
		c.notes = newJournal(&o)
	}
	before, began := used(), time.Now()
	c.start = c.clock.now() // the first block waits for nothing that was done before
	in := newInjector(&o, func() time.Duration { return c.clock.now() - c.start })
	report.AudioSeconds, report.Interrupted = o.play(ctx, c, k, in)
	report.WallSeconds = time.Since(began).Seconds()
	report.add(c, before, used())
	if o.Guard != nil {
		report.Changes = o.Guard.until()
	}
	for _, r := range k.retired {
		r.closeWithin(lastCall)
	}
	if c.notes != nil {
		report.Faults = c.notes.report(in.begun)
		if report.Deviation, err = c.notes.deviation(&m, &o); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	return report, nil
}

// lastCall is how long a run waits for a call that was given up.
const lastCall = time.Second

// randomOrder is what shuffles the turns.
func randomOrder(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x73747265616d)) }

// affordable returns the bytes of one stream by all routes. It fails if so many streams, or the notes on faults, do not fit.
func (o *Options) affordable(m *machine) (int64, error) {
	memory := o.memory
	if memory == 0 {
		memory = host.Identify().MemoryBytes
	}
	if journal := float64(o.blocks()) * (4*float64(o.Source.Block) + float64(unsafe.Sizeof(noted{})) + 8); len(o.Faults) > 0 && memory > 0 && journal > float64(memory/2) {
		return 0, fmt.Errorf("stream: %g seconds with faults are written down in %.0f MiB, and half of the memory here is %d MiB (want fewer seconds)",
			o.Seconds, journal/(1<<20), memory/2>>20)
	}
	before := used()
	var all []*player
	defer func() {
		for _, p := range all {
			p.close()
		}
	}()
	for _, r := range o.all() {
		p, err := m.player(r, 1)
		if err != nil {
			return 0, err
		}
		all = append(all, p)
	}
	bytes := max(1, used().heap-before.heap)
	if half := memory / 2; memory > 0 && int64(o.Streams) > half/bytes {
		return 0, fmt.Errorf("stream: %d streams take %d MiB each, and half of the memory here is %d MiB (want at most %d streams)",
			o.Streams, bytes>>20+1, half>>20, half/bytes)
	}
	return bytes, nil
}

// play plays all blocks. It returns the seconds of audio that were played, and whether ctx ended before them.
func (o *Options) play(ctx context.Context, c *callback, k *keeper, in *injector) (seconds float64, interrupted bool) {
	blocks := o.blocks()
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	var ended sync.WaitGroup
	over, looked := make(chan struct{}), make(chan struct{})
	k.over = over
	if o.Guard != nil && o.after == nil {
		go func() {
			defer close(looked)
			ticks := time.NewTicker(o.Every)
			defer ticks.Stop()
			for {
				select {
				case <-over:
					return
				case <-ticks.C:
					k.step()
				}
			}
		}()
	} else {
		close(looked)
	}
	if len(o.Faults) > 0 && o.after == nil {
		ended.Go(func() { in.run(over) })
	}
	played := uint64(0)
	ended.Go(func() {
		runtime.LockOSThread()
		defer close(over)
		for ; played < blocks && !stop.Load(); played++ {
			c.block(played)
			if o.after != nil {
				in.step(ctx)
				o.after(played)
			}
		}
		runtime.UnlockOSThread()
	})
	ended.Wait()
	in.finish()
	select {
	case <-looked:
	case <-time.After(lastCall): // a probe may never return
	}
	return float64(played) * float64(o.Source.Block) / o.Source.Rate, played < blocks
}

// blocks returns the number of blocks of a run.
func (o *Options) blocks() uint64 {
	return uint64(math.Ceil(o.Seconds * o.Source.Rate / float64(o.Source.Block)))
}

// onGPU reports whether a route is on a GPU.
func (o *Options) onGPU() bool {
	for _, r := range o.Routes {
		if r.OnGPU {
			return true
		}
	}
	return false
}

// add adds what a callback measured, and what the process took.
func (r *Report) add(c *callback, before, after usage) {
	if !c.fast {
		r.Wake = c.wake.times()
	}
	r.Skipped, r.Silent = c.skipped, c.silent
	if c.failure != nil {
		r.Failure = c.failure.Error()
	}
	for _, s := range c.slots {
		r.Routes = append(r.Routes, RouteReport{Name: s.Name, Stages: s.Route, Unknown: s.unknown, OnGPU: s.OnGPU, Blocks: s.blocks, Underruns: s.underruns,
			Compute: s.compute.times(), Latency: s.latency.times(), Each: s.each.times(), Latencies: s.latency.filled()})
	}
	if load := (after.processor - before.processor) / r.WallSeconds; !math.IsNaN(load) && !math.IsInf(load, 0) {
		r.ProcessorLoad = &load
	}
	r.HeapGrowthBytes = after.heap - before.heap
	if before.resident >= 0 && after.resident >= 0 {
		growth := after.resident - before.resident
		r.ResidentGrowthBytes = &growth
	}
}
