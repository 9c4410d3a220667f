package songs

import (
	"fmt"

	"crossover/kernels"
)

// layout has the length of every tensor and the shape of every stage in one call.
type layout struct {
	*wiring
	steps  []kernels.Step  // by stage; nil where a value decides that is not known yet
	shapes []kernels.Shape // by stage
	words  []int           // by tensor; −1 where it is not known yet
	known  int             // stages of the order that are arranged
	fitted []fitted        // by stage
	length Lengths         // of this layout
}

// fitted are the lengths of a stage's tensors at the shapes of recent calls. Those of a decoder's attention differ from step to
// step, and come again after Reset. Finding them out allocates, and remembering them does not.
type fitted struct {
	step kernels.Step // for which they are
	at   map[kernels.Shape]words
}

// words are the lengths of a stage's inputs and outputs.
type words struct{ reads, writes []int }

// mostFitted is the number of shapes of a stage that a layout remembers.
const mostFitted = 1 << 12

func newLayout(w *wiring) *layout {
	l := &layout{wiring: w, steps: make([]kernels.Step, len(w.Stages)), shapes: make([]kernels.Shape, len(w.Stages)),
		words: make([]int, len(w.tensors)), fitted: make([]fitted, len(w.Stages))}
	l.length = l.lengthOf
	for i := range w.Stages {
		if w.Stages[i].Decides == "" {
			l.steps[i] = w.Stages[i].Step
		}
	}
	return l
}

// arrange computes lengths and shapes, as far as the steps are known, for inputs of so many elements. calls is the number of
// calls before, which All tensors hold, and last has the words of the tensors after the last call, or is nil. It returns the
// number of stages of the order that are arranged.
func (l *layout) arrange(elements []int, last []int, calls int) (int, error) {
	for t := range l.words {
		l.words[t] = -1
		if in := l.tensors[t].input; in >= 0 {
			l.words[t] = elements[in] * wordsOf(l.tensors[t].element)
		}
	}
	l.known = 0
	return l.resume(last, calls)
}

// resume goes on behind the known stages, because more steps are known.
func (l *layout) resume(last []int, calls int) (int, error) {
	for ; l.known < len(l.order); l.known++ {
		i := l.order[l.known]
		if l.steps[i] == nil {
			break
		}
		if err := l.stage(i, last, calls); err != nil {
			return l.known, err
		}
	}
	return l.known, nil
}

// stage arranges a stage whose inputs are arranged.
func (l *layout) stage(i int, last []int, calls int) (err error) {
	s := &l.Stages[i]
	for _, t := range l.reads[i] {
		if err := l.derive(t, calls); err != nil {
			return fmt.Errorf("stage %s: %w", s.Name, err)
		}
	}
	defer func() {
		if r := recover(); r != nil {
			if e, ok := r.(unknownLength); ok {
				err = fmt.Errorf("stage %s: the length of %q is not known before the stage", s.Name, string(e))
				return
			}
			panic(r)
		}
	}()
	shape := s.Shape(l.length)
	fit := l.fit(i, shape)
	for k, want := range fit.reads {
		from := l.reads[i][k]
		d := l.tensors[from].derived
		if d >= 0 && l.Derived[d].How == Last {
			if err := l.carry(from, want, last); err != nil {
				return fmt.Errorf("stage %s: %w", s.Name, err)
			}
		}
		if got := l.words[from]; got != want {
			t := inputs(l.steps[i].Tensors(shape))[k]
			return fmt.Errorf("stage %s: %s is %v of %s, %d words, and %s has %d", s.Name, t.Name, t.Dims, t.Type, want, l.tensors[from].name, got)
		}
	}
	l.shapes[i] = shape
	for k, t := range l.writes[i] {
		l.words[t] = fit.writes[k]
	}
	return nil
}

// lengthOf returns the number of elements of a tensor. It panics if that is not known yet.
func (l *layout) lengthOf(name string) int {
	t := l.find(name)
	if t < 0 || l.words[t] < 0 {
		panic(unknownLength(name))
	}
	return l.words[t] / wordsOf(l.tensors[t].element)
}

// fit returns the lengths of a stage's tensors at a shape.
func (l *layout) fit(i int, s kernels.Shape) words {
	f := &l.fitted[i]
	if f.step != l.steps[i] || len(f.at) >= mostFitted {
		*f = fitted{l.steps[i], map[kernels.Shape]words{}}
	}
	fit, known := f.at[s]
	if known {
		return fit
	}
	for _, t := range f.step.Tensors(s) {
		switch t.Role {
		case kernels.In:
			fit.reads = append(fit.reads, t.Len())
		case kernels.Out:
			fit.writes = append(fit.writes, t.Len())
		}
	}
	f.at[s] = fit
	return fit
}

type unknownLength string

// derive arranges a derived tensor of this call.
func (l *layout) derive(t, calls int) error {
	i := l.tensors[t].derived
	if i < 0 {
		return nil
	}
	d, words := &l.Derived[i], l.words[l.of[i]]
	switch {
	case d.How == Last:
		return nil
	case words%d.Columns != 0:
		return fmt.Errorf("%s has %d words (want rows of %d for %s)", d.Of, words, d.Columns, d.Name)
	case d.How == All:
		words *= calls + 1
	}
	l.words[t] = words
	return nil
}

// carry arranges a tensor of the last call, of which a stage wants so many words.
func (l *layout) carry(t, want int, last []int) error {
	of := l.of[l.tensors[t].derived]
	if last != nil && last[of] != want {
		return fmt.Errorf("%s had %d words in the last call, and this one wants %d (Reset forgets the last call)",
			l.tensors[of].name, last[of], want)
	}
	l.words[t] = want
	return nil
}

// wordsOf returns the number of 32-bit words of an element.
func wordsOf(e kernels.Element) int { return kernels.Tensor{Type: e}.Len() }
