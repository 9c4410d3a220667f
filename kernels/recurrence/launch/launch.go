// Package launch appends recurrences to launch plans of package gpu, with one thread for each channel. The operations of
// package recurrence use it, and so do those of package biquad.
//
// The text of a filter declares five names, which rows.metal lists: how a channel begins, filters a sample, and ends. The
// state of a channel is float64 values. The text that precedes the filter's converts them: see words.metal.
//
// The package does not know any filter, and it does not divide a channel among threads.
package launch

import (
	_ "embed"

	"crossover/gpu"
)

var (
	//go:embed words.metal
	wordsText string
	//go:embed rows.metal
	rowsText string
	//go:embed channels.metal
	channelsText string
)

// Extent is a number of channels and the number of samples in each.
type Extent struct{ Channels, N int }

// Vectors returns the number of vectors of four samples in a row.
func (x Extent) Vectors() int { return divideUp(x.N, 4) }

// Values returns the extent as the argument Shape of rows.metal.
func (x Extent) Values() gpu.Argument { return gpu.Values(x.Channels, x.N, x.Vectors()) }

// Source returns the text of a filter with rows of this extent, followed by another text.
func (x Extent) Source(filter gpu.Source, name, text string) gpu.Source {
	whole := 1
	if x.Channels > 1 && x.N%4 != 0 {
		whole = 0
	}
	filter.Name, filter.Text = filter.Name+"+"+name, wordsText+filter.Text+rowsText+text
	return filter.Define("WHOLE", whole)
}

// lanes is the number of threads in a threadgroup, and of its channels at most.
const lanes = 32

// groupOf returns the number of channels in a threadgroup on a GPU of the given number of cores. With few channels, each
// threadgroup has fewer of them, so that every core has work and a thread moves fewer vectors of others.
func (x Extent) groupOf(width, cores int) int {
	group := lanes
	for group*width > lanes && group*cores > x.Channels {
		group /= 2
	}
	return group
}

// Channels appends a filter with one thread for each channel. A threadgroup holds width vectors of four samples of each
// channel at a time; width is even and at most lanes. values are the fields of the filter. y and x are rows of samples,
// after and before are the states.
func Channels(b *gpu.Builder, filter gpu.Source, width int, values gpu.Argument, x Extent, y, after, src, before *gpu.Buffer) {
	appendBy(b, x.groupOf(width, b.Facts().Cores), filter, width, values, x, y, after, src, before)
}

// appendBy is Channels with a number of channels in a threadgroup.
func appendBy(b *gpu.Builder, group int, filter gpu.Source, width int, values gpu.Argument, x Extent, y, after, src, before *gpu.Buffer) {
	source := x.Source(filter, "channels.metal", channelsText).Define("WIDTH", width).Define("CHANNELS", group)
	b.Dispatch(b.Kernel(source, "channels"), gpu.Size{X: divideUp(x.Channels, group), Y: 1, Z: 1},
		gpu.Size{X: lanes, Y: 1, Z: 1}, y.As(gpu.Float4), src.As(gpu.Float4), after, before, values, x.Values())
}

func divideUp(a, b int) int { return (a + b - 1) / b }
