package matmul

import (
	"testing"

	"crossover/gpu"
)

func TestChoose(t *testing.T) {
	h200, unknown, m3 := gpu.Facts{API: "cuda", Cores: 132}, gpu.Facts{}, gpu.Facts{API: "metal", Cores: 40}
	for _, test := range []struct {
		m, n, k int
		on      gpu.Facts
		want    tile
		parts   int
	}{
		{4096, 4096, 4096, h200, large, 1},
		{2048, 2048, 2048, h200, large, 1},
		{3000, 3000, 3000, h200, large, 2}, // 576 tiles would leave 132 cores idle for an eighth of the time
		{1536, 1536, 1536, h200, medium, 2},
		{1024, 1024, 1024, h200, medium, 1},
		{768, 768, 768, h200, medium, 4},
		{512, 512, 512, h200, small, 1},
		{256, 256, 256, h200, small, 1},
		{16, 16, 16, h200, small, 1},
		{1, 1, 1 << 20, h200, small, 16},
		{1024, 1024, 1024, unknown, large, 1},
		{1024, 1024, 1024, m3, matrices, 1},
		{256, 256, 256, m3, small, 1},
	} {
		got, parts := choose(test.m, test.n, test.k, test.on)
		if got != test.want || parts != test.parts {
			t.Errorf("%d×%d×%d on %d cores: %d×%d in %d parts, want %d×%d in %d", test.m, test.k, test.n, test.on.Cores,
				got.m, got.n, parts, test.want.m, test.want.n, test.parts)
		}
	}
}

// TestTilesFit holds every tile against what the kernel text asks of one and what every device has.
func TestTilesFit(t *testing.T) {
	for _, by := range []tile{large, medium, small} {
		simdM, simdN := by.lanesM*by.threadM, 32/by.lanesM*by.threadN
		vectors := by.stages * by.k * (by.m + by.n) / 4
		if by.slices > 1 {
			vectors = max(vectors, by.m*by.n/4)
		}
		switch {
		case by.m%32 != 0 || by.n%32 != 0 || by.m%simdM != 0 || by.n%simdN != 0:
			t.Errorf("%+v: simdgroups compute %d×%d", by, simdM, simdN)
		case by.k%(4*by.slices) != 0 || by.k/4%by.along != 0:
			t.Errorf("%+v: %d terms do not divide", by, by.k)
		case 16*vectors > 32<<10 || by.threads() > 1024:
			t.Errorf("%+v: %d bytes of threadgroup memory, %d threads", by, 16*vectors, by.threads())
		}
	}
}
