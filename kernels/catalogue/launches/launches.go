// Package launches lists what the catalogue's launch plans compile and dispatch on Apple's and NVIDIA's GPUs. It builds
// the plans on the GPUs of package gpu/dryrun, which compute nothing. Only tests use it.
package launches

import (
	"fmt"
	"slices"
	"strings"

	"crossover/gpu"
	"crossover/gpu/dryrun"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/pool"
)

// Launch is what one implementation of a case dispatches at one size.
type Launch struct {
	Case       *kernels.Case
	Variant    string // of the implementation, such as "direct"; may be ""
	Size       int
	Cores      int // of the GPU for which the plan is made
	Dispatches []dryrun.Dispatch
}

func (l Launch) String() string {
	name := l.Case.Name
	if l.Variant != "" {
		name += " (" + l.Variant + ")"
	}
	return fmt.Sprintf("%s at %d %s", name, l.Size, l.Case.Axis.Unit)
}

// Plan returns what each implementation of a case dispatches at a size, by GPU.
func Plan(c *kernels.Case, size int, gpus ...*dryrun.GPU) (map[*dryrun.GPU][]Launch, error) {
	problem := c.Problem(size, kernels.Input{Absent: true})
	planned := map[*dryrun.GPU][]Launch{}
	for _, g := range gpus {
		for _, i := range c.Implementations {
			api, variant, _ := strings.Cut(i.Name, "/")
			if api != g.API {
				continue
			}
			g.Dispatches() // drops those of an earlier plan
			call, err := problem.Bind(i.Name)
			if err != nil {
				return nil, fmt.Errorf("%s at %d on %s: %w", c.Name, size, i.Name, err)
			}
			call.Release()
			planned[g] = append(planned[g], Launch{c, variant, size, g.PlannedCores(), g.Dispatches()})
		}
	}
	return planned, nil
}

// Cases returns the catalogue's cases on the processor and on the GPUs of package dryrun.
func Cases() []kernels.Case {
	return catalogue.Cases(&kernels.Backends{Pool: pool.Shared(), GPUs: dryrun.Backends()})
}

// Text is a source with its macros, as a launch plan compiles it.
type Text struct {
	gpu.Source
	Threads map[string]int // most threads in a threadgroup, by dispatched kernel
}

// Texts returns every text that the catalogue's cases compile at Sizes of their axes, on some of the GPUs of package dryrun.
// Each text occurs once. The texts are sorted by name. Texts takes some seconds.
func Texts(gpus ...*dryrun.GPU) ([]Text, error) { return TextsAt(Sizes, gpus...) }

// TextsAt returns the texts that the cases compile at the sizes that a function chooses, as Texts does.
func TextsAt(sizes func(kernels.Axis) []int, gpus ...*dryrun.GPU) ([]Text, error) {
	found := map[string]Text{}
	var keys []string
	for _, c := range Cases() {
		for _, size := range sizes(c.Axis) {
			planned, err := Plan(&c, size, gpus...)
			if err != nil {
				return nil, err
			}
			for _, g := range gpus {
				for _, l := range planned[g] {
					for _, d := range l.Dispatches {
						key := fmt.Sprint(d.Source.Name, d.Source.Macros, d.Source.Text)
						if found[key].Threads == nil {
							found[key] = Text{d.Source, map[string]int{}}
							keys = append(keys, key)
						}
						most := found[key].Threads
						most[d.Kernel] = max(most[d.Kernel], d.Threads.Count())
					}
				}
			}
		}
	}
	slices.Sort(keys)
	var texts []Text
	for _, key := range keys {
		texts = append(texts, found[key])
	}
	return texts, nil
}

// Sizes returns sizes of an axis at which launch plans differ: both ends, and in each octave a power of two, the size after
// it, and 9/8 and 3/2 of it.
func Sizes(a kernels.Axis) []int {
	sizes := []int{a.Min, a.Max}
	for octave := 1; octave <= a.Max; octave *= 2 {
		for _, eighths := range []int{8, 9, 12} {
			sizes = append(sizes, a.Nearest(octave*eighths/8))
		}
		sizes = append(sizes, a.Nearest(octave+1))
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}
