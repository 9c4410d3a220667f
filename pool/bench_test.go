package pool

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// meeting is a loop whose chunks all wait for each other. So a Run takes as long as getting every worker into the loop.
type meeting struct {
	n       int32
	arrived atomic.Int32
}

func (m *meeting) Do(_, lo, hi int) {
	m.arrived.Add(int32(hi - lo))
	for m.arrived.Load() < m.n {
	}
}

// work is a loop whose indexes cost a microsecond or two each.
type work struct {
	sink [64]struct{ v, _, _, _, _, _, _, _ uint64 }
}

func (w *work) Do(worker, lo, hi int) {
	v := w.sink[worker%len(w.sink)].v
	for range (hi - lo) * 2000 {
		v = v*6364136223846793005 + 1
	}
	w.sink[worker%len(w.sink)].v = v
}

func workerCounts() []int {
	if n := runtime.GOMAXPROCS(0); n > 2 {
		return []int{2, n}
	}
	return []int{2}
}

// BenchmarkRun times Runs after a pause. With gap=0s, a batch of calls, helpers are still polling. With gap=50µs, a caller
// that does something else in between, helpers have just parked. gap=10ms is an audio callback. kind=meeting is the time to
// get every worker into the loop and out again. kind=work divides 100 indexes among the workers. BenchmarkSerial computes
// the same indexes on one goroutine. The metric is the median, without the pause.
func BenchmarkRun(b *testing.B) {
	for _, workers := range workerCounts() {
		for _, locked := range []bool{false, true} {
			for _, gap := range []time.Duration{0, 50 * time.Microsecond, 10 * time.Millisecond} {
				for _, kind := range []string{"meeting", "work"} {
					b.Run(fmt.Sprintf("workers=%d/locked=%t/gap=%v/kind=%s", workers, locked, gap, kind), func(b *testing.B) {
						if locked {
							runtime.LockOSThread()
							defer runtime.UnlockOSThread()
						}
						p := New(workers)
						defer p.Close()
						m, w := &meeting{n: int32(workers)}, &work{}
						var spent []time.Duration
						for b.Loop() {
							pause(gap)
							start := time.Now()
							if kind == "meeting" {
								m.arrived.Store(0)
								p.Run(workers, 1, m)
							} else {
								p.Run(100, 100/(4*workers), w)
							}
							spent = append(spent, time.Since(start))
						}
						slices.Sort(spent)
						b.ReportMetric(float64(spent[len(spent)/2].Nanoseconds()), "run-p50-ns")
					})
				}
			}
		}
	}
}

// pause sleeps, or polls the clock if the pause is too short for an exact sleep.
func pause(d time.Duration) {
	if d >= time.Millisecond {
		time.Sleep(d)
		return
	}
	for start := time.Now(); time.Since(start) < d; {
	}
}

// BenchmarkSerial is the work of BenchmarkRun/kind=work without a pool.
func BenchmarkSerial(b *testing.B) {
	w := &work{}
	for b.Loop() {
		w.Do(0, 0, 100)
	}
}

// BenchmarkAfterWork times Runs of 32 µs on one worker, each after other work of the caller. With work=60us and more, helpers that
// poll for idleSpin have parked. The metrics are medians: of the Run alone, of the caller's work, which a polling helper may slow
// down, and of both.
func BenchmarkAfterWork(b *testing.B) {
	for _, workers := range workerCounts() {
		for _, micros := range []int{30, 60, 90, 130, 180, 240, 400} {
			b.Run(fmt.Sprintf("workers=%d/work=%dus", workers, micros), func(b *testing.B) {
				p := New(workers)
				defer p.Close()
				own, divided := &work{}, &work{}
				var alone, run, both []time.Duration
				for b.Loop() {
					start := time.Now()
					own.Do(0, 0, micros/2)
					between := time.Now()
					p.Run(16, 1, divided)
					end := time.Now()
					alone, run, both = append(alone, between.Sub(start)), append(run, end.Sub(between)), append(both, end.Sub(start))
				}
				for name, all := range map[string][]time.Duration{"work": alone, "run": run, "both": both} {
					slices.Sort(all)
					b.ReportMetric(float64(all[len(all)/2].Nanoseconds()), name+"-p50-ns")
				}
			})
		}
	}
}
