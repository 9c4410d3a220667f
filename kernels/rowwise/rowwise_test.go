package rowwise

import "testing"

func TestStrategyFor(t *testing.T) {
	for _, test := range []struct {
		rows, columns int
		want          strategy
	}{
		{1, 1, strategy{"simdgroup_rows", 32, 1, 1, 1}},
		{100, 100, strategy{"simdgroup_rows", 128, 1, 4, 1}},
		{100, 99, strategy{"simdgroup_rows", 128, 4, 4, 1}},
		{3, 512, strategy{"simdgroup_rows", 96, 4, 3, 1}},
		{3, 516, strategy{"threadgroup_rows", 96, 2, 1, 1}},
		{1, 1024, strategy{"threadgroup_rows", 128, 2, 1, 1}},
		{1, 1023, strategy{"threadgroup_rows", 64, 16, 1, 1}},
		{1, 4096, strategy{"threadgroup_rows", 512, 2, 1, 1}},
		{1, 8192, strategy{"threadgroup_rows", 512, 4, 1, 1}},
		{1, 16 << 10, strategy{"threadgroup_rows", 512, 8, 1, 1}},
		{FewRows, 32 << 10, strategy{"chunk_statistics", 512, 2, 1, 8}},
		{FewRows + 1, 32 << 10, strategy{"threadgroup_rows", 1024, 8, 1, 1}},
		{FewRows + 1, 32<<10 - 1, strategy{"threadgroup_rows", 1024, 32, 1, 1}},
		{FewRows + 1, 32<<10 + 1, strategy{"chunk_statistics", 512, 8, 1, 9}},
		{8, 1<<20 - 8<<10, strategy{"chunk_statistics", 512, 2, 1, 254}},
		{8, 1 << 20, strategy{"chunk_statistics", 512, 4, 1, 128}},
		{8, 2 << 20, strategy{"chunk_statistics", 512, 8, 1, 128}},
		{8, 3 << 20, strategy{"chunk_statistics", 512, 8, 1, 192}},
		{8, 3<<20 + 1, strategy{"chunk_statistics", 512, 32, 1, 193}},
		{8, 8 << 20, strategy{"chunk_statistics", 512, 8, 1, 512}},
	} {
		width := Width(test.columns)
		if got := strategyFor(test.rows, test.columns/width, width); got != test.want {
			t.Errorf("%d rows of %d columns: %+v, want %+v", test.rows, test.columns, got, test.want)
		}
	}
}

// LongChunks names the shapes for which a launch has longer chunks, whatever the width of its elements.
func TestLongChunks(t *testing.T) {
	long := 0
	for rows := 1; rows <= 1<<13; rows = rows*3/2 + 1 {
		for columns := 1; columns <= 1<<23; columns = columns*5/4 + 1 {
			for _, c := range []int{columns, columns / 4 * 4} {
				if c == 0 {
					continue
				}
				width := Width(c)
				by := strategyFor(rows, c/width, width)
				want := by.kernel == "chunk_statistics" && by.threads*by.perThread*width > 4096
				if LongChunks(rows, c) != want {
					t.Fatalf("%d rows of %d columns: %v, and a launch has %+v", rows, c, !want, by)
				}
				if want {
					long++
				}
			}
		}
	}
	if long < 100 {
		t.Errorf("%d shapes have long chunks, too few to test them", long)
	}
}
