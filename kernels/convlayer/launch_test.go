package convlayer

import (
	"errors"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
)

// appendIn appends a layer in given tiles.
func appendIn(by tile) kernels.Append[Params] {
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) { appendTiles(b, &p, p.at(s), by, t) }
}

// TestTilesFit compares every tile with what the kernel text asks of one and what every device has.
func TestTilesFit(t *testing.T) {
	for _, by := range []tile{large, small} {
		vectors := by.stages * by.k * (by.m + by.n) / 4
		if by.slices > 1 {
			vectors = max(vectors, by.m*by.n/4)
		}
		step := by.threads() / (by.n / 4)
		switch {
		case by.m%by.threadM != 0 || by.n%by.threadN != 0 || by.threadM%4 != 0 || by.threadN%4 != 0:
			t.Errorf("%+v: threads do not divide the tile", by)
		case by.threads()%(by.n/4) != 0 || by.threads()%(by.m/4) != 0 || by.k%step != 0 || by.k*by.m/4%by.threads() != 0 || by.k%by.slices != 0:
			t.Errorf("%+v: the loads of %d threads do not divide the tile", by, by.threads())
		case unitM%by.m != 0 || unitK%by.k != 0:
			t.Errorf("%+v: the weights are not whole tiles", by)
		case 16*vectors > 32<<10 || by.threads() > 1024 || by.threads()%32 != 0:
			t.Errorf("%+v: %d bytes of threadgroup memory, %d threads", by, 16*vectors, by.threads())
		}
	}
}

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		out, positions, cores int
		want                  tile
	}{
		{32, 1 << 20, 1, small}, {33, 32, 1, small}, {33, 33, 1, large}, {64, 64 * 131, 132, small}, {64, 64 * 132, 132, large}, {256, 33 * 64, 132, large},
	} {
		g := geometry{batch: 1, groups: 1, out: test.out, outHeight: 1, outWidth: test.positions}
		if got := choose(g, gpu.Facts{Cores: test.cores}); got != test.want {
			t.Errorf("%+v: a tile of %d×%d", test, got.m, got.n)
		}
	}
}

func TestRefuses(t *testing.T) {
	vendor, err := newVendor(nil, nil, Params{})
	if err != nil {
		t.Fatal(err)
	}
	params := func(l Layer) Params {
		l.Groups, l.Batch, l.Dilation = max(1, l.Groups), max(1, l.Batch), 1
		return Params{ImageLayer: l.images(), dimensions: 1}
	}
	layer := Layer{In: 1, Out: 1, Kernel: 1, Stride: 1}
	for name, test := range map[string]struct {
		p      Params
		length int
		by     kernels.Append[Params]
	}{
		"a long sequence": {params(layer), 1 << 31, appendLayer},
		"the vendor's":    {params(layer), 1 << 31, vendor},
		"many channels":   {params(Layer{In: 1, Out: 1 << 22, Kernel: 1, Stride: 1}), 1, appendLayer},
		"long strides":    {params(Layer{In: 1, Out: 1, Kernel: 1, Stride: 1<<31 - 1}), 1, appendLayer},
		"a large matrix":  {params(Layer{In: 16, Out: 1, Kernel: 16, Stride: 1}), 1<<20 + 16, vendor},
		"many products":   {params(Layer{In: 129, Out: 129, Kernel: 1, Stride: 1, Groups: 129, Batch: 2}), 5, vendor},
	} {
		b := emulator.Open(t).NewPlan()
		test.by(b, test.p, kernels.Shape{length: test.length}, []*gpu.Buffer{b.Output(gpu.Float, 1), b.Input(gpu.Float, 1)})
		if _, err := b.Build(); !errors.Is(err, kernels.ErrRefused) {
			t.Errorf("%s: error %v, want one that refuses the shape", name, err)
		}
	}
}
