package pool

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// meeting is a loop whose chunks all wait for one another, so that a Run takes as long as it takes to get every
// worker into it.
type meeting struct {
	n       int32
	arrived atomic.Int32
}

func (m *meeting) Do(_, lo, hi int) {
	m.arrived.Add(int32(hi - lo))
	for m.arrived.Load() < m.n {
	}
}

// work is a loop whose indexes cost about a microsecond each.
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

// BenchmarkRun measures Runs that follow one another at once: gap=0s is the case of a batch of calls, where helpers
// are still polling, and gap=10ms that of an audio callback, where they have parked. kind=meeting is the time to get
// every worker into the loop and out again; kind=work divides 100 µs of computing among them.
func BenchmarkRun(b *testing.B) {
	for _, workers := range workerCounts() {
		for _, locked := range []bool{false, true} {
			for _, gap := range []time.Duration{0, 10 * time.Millisecond} {
				for _, kind := range []string{"meeting", "work"} {
					b.Run(fmt.Sprintf("workers=%d/locked=%t/gap=%v/kind=%s", workers, locked, gap, kind), func(b *testing.B) {
						if locked {
							runtime.LockOSThread()
							defer runtime.UnlockOSThread()
						}
						p := New(workers)
						defer p.Close()
						m, w := &meeting{n: int32(workers)}, &work{}
						b.ReportAllocs()
						var spent time.Duration
						for b.Loop() {
							if gap > 0 {
								time.Sleep(gap)
							}
							start := time.Now()
							if kind == "meeting" {
								m.arrived.Store(0)
								p.Run(workers, 1, m)
							} else {
								p.Run(100, 100/(4*workers), w)
							}
							spent += time.Since(start)
						}
						b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "run-ns/op")
					})
				}
			}
		}
	}
}

// BenchmarkSerial is the work of BenchmarkRun/kind=work without a pool.
func BenchmarkSerial(b *testing.B) {
	w := &work{}
	for b.Loop() {
		w.Do(0, 0, 100)
	}
}
