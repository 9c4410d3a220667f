package songs

import (
	"fmt"
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
)

// inParts declares how a long input of a graph is computed. Frame f of the graph's only input is centred at element f·hop, zeros
// surround the input, and the stages of frames compute each frame from its elements alone. So they go over the input part by part, and
// the stages of rest then compute what depends on all frames.
type inParts struct {
	frames, rest *Graph // have the graph's stages under the same names; the first output of frames is the only input of rest
	length, hop  int    // elements of a frame, and from a frame to the next
	each         []int  // elements of a frame, by output of frames
}

// The greatest numbers of frames that are computed at a time. Those of an analysis by librosa's parameters take 12 KiB each. On a
// processor, 512 of them stay in its caches from stage to stage. On a GPU, more of them are worth more than a cache is, and a song
// should be one part, because its spectra then need not leave the GPU: 16 384 frames are six minutes.
const (
	partOnProcessor = 512
	partOnGPU       = 16384
)

// count returns the number of frames of an input.
func (d *inParts) count(elements int) int { return 1 + elements/d.hop }

// elements returns the elements of an input that has so many frames.
func (d *inParts) elements(frames int) int { return max(1, (frames-1)*d.hop) }

// parts computes the long inputs of a pipeline. Two pipelines of its stages follow its route.
type parts struct {
	*inParts
	whole, frames, rest *Pipeline
	stages              []int // of the whole that frames has

	onProcessor, onGPU int // the most frames of a part
	most               int // of the two, by the route
	route              int // of the whole, by its number, for which most is; 0 before there is one
	used               bool

	input   [1][]float32 // of a part
	lengths [1]int       // of a call
	padded  []float32    // a part with zeros
	joined  [][]float32  // by output of frames
}

// newParts returns what computes the long inputs of a pipeline, or nil if its graph does not say how.
func newParts(b *kernels.Backends, d *dispatch.Dispatcher, p *Pipeline) (s *parts, err error) {
	of := p.w.inParts
	if of == nil {
		return nil, nil
	}
	s = &parts{inParts: of, whole: p, onProcessor: partOnProcessor, onGPU: partOnGPU, joined: make([][]float32, len(of.each))}
	if s.frames, err = NewOn(b, d, of.frames); err != nil {
		return nil, err
	}
	if s.rest, err = NewOn(b, d, of.rest); err != nil {
		return nil, err
	}
	for _, name := range s.frames.names {
		s.stages = append(s.stages, slices.Index(p.names, name))
	}
	s.frames.within = &within{Pipeline: p, inputs: func(elements []int) []int {
		return []int{of.elements((elements[0]-of.length)/of.hop + 1)}
	}}
	s.rest.within = &within{Pipeline: p, inputs: func(elements []int) []int { return []int{of.elements(elements[0] / of.each[0])} }}
	return s, nil
}

// run computes a call in parts. It returns false if the input is so short that the whole pipeline computes it at once.
func (s *parts) run(x []float32) (done bool, err error) {
	s.used = false
	n := s.count(len(x))
	w := s.whole
	asBefore := s.route == w.routes && len(w.lengths) > 0 && w.lengths[0] == len(x) // and the last call was computed at once
	if asBefore || n <= min(s.onProcessor, s.onGPU) {
		return false, nil
	}
	if err := s.plan(len(x)); err != nil {
		return true, err
	}
	if n <= s.most {
		return false, nil
	}
	for k, each := range s.each {
		s.joined[k] = slices.Grow(s.joined[k][:0], n*each)
	}
	each := partOf(n, s.most)
	for first := 0; first < n; first += each {
		// All parts are equally long, so that nothing is arranged anew. The last one may begin within the one before it.
		from := min(first, n-each)
		s.input[0] = s.cut(x, from, each)
		if err := s.frames.run(s.input[:]); err != nil {
			return true, fmt.Errorf("from frame %d on: %w", from, err)
		}
		s.join(first - from)
	}
	s.input[0] = s.joined[0]
	err = s.rest.run(s.input[:])
	s.input[0], s.used = nil, err == nil
	return true, err
}

// plan plans the route of a call, and decides how long its parts are.
func (s *parts) plan(elements int) error {
	w := s.whole
	s.lengths[0] = elements
	w.lengths = s.lengths[:]
	err := w.plan()
	w.lengths = nil // the whole is not arranged for them
	if err != nil || s.route == w.routes {
		return err
	}
	onGPU, err := w.mayUseGPU(s.stages, elements)
	if err != nil {
		return err
	}
	s.most, s.route = s.onProcessor, w.routes
	if onGPU {
		s.most = s.onGPU
	}
	s.frames.lengths, s.rest.lengths = nil, nil // so that they look at the route
	return nil
}

// partOf returns the number of frames of a part, which has at most so many: as few parts as possible, and all about equally long.
func partOf(frames, most int) int {
	parts := (frames + most - 1) / most
	return (frames + parts - 1) / parts
}

// calls returns the shape of a stage's calls in a call of the whole, and how many there are, by parts that are as long as on a GPU or
// not. l is the layout of the whole.
func (s *parts) calls(l *layout, i int, onGPU bool) (kernels.Shape, int) {
	if s == nil {
		return l.shapes[i], 1
	}
	most, at := s.onProcessor, slices.Index(s.stages, i)
	if onGPU {
		most = s.onGPU
	}
	n := s.count(l.words[0]) // the input is the first tensor, of float32
	if at < 0 || n <= most {
		return l.shapes[i], 1
	}
	each := partOf(n, most)
	part, err := s.frames.arranged([]int{(each-1)*s.hop + s.length}, 0)
	if err != nil {
		return l.shapes[i], 1 // the graph has been wired, so this does not happen
	}
	return part.shapes[at], (n + each - 1) / each
}

// The moves of a long input, in recorded spans.
const (
	cutName  = "cut parts"
	joinName = "join parts"
)

// cut returns the elements of some frames, with zeros outside of the input. Only those at its two ends are copied.
func (s *parts) cut(x []float32, first, frames int) []float32 {
	n, from := (frames-1)*s.hop+s.length, first*s.hop-s.length/2
	if from >= 0 && from+n <= len(x) {
		return x[from : from+n]
	}
	r := s.whole.recorder
	defer interval(r.marks().Moves, cutName).end()
	begin := r.now()
	if len(s.padded) < n {
		s.padded = make([]float32, n)
	}
	part := s.padded[:n]
	clear(part)
	copy(part[max(0, -from):], x[max(0, from):min(len(x), from+n)])
	r.move(cutName, begin, n)
	return part
}

// join adds the outputs of a part to those of the parts before it, which have so many of its frames.
func (s *parts) join(known int) {
	r, words := s.whole.recorder, 0
	m := interval(r.marks().Moves, joinName)
	begin := r.now()
	for k, name := range s.frames.w.Outputs {
		more := s.frames.Floats(name)[known*s.each[k]:]
		s.joined[k] = append(s.joined[k], more...)
		words += len(more)
	}
	r.move(joinName, begin, words)
	m.end()
}

// floats returns an output of the last call.
func (s *parts) floats(output string) []float32 {
	if k := slices.Index(s.frames.w.Outputs, output); k >= 0 {
		return s.joined[k]
	}
	return s.rest.Floats(output)
}

// anyOnGPU reports whether one of the stages is on a GPU, so that parts are as long as there.
func (s *parts) anyOnGPU(onGPU []bool) bool {
	return slices.ContainsFunc(s.stages, func(i int) bool { return onGPU[i] })
}

// apart returns the groups of a route in calls with inputs of so many elements. A list has no stages of both pipelines if the call is
// computed in parts.
func (s *parts) apart(all []group, onGPU []bool, elements int) (divided []group) {
	most := s.onProcessor
	if s.anyOnGPU(onGPU) {
		most = s.onGPU
	}
	if s.count(elements) <= most {
		return all
	}
	w := s.whole.w
	for _, g := range all {
		k := g.first
		for k < g.end && slices.Contains(s.stages, w.order[k]) {
			k++
		}
		if g.list == nil || k == g.first || k == g.end {
			divided = append(divided, g)
			continue
		}
		divided = append(divided, group{g.first, k, &list{w: w, stages: w.order[g.first:k]}}, group{k, g.end, &list{w: w, stages: w.order[k:g.end]}})
	}
	return divided
}

// within is a larger pipeline, which has all stages of a smaller one under the same names. The smaller one follows its route, and goes
// by what was measured of it.
type within struct {
	*Pipeline
	// inputs returns the elements of the inputs with which the larger one does as much in these stages.
	inputs func(elements []int) []int
	route  int // that the smaller one follows, by its number; 0 for none
}

// adopt makes the pipeline follow the route of the one that it is within.
func (p *Pipeline) adopt() error {
	of := p.within
	same := of.route == of.routes
	if same && p.isNear() {
		return nil
	}
	p.planned = slices.Clone(p.lengths)
	defer p.expect()
	if same {
		return nil
	}
	p.chosen = of.chosen
	if of.Pipeline.route == nil {
		p.leave(of.reason)
	} else {
		r := make(Route, len(p.names))
		for i, name := range p.names {
			r[i] = of.Pipeline.route[slices.Index(of.names, name)]
		}
		if err := p.follow(r); err != nil {
			return err
		}
		p.reason = of.reason
	}
	of.route = of.routes
	return nil
}
