package songs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"crossover/kernels"
)

// wiring is a graph whose names are resolved and whose stages are in an order in which they can be computed.
type wiring struct {
	*Graph
	tensors []tensor
	order   []int   // of Stages
	reads   [][]int // tensors by stage; the deciding one is the last
	writes  [][]int // tensors by stage
	of      []int   // tensors by derived tensor
	outputs []int
	growing []bool // by stage: its kernels on a GPU let the All tensors grow that it reads
}

// tensor is where a tensor comes from. Two of the three places are −1.
type tensor struct {
	name                  string
	element               kernels.Element
	input, stage, derived int
}

// Check returns nil if a pipeline can be made of the graph. Otherwise it says in one line what is wrong: a name that is there
// twice or not at all, a stage with too few or too many inputs, elements of another type, a cycle, a stage that nothing needs,
// or lengths that do not fit at the usual lengths of the inputs.
func (g *Graph) Check() error {
	_, err := g.wire()
	return err
}

// wire resolves and checks a graph.
func (g *Graph) wire() (*wiring, error) {
	if g == nil {
		return nil, errors.New("songs: there is no graph (want one, such as that of AnalysisGraph)")
	}
	w := &wiring{Graph: g}
	for _, f := range []func() error{w.declare, w.connect, w.types, w.findGrowing, w.sort, w.needed, w.fits} {
		if err := f(); err != nil {
			return nil, fmt.Errorf("songs: %.80q: %w", g.Name, err)
		}
	}
	return w, nil
}

// declare lists the tensors.
func (w *wiring) declare() error {
	add := func(t tensor) error {
		switch {
		case t.name == "":
			return errors.New("a tensor has no name")
		case w.find(t.name) >= 0:
			return fmt.Errorf("the name %q is there twice", t.name)
		}
		w.tensors = append(w.tensors, t)
		return nil
	}
	if len(w.Stages) == 0 {
		return errors.New("there are no stages")
	}
	for i, in := range w.Inputs {
		if in.Usual < 1 {
			return fmt.Errorf("input %s: Usual is %d (want at least 1)", in.Name, in.Usual)
		}
		if err := add(tensor{in.Name, in.Type, i, -1, -1}); err != nil {
			return err
		}
	}
	for i := range w.Stages {
		s := &w.Stages[i]
		if s.Name == "" {
			return errors.New("a stage has no name")
		}
		step, err := w.usual(s)
		if err != nil {
			return err
		}
		var writes []int
		for k, t := range outputs(step.Tensors(ones)) {
			name := s.Name
			if k > 0 {
				name += "." + t.Name
			}
			if err := add(tensor{name, t.Type, -1, i, -1}); err != nil {
				return err
			}
			writes = append(writes, len(w.tensors)-1)
		}
		w.writes = append(w.writes, writes)
	}
	for i, d := range w.Derived {
		if err := add(tensor{d.Name, "", -1, -1, i}); err != nil {
			return err
		}
	}
	return nil
}

// ones is a shape at which an operation can say which tensors it has.
var ones = kernels.Shape{1, 1, 1, 1, 1, 1}

// usual returns the step of a stage without a value that decides.
func (w *wiring) usual(s *Stage) (kernels.Step, error) {
	switch {
	case s.Shape == nil:
		return nil, fmt.Errorf("stage %s has no shape", s.Name)
	case s.Decides == "" && s.Step == nil, s.Decides != "" && s.Decided == nil:
		return nil, fmt.Errorf("stage %s has no operation", s.Name)
	}
	step, err := s.step(0)
	if err != nil {
		return nil, fmt.Errorf("stage %s: %w", s.Name, err)
	}
	return step, nil
}

// find returns the tensor of a name, or −1.
func (w *wiring) find(name string) int {
	return slices.IndexFunc(w.tensors, func(t tensor) bool { return t.name == name })
}

// known returns the tensor of a name, or an error that lists the names.
func (w *wiring) known(name string) (int, error) {
	if t := w.find(name); t >= 0 {
		return t, nil
	}
	var names []string
	for _, t := range w.tensors {
		names = append(names, t.name)
	}
	return -1, fmt.Errorf("there is no tensor %q (there are %s)", name, strings.Join(names, ", "))
}

// connect resolves what stages and derived tensors read.
func (w *wiring) connect() error {
	for i := range w.Stages {
		s := &w.Stages[i]
		names := s.Reads
		if s.Decides != "" {
			names = append(slices.Clone(names), s.Decides)
		}
		var reads []int
		for _, name := range names {
			t, err := w.known(name)
			if err != nil {
				return fmt.Errorf("stage %s: %w", s.Name, err)
			}
			reads = append(reads, t)
		}
		w.reads = append(w.reads, reads)
	}
	for _, d := range w.Derived {
		t, err := w.known(d.Of)
		if err != nil {
			return fmt.Errorf("tensor %s: %w", d.Name, err)
		}
		if d.How < Last || d.How > Turned {
			return fmt.Errorf("tensor %s: How is %d (want Last, All or Turned)", d.Name, d.How)
		}
		if d.How != Last && d.Columns < 1 {
			return fmt.Errorf("tensor %s: Columns is %d (want at least 1)", d.Name, d.Columns)
		}
		if w.tensors[t].derived >= 0 {
			return fmt.Errorf("tensor %s is derived from %s, which is derived (want what a stage or a program writes)", d.Name, d.Of)
		}
		if d.How == Last && (w.tensors[t].stage < 0 || slices.ContainsFunc(w.Derived[:len(w.of)], d.sameLast)) {
			return fmt.Errorf("tensor %s: %s is an input or kept already (want the tensor of a stage, once)", d.Name, d.Of)
		}
		w.of = append(w.of, t)
	}
	if len(w.Outputs) == 0 {
		return errors.New("there are no outputs")
	}
	for _, name := range w.Outputs {
		t, err := w.known(name)
		if err != nil {
			return fmt.Errorf("outputs: %w", err)
		}
		if w.tensors[t].stage < 0 {
			return fmt.Errorf("output %s is an input or derived (want the tensor of a stage)", name)
		}
		w.outputs = append(w.outputs, t)
	}
	return nil
}

// sameLast reports whether another derived tensor is kept from the same one.
func (d Derived) sameLast(other Derived) bool { return other.How == Last && other.Of == d.Of }

// types checks the number and the elements of what stages read.
func (w *wiring) types() error {
	for i, t := range w.of {
		from := w.tensors[t].element
		if w.Derived[i].How == Turned {
			from = kernels.Float32
		}
		w.tensors[w.find(w.Derived[i].Name)].element = from
	}
	for i := range w.Stages {
		s := &w.Stages[i]
		step, _ := s.step(0)
		ins := inputs(step.Tensors(ones))
		if len(ins) != len(s.Reads) {
			var names []string
			for _, t := range ins {
				names = append(names, t.Name)
			}
			return fmt.Errorf("stage %s reads %d tensors (want %d: %s)", s.Name, len(s.Reads), len(ins), strings.Join(names, ", "))
		}
		for k, t := range ins {
			if from := &w.tensors[w.reads[i][k]]; !s.Words && from.element != t.Type {
				return fmt.Errorf("stage %s: %s is %s, and %s is %s", s.Name, t.Name, t.Type, from.name, from.element)
			}
		}
		if s.Decides != "" {
			switch by := &w.tensors[w.reads[i][len(ins)]]; {
			case by.derived >= 0:
				return fmt.Errorf("stage %s: %s decides and is derived (want an input, or what a stage computes)", s.Name, by.name)
			case by.element != kernels.Uint32:
				return fmt.Errorf("stage %s: %s decides and is %s (want %s)", s.Name, by.name, by.element, kernels.Uint32)
			}
		}
	}
	return nil
}

// findGrowing finds the stages whose kernels on a GPU let the All tensors grow that they read.
func (w *wiring) findGrowing() error {
	for i := range w.Stages {
		w.growing = append(w.growing, w.canGrow(i))
	}
	return nil
}

// canGrow reports whether a stage has kernels for inputs that grow, and whether these inputs are the All tensors that it reads, row
// for row.
func (w *wiring) canGrow(i int) bool {
	s := &w.Stages[i]
	if s.Decides != "" || s.Step.Grows() < 0 {
		return false
	}
	longer := ones
	longer[s.Step.Grows()]++
	after := inputs(s.Step.Tensors(longer))
	for k, before := range inputs(s.Step.Tensors(ones)) {
		t := w.reads[i][k]
		columns, grows := wordsOf(before.Type), false
		for d, n := range before.Dims {
			switch {
			case n != after[k].Dims[d]:
				grows = true
			case grows: // behind the axis
				columns *= n
			}
		}
		if grows != w.grows(t) || grows && columns != w.Derived[w.tensors[t].derived].Columns {
			return false
		}
	}
	return true
}

// growsIn reports whether the kernels of a stage let a tensor grow.
func (w *wiring) growsIn(i, t int) bool { return w.growing[i] && w.grows(t) }

// maker returns the stage that must be computed before a tensor can be read, or −1.
func (w *wiring) maker(t int) int {
	if d := w.tensors[t].derived; d >= 0 {
		if w.Derived[d].How == Last {
			return -1
		}
		t = w.of[d]
	}
	return w.tensors[t].stage
}

// sort finds the order of the stages: that of the declaration, but each after the stages that it reads from.
func (w *wiring) sort() error {
	const (
		fresh = iota
		begun
		done
	)
	state := make([]int, len(w.Stages))
	var path []string
	var visit func(i int) error
	visit = func(i int) error {
		switch state[i] {
		case done:
			return nil
		case begun:
			from := slices.Index(path, w.Stages[i].Name)
			return fmt.Errorf("the stages %s are a cycle", strings.Join(append(path[from:], w.Stages[i].Name), " → "))
		}
		state[i], path = begun, append(path, w.Stages[i].Name)
		for _, t := range w.reads[i] {
			if from := w.maker(t); from >= 0 {
				if err := visit(from); err != nil {
					return err
				}
			}
		}
		state[i], path = done, path[:len(path)-1]
		w.order = append(w.order, i)
		return nil
	}
	for i := range w.Stages {
		if err := visit(i); err != nil {
			return err
		}
	}
	return nil
}

// needed checks that every stage contributes to an output, or to what a later call reads.
func (w *wiring) needed() error {
	used := make([]bool, len(w.Stages))
	for _, t := range w.outputs {
		if s := w.maker(t); s >= 0 {
			used[s] = true
		}
	}
	for i, d := range w.Derived {
		if s := w.tensors[w.of[i]].stage; d.How != Turned && s >= 0 {
			used[s] = true
		}
	}
	for _, i := range slices.Backward(w.order) {
		if !used[i] {
			return fmt.Errorf("nothing needs stage %s (want it, or a stage that reads from it, among the outputs)", w.Stages[i].Name)
		}
		for _, t := range w.reads[i] {
			if s := w.maker(t); s >= 0 {
				used[s] = true
			}
		}
	}
	return nil
}

// fits checks the lengths of all tensors at the usual lengths of the inputs.
func (w *wiring) fits() error {
	lengths := make([]int, len(w.Inputs))
	for i, in := range w.Inputs {
		lengths[i] = in.Usual
	}
	l := newLayout(w)
	for i := range w.Stages {
		l.steps[i], _ = w.Stages[i].step(0)
	}
	_, err := l.arrange(lengths, nil, 0)
	return err
}
