package launches

import (
	"testing"

	"crossover/gpu/dryrun"
)

// step identifies a kernel of a launch plan: the dispatch at an index, of an implementation of a case.
type step struct {
	name, variant string // of the case and of the implementation
	index         int
}

// narrow are the kernels that may leave cores of a large GPU idle at the largest size of a case, with the reasons.
var narrow = map[step]string{
	{"sum", "", 1}:                                  "adds up what the threadgroups before it summed, a few hundred values",
	{"mean", "", 1}:                                 "as for sum",
	{"max", "", 1}:                                  "as for sum",
	{"min", "", 1}:                                  "as for sum",
	{"argmax", "", 1}:                               "as for sum",
	{"power-to-db", "", 1}:                          "as for sum: the greatest power of all",
	{"conv1d/n=32768", "fft", 1}:                    "the columns of 32 Ki values, 16 a threadgroup, side by side in memory",
	{"conv1d/n=32768", "fft", 2}:                    "the rows of 32 Ki values, which fill the memory of 8 threadgroups",
	{"conv1d/n=32768", "fft", 4}:                    "as the columns before",
	{"conv1d/n=32768", "fft", 5}:                    "as the rows before",
	{"conv1d/n=32768", "partitioned", 0}:            "a window is a transform in one threadgroup; there are 31 of 2 Ki samples",
	{"conv1d/n=32768", "partitioned", 2}:            "an output block is a transform in one threadgroup; there are 16 for pairs of windows",
	{"convolution-stream/taps=32768", "", 1}:        "the window is one transform",
	{"convolution-stream/taps=32768", "", 3}:        "as the window before",
	{"envelope/channels=1", "", 0}:                  "a channel has one thread",
	{"compressor/channels=1", "", 0}:                "a channel has one thread",
	{"moog-ladder/channels=1", "", 0}:               "a channel has one thread",
	{"biquad-cascade/channels=1,sections=4", "", 0}: "a channel has one thread",
	{"comb/channels=1", "", 0}:                      "a delay line has a thread for each of its 1116 samples",
	{"tempo", "", 3}:                                "adds up at most 128 sums for each of 513 frequencies, 64 a threadgroup",
	{"tempo", "", 4}:                                "one row is transformed, of 1 Ki values",
	{"tempo", "", 5}:                                "chooses among a few hundred lags",
	{"peak-picking", "", 1}:                         "one thread goes from candidate to candidate: whether one is a peak depends on the peak before it",
	{"beat-tracking", "", 0}:                        "a recurrence over frames, which has one thread",
	{"greedy/rows=1", "", 1}:                        "joins the results of a row's threadgroups, at most 128",
	{"top-k/rows=1,k=50", "", 1}:                    "ranks what the threadgroups before it left, 50 values each",
	{"stage-graph/block=512,cost=4", "", 1}:         "adds up the nodes of a block of 512 samples, each sample by as many threads as pay",
}

// Launch plans divide by the number of cores, even if the driver does not know it. At the largest size of a case there must
// be work for every core, unless each of its kernels has an excuse.
func TestEveryCoreHasAThreadgroup(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	met := map[step]bool{}
	for _, c := range Cases() {
		planned, err := Plan(&c, c.Axis.Max, dryrun.GPUs...)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, g := range dryrun.GPUs {
			if len(planned[g]) == 0 {
				t.Errorf("%s has no implementation on %s", c.Name, g.API)
			}
			cores := planned[g][0].Cores
			for _, l := range planned[g] {
				widest, excused := 0, 0
				for i, d := range l.Dispatches {
					groups, s := d.Groups.Count(), step{c.Name, l.Variant, i}
					widest = max(widest, groups)
					if groups >= cores {
						continue
					}
					met[s] = true
					if narrow[s] != "" {
						excused++
					} else {
						t.Errorf("%v: dispatch %d, of %s, has %d threadgroups on %s, which is planned for with %d cores", l, i, d.Kernel,
							groups, g.API, cores)
					}
				}
				if widest < cores && excused < len(l.Dispatches) {
					t.Errorf("%v: no kernel has more than %d threadgroups on %s", l, widest, g.API)
				}
			}
		}
	}
	for s := range narrow {
		if !met[s] {
			t.Errorf("dispatch %d of %s %s is wide on every GPU: it needs no excuse", s.index, s.name, s.variant)
		}
	}
}
