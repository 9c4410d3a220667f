package emulator

import (
	"fmt"
	"regexp"
	"strings"

	"crossover/gpu"
	"crossover/gpu/msl"
)

var barrier = regexp.MustCompile(`\b(?:threadgroup|simdgroup)_barrier\s*\([^()]*\)`)

// Barriers returns the number of barriers in a text. Barriers in comments do not count.
func Barriers(src gpu.Source) int {
	return len(barrier.FindAllString(msl.Uncommented(src.Text), -1))
}

// WithoutBarrier returns a source that lacks its barrier number i, counted from 0. Lines keep their numbers. A plan
// made from that source must fail the tests of the kernel, or the tests do not reach the barrier.
func WithoutBarrier(src gpu.Source, i int) gpu.Source {
	text := msl.Uncommented(src.Text)
	at := barrier.FindAllStringIndex(text, -1)
	if i < 0 || i >= len(at) {
		panic(fmt.Sprintf("emulator: %s has %d barriers; there is no number %d", src.Name, len(at), i))
	}
	begin, end := at[i][0], at[i][1]
	src.Text = text[:begin] + "((void)0)" + strings.Repeat("\n", strings.Count(text[begin:end], "\n")) + text[end:]
	return src
}
