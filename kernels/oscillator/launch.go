package oscillator

import (
	_ "embed"
	"math"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed oscillator.metal
var text string

// strategy says how a launch plan divides the work. Its fields, except parts, are macros of oscillator.metal.
type strategy struct {
	threads int // of a threadgroup
	width   int // threads with samples of their own; threads/width threads share the voices
	span    int // samples of a thread
	parts   int // threadgroups that share the voices, too
}

const (
	// From manyTones on (voices times samples), a thread renders several samples, so that it computes once for each voice
	// what all of them need. With fewer tones, as many threads as possible share the work.
	manyTones = 1 << 20
	// groupsPerCore is the number of threadgroups per core that evens out the work.
	groupsPerCore = 8
	// batch is the number of voices whose starts are in threadgroup memory at a time, if a thread has several samples.
	batch = 64
	// residentThreads is how many threads of several samples each a core of an H200 has the registers for.
	residentThreads = 768
)

// strategyFor returns how to divide count voices and n samples on a GPU of the given number of cores.
//
// On an H200, a width of four is best for a block of 512 samples: 3.0 µs with 16 voices and 3.7 µs with 256. A width of 32
// takes 3.0 and 7.9 µs. For long renderings of many voices, a width of 16 is best.
func strategyFor(count, n, cores int) strategy {
	by := strategy{threads: 32, width: 4, span: 1, parts: 1}
	most := 1024
	if count*n >= manyTones {
		by.width, most = 16, 256
	}
	for by.threads < most && by.threads/by.width < count {
		by.threads *= 2
	}
	if count*n >= manyTones {
		by.span = by.spanOf(n, cores)
		tiles, shares := divideUp(n, by.width*by.span), divideUp(count, by.threads/by.width)
		by.parts = max(1, min(shares, groupsPerCore*cores/tiles))
	}
	return by
}

// spanOf returns a number of samples for each thread with which the cores are done with n samples soonest. A voice takes a thread as
// long as some samples more. The threadgroups that do not fit on the cores at first wait until others are done.
func (by strategy) spanOf(n, cores int) int {
	const least, most, step, more = 16, 40, 4, 8
	at, best := cores*residentThreads/by.threads, least
	if at == 0 {
		return least
	}
	took := func(span int) int { return divideUp(divideUp(n, by.width*span), at) * (span + more) }
	for span := least; span <= most; span += step {
		if took(span) < took(best) {
			best = span
		}
	}
	return best
}

// resident is the macro RESIDENT: if it is more than the threads of a threadgroup, a thread has fewer registers, so that a core runs
// more threadgroups at once.
func (by strategy) resident() int {
	if by.span == 1 {
		return by.threads
	}
	return max(by.threads, residentThreads)
}

// folds is the macro FOLDS: how many samples of a thread have sines of their own, of which those of its others are made.
func (by strategy) folds() int { return min(by.span, 4) }

func divideUp(a, b int) int { return (a + b - 1) / b }

// bankOf returns a function that appends a bank.
func bankOf(bank []voice) kernels.Append[Params] {
	return func(b *gpu.Builder, _ Params, s kernels.Shape, t []*gpu.Buffer) {
		appendBy(b, strategyFor(len(bank), s[samples], b.Facts().Cores), bank, s[samples], t)
	}
}

// appendBy appends n samples of a bank by a strategy.
func appendBy(b *gpu.Builder, by strategy, bank []voice, n int, t []*gpu.Buffer) {
	y, position := t[0], t[1]
	source := gpu.Source{Name: "oscillator.metal", Text: text}.
		Define("THREADS", by.threads).Define("WIDTH", by.width).Define("SPAN", by.span).Define("FOLDS", by.folds()).
		Define("BATCH", max(batch, by.threads/by.width)).Define("RESIDENT", by.resident())
	var words []uint32
	for i := range bank {
		words = bank[i].appendWords(words)
		if by.span > 1 {
			words = bank[i].appendTurns(words, by.width, by.folds())
		}
	}
	mixes := y
	if by.parts > 1 {
		mixes = b.Scratch(gpu.Float, by.parts*n)
	}
	b.Dispatch(b.Kernel(source, "bank"), gpu.Size{X: divideUp(n, by.width*by.span), Y: by.parts, Z: 1},
		gpu.Size{X: by.threads, Y: 1, Z: 1},
		mixes, position, b.ConstantUints(words), gpu.Values(len(bank)), gpu.Values(n))
	if by.parts > 1 {
		b.Dispatch(b.Kernel(source, "rows"), gpu.Size{X: divideUp(n, 32), Y: 1, Z: 1}, gpu.Size{X: by.threads, Y: 1, Z: 1},
			y, mixes, gpu.Values(by.parts), gpu.Values(n))
	}
}

// mostStages is the greatest number of stages of an envelope.
const mostStages = 4

// appendWords appends the words of the voice for oscillator.metal.
func (v *voice) appendWords(words []uint32) []uint32 {
	var ends [2 * mostStages]uint32
	var levels, slopes [mostStages]uint32
	first := mostStages - len(v.stages)
	for i, s := range v.stages {
		// The first sample of a stage is at its start or after it. The kernel counts from there, so that counts are small
		// enough for float32.
		begin := math.Ceil(s.start)
		ends[2*(first+i)], ends[2*(first+i)+1] = uint32(s.end), uint32(s.end>>32)
		levels[first+i] = math.Float32bits(float32(s.level + s.slope*(begin-s.start)))
		slopes[first+i] = math.Float32bits(float32(s.slope))
	}
	words = append(words, uint32(v.sine), uint32(v.sine>>32), uint32(v.saw), uint32(v.saw>>32))
	words = append(words, ends[:]...)
	words = append(words, levels[:]...)
	return append(words, slopes[:]...)
}

// appendTurns appends the cosines and sines of what 1 to folds times width samples turn the sine by.
func (v *voice) appendTurns(words []uint32, width, folds int) []uint32 {
	for k := 1; k <= folds; k++ {
		sine, cosine := math.Sincos(math.Pi * float64(int64(v.sine*uint64(width*k))) * 0x1p-63)
		words = append(words, math.Float32bits(float32(cosine)), math.Float32bits(float32(sine)))
	}
	return words
}
