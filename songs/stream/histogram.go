package stream

import (
	"math"
	"time"
)

// Times are the quantiles of what something took, in seconds. A share p of the values is at most P. Quantiles are up to 1 % above
// the true ones, and Worst is exact.
type Times struct {
	P50   float64 `json:"p50_seconds"`
	P95   float64 `json:"p95_seconds"`
	P99   float64 `json:"p99_seconds"`
	P999  float64 `json:"p99_9_seconds"`
	Worst float64 `json:"worst_seconds"`
}

// Bucket is a number of values that are at most so many seconds, and more than those of the bucket before.
type Bucket struct {
	AtMost float64 `json:"at_most_seconds"`
	Count  int     `json:"count"`
}

// The buckets of a histogram: each is 1 % wide. The first one has all that took less than 100 ns, the last one all above 100 s.
const (
	least   = 100 * time.Nanosecond
	ratio   = 1.01
	buckets = 2085
)

// histogram counts durations. Its size is fixed, so that hours of blocks take no more memory than seconds.
type histogram struct {
	counts [buckets]int
	n      int
	worst  time.Duration
}

func (h *histogram) add(took time.Duration) {
	h.n++
	h.worst = max(h.worst, took)
	if took <= least {
		h.counts[0]++
		return
	}
	i := math.Ceil(math.Log(float64(took)/float64(least)) / math.Log(ratio))
	h.counts[min(int(i), buckets-1)]++
}

// bound returns the greatest value of a bucket in seconds.
func (h *histogram) bound(i int) float64 {
	if i == buckets-1 {
		return h.worst.Seconds()
	}
	return min(h.worst.Seconds(), least.Seconds()*math.Pow(ratio, float64(i)))
}

// quantile returns a value that a share p of all is at most, in seconds. It is 0 if there are none.
func (h *histogram) quantile(p float64) float64 {
	seen, want := 0, int(math.Ceil(p*float64(h.n)))
	for i, n := range h.counts {
		if seen += n; n > 0 && seen >= want {
			return h.bound(i)
		}
	}
	return 0
}

func (h *histogram) times() Times {
	return Times{h.quantile(0.5), h.quantile(0.95), h.quantile(0.99), h.quantile(0.999), h.worst.Seconds()}
}

// filled returns the buckets that are not empty.
func (h *histogram) filled() (all []Bucket) {
	for i, n := range h.counts {
		if n > 0 {
			all = append(all, Bucket{h.bound(i), n})
		}
	}
	return all
}
