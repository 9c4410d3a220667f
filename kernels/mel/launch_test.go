package mel

import (
	"math"
	"testing"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// launchParams have frames of which four, two, one or none fit into threadgroup memory. They have bands without bins, a
// single band, and numbers of bands that fill simdgroups exactly or exceed them by one.
var launchParams = []Params{
	librosaDefaults,
	of(44100, 512, 128),
	of(16000, 400, 62),
	of(16000, 400, 63),
	of(8000, 2, 1),
	of(48000, 4096, 128),
	of(48000, 8192, 40),
	of(96000, 16384, 128),
	of(96000, 16386, 1100),
	{SampleRate: 16000, NFFT: 512, Bands: 80, MinHz: 20, MaxHz: 7600, Scale: HTK},
	{SampleRate: 16000, NFFT: 400, Bands: 40, MinHz: 64, MaxHz: 8000, Scale: HTK, Norm: Peak},
	{SampleRate: 22050, NFFT: 512, Bands: 20, MinHz: 3000, MaxHz: 3100, Norm: Peak}, // bands between two bins
	{SampleRate: 22050, NFFT: 16, Bands: 3, MinHz: 11000},
}

func TestFilterbanks(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and the race detector has TestOp")
	}
	many := 8*groupsPerCore*cores(t) + 3
	for _, p := range launchParams {
		plans := kerneltest.Plans(t, &Op, p)
		for _, n := range []int{1, 2, 3, 4, 5, many} {
			if n > 5 && p.NFFT > 4096 {
				continue // emulation is slow, and the kernel has no other path for these
			}
			power, got := make([]float32, n*p.bins()), make([]float32, n*p.Bands)
			kernels.Noise(power, uint64(n))
			for i := range power {
				power[i] *= power[i]
			}
			want := Reference(p, power)
			for name, plan := range plans {
				if err := plan.Run(kernels.Shape{bands: p.Bands, nFFT: p.NFFT, frames: n}, kernels.Args{got, power}); err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(got, want); !(e <= allowed) {
					t.Errorf("%s, %+v, %d frames: relative error %.2g", name, p, n, e)
				}
			}
		}
	}
}

// cores returns the number of cores of the emulated GPU, or 0 if there is none.
func cores(t *testing.T) int {
	gpus := kerneltest.Backends(t).GPUs
	if len(gpus) == 0 {
		return 0
	}
	device, err := gpus[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	return device.Facts().Cores
}

// TestSegments compares the table of segments of each filterbank with all of its weights. The lines of the segments make up
// the triangles of the bands.
func TestSegments(t *testing.T) {
	for _, p := range launchParams {
		table := segments(p)
		if len(table) != 6*(p.Bands+1) {
			t.Fatalf("%+v: %d words, want %d", p, len(table), 6*(p.Bands+1))
		}
		got := make([]float64, p.Bands*p.bins())
		next := uint32(math.Ceil(p.MinHz / p.SampleRate * float64(p.NFFT)))
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
		edges := p.edges()
		for i, want := range filterbank(p) {
			if math.Abs(got[i]-want) > 2e-7*p.peak(edges, i/p.bins()) {
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
