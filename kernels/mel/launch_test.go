package mel

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
)

// launchParams have frames of which four, two, one and none fit into threadgroup memory, bands without bins, one band,
// and bands that fill simdgroups exactly and by one more.
var launchParams = []Params{
	librosaDefaults,
	{44100, 512, 128},
	{16000, 400, 62},
	{16000, 400, 63},
	{8000, 2, 1},
	{48000, 4096, 128},
	{48000, 8192, 40},
	{96000, 16384, 128},
	{96000, 16386, 1100},
}

func newTestLaunch(t *testing.T, d *gpu.Device, p Params) *launch {
	t.Helper()
	e, err := newSparse(d, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.(*launch).plans.Close)
	return e.(*launch)
}

func TestLaunchMatchesReference(t *testing.T) {
	device := emulator.Open(t)
	for _, p := range launchParams {
		e := newTestLaunch(t, device, p)
		for _, frames := range []int{1, 2, 3, 4, 5, 8*groupsPerCore*device.Facts().Cores + 3} {
			if frames > 5 && p.NFFT > 4096 {
				continue // no other way through the kernel, and much to emulate
			}
			t.Run(fmt.Sprintf("%+v/frames=%d", p, frames), func(t *testing.T) {
				power := make([]float32, frames*p.bins())
				kernels.Noise(power, uint64(frames))
				for i := range power {
					power[i] *= power[i]
				}
				call, err := e.bind(power)
				if err != nil {
					t.Fatal(err)
				}
				defer call.Release()
				if err := call.Run(); err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(call.Output(), Reference(p, power)); !(e <= 1e-6) {
					t.Errorf("relative error %.2g", e)
				}
			})
		}
	}
}

// TestSegments holds the table of each filterbank against its weights, every one of them: the straight lines of the
// segments are the triangles of the bands.
func TestSegments(t *testing.T) {
	for _, p := range launchParams {
		table := segments(p)
		if len(table) != 6*(p.Bands+1) {
			t.Fatalf("%+v: %d words, want %d", p, len(table), 6*(p.Bands+1))
		}
		got := make([]float64, p.Bands*p.bins())
		next := uint32(0)
		for s := range p.Bands + 1 {
			words := table[6*s : 6*s+6]
			if words[0] != next {
				t.Fatalf("%+v: segment %d begins at bin %d, want %d", p, s, words[0], next)
			}
			next += words[1]
			value := func(i int) float64 { return float64(math.Float32frombits(words[i])) }
			for i := range words[1] {
				bin := int(words[0] + i)
				if s < p.Bands {
					got[s*p.bins()+bin] += (value(2) + float64(i)) * value(4)
				}
				if s > 0 {
					got[(s-1)*p.bins()+bin] += (value(3) - float64(i)) * value(5)
				}
			}
		}
		edges := bandEdges(p)
		for i, want := range filterbank(p) {
			if math.Abs(got[i]-want) > 2e-7*peak(edges, i/p.bins()) {
				t.Fatalf("%+v: band %d bin %d: %v, want %v", p, i/p.bins(), i%p.bins(), got[i], want)
			}
		}
	}
}

func TestFramesTogether(t *testing.T) {
	f := gpu.Facts{Cores: 10, ThreadgroupBytes: 32 << 10}
	for _, test := range []struct {
		frames, bins, want int
		copied             bool
	}{
		{1 << 20, 2, 4, true}, {1 << 20, 2049, 4, true}, {1 << 20, 2050, 2, true}, {1 << 20, 4098, 1, true},
		{1 << 20, 8193, 1, true}, {1 << 20, 8194, 1, false}, {1, 8194, 1, false},
		{1, 2, 1, true}, {39, 2, 1, true}, {40, 2, 2, true}, {79, 2, 2, true}, {80, 2, 4, true},
	} {
		if got, copied := framesTogether(test.frames, test.bins, f); got != test.want || copied != test.copied {
			t.Errorf("%d frames of %d bins: %d, %t; want %d, %t", test.frames, test.bins, got, copied, test.want, test.copied)
		}
	}
}

// TestLaunchLibrosa holds the kernel against librosa's bands of its own power spectrogram.
func TestLaunchLibrosa(t *testing.T) {
	power, want := librosaPower(t)
	e := newTestLaunch(t, emulator.Open(t), librosaDefaults)
	got := make([]float32, len(want))
	if err := e.transform(got, power); err != nil {
		t.Fatal(err)
	}
	if e := kernels.RelativeError(got, want); !(e <= 1e-6) {
		t.Errorf("relative error %.2g", e)
	}
}

func TestWarmLaunchDoesNotAllocate(t *testing.T) {
	if underRace() {
		t.Skip("a library call allocates under the race detector")
	}
	e := newTestLaunch(t, emulator.Open(t), librosaDefaults)
	power, dst := make([]float32, 5*e.bins()), make([]float32, 5*e.Bands)
	if allocs := testing.AllocsPerRun(5, func() { _ = e.transform(dst, power) }); allocs != 0 && !emulator.Racing() {
		t.Errorf("%v allocations a call", allocs)
	}
}

// Lanes must not sum bins that other threads have not copied yet.
func TestLaunchNeedsItsBarrier(t *testing.T) {
	device := emulator.Open(t)
	whole := text
	defer func() { text = whole }()
	text = strings.Replace(whole, "threadgroup_barrier(mem_flags::mem_threadgroup);", "", 1)
	if text == whole {
		t.Fatal("there is no barrier to remove")
	}
	p := newProblem(librosaDefaults, 4, generated())
	call, err := newTestLaunch(t, device, librosaDefaults).bind(p.power)
	if err != nil {
		t.Fatal(err)
	}
	defer call.Release()
	if err := call.Run(); err == nil && kernels.RelativeError(call.Output(), p.Reference()) <= tolerance {
		t.Error("a kernel without its barrier passes")
	}
}
