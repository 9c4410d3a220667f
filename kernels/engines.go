package kernels

import (
	"fmt"
	"sync/atomic"

	"crossover/dispatch"
)

// Engines is what a typed plan is made of: the engines of one family at fixed parameters, built when they are first
// chosen and kept, and the dispatcher's case that chooses among them. It is safe for concurrent use; the engines that
// it hands out are as safe as their family says.
type Engines[P, E any] struct {
	choice     *dispatch.Case
	contenders Contenders[P, E]
	params     P
	built      []atomic.Pointer[E]
}

// NewEngines returns the engines of one case. Implementations that this machine lacks are not offered to the
// dispatcher, which then takes the next best one on record. It fails where no contender can run here.
func NewEngines[P, E any](d *dispatch.Dispatcher, caseName string, c Contenders[P, E], p P) (*Engines[P, E], error) {
	var have Contenders[P, E]
	var names []string
	for _, contender := range c {
		if contender.Missing() == nil {
			have = append(have, contender)
			names = append(names, contender.Name)
		}
	}
	if len(have) == 0 {
		return nil, fmt.Errorf("kernels: %s: no implementation can run here", caseName)
	}
	return &Engines[P, E]{
		choice:     d.Case(caseName, names...),
		contenders: have,
		params:     p,
		built:      make([]atomic.Pointer[E], len(have)),
	}, nil
}

// For returns the engine that is fastest at a size, building it on its first use. Where the dispatcher has no
// measurement to go by it answers "cpu", and the first contender is taken. Once an engine is built, For allocates
// nothing.
func (e *Engines[P, E]) For(size int) (E, error) {
	name := e.choice.Choose(size)
	chosen := 0
	for i := range e.contenders {
		if e.contenders[i].Name == name {
			chosen = i
			break
		}
	}
	if built := e.built[chosen].Load(); built != nil {
		return *built, nil
	}
	engine, err := e.contenders[chosen].New(e.params)
	if err != nil {
		return engine, err
	}
	if !e.built[chosen].CompareAndSwap(nil, &engine) {
		return *e.built[chosen].Load(), nil
	}
	return engine, nil
}

// Explain says why For takes the implementation that it takes at a size.
func (e *Engines[P, E]) Explain(size int) dispatch.Explanation { return e.choice.Explain(size) }
