//go:build (darwin || linux) && (amd64 || arm64)

package metal_test

import (
	"fmt"
	"runtime"
	"testing"

	"crossover/gpu"
	"crossover/gpu/dryrun"
	"crossover/gpu/msl"
	"crossover/kernels"
	"crossover/kernels/catalogue/launches"
)

// Metal's compiler takes every text that the catalogue's launch plans compile on any of Apple's GPUs. Every kernel
// becomes a pipeline with room for the threads that the plans give it. The test runs no kernel. On a Mac, run this test
// first:
//
//	go test ./metal -run CompileEveryText -v
func TestCompileEveryText(t *testing.T) {
	if testing.Short() {
		t.Skip("plans every case at some thirty sizes")
	}
	d := driver(t)
	gpus, at := dryrun.GPUs, launches.Sizes
	if runtime.GOOS != "darwin" {
		gpus, at = gpus[:1], sizes // small ones, which are planned in a moment
	}
	texts, err := launches.TextsAt(at, gpus...)
	if err != nil {
		t.Fatal(err)
	}
	const few = 8
	if runtime.GOOS != "darwin" {
		// The fake compiles slowly, with the emulator. The tests of the operations compile the same texts.
		var some []launches.Text
		for i := 0; i < len(texts); i += few {
			some = append(some, texts[i])
		}
		texts = some
	}
	kernels, notes, problems := compileTexts(d, texts)
	for _, note := range notes {
		t.Log(note)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
	if lacks := d.Facts().Lacks; lacks != "" {
		t.Logf("no pipeline was made: %s", lacks)
	}
	t.Logf("%s: %d kernels of %d texts compiled, %d with room for fewer than %d threads and not just what they are given, %d problems", d.Facts().Name, kernels, len(texts),
		len(notes), mostThreads, len(problems))
}

// sizes returns the smallest size of an axis, and some above it that the emulator computes in a moment.
func sizes(a kernels.Axis) []int {
	var list []int
	for _, n := range []int{a.Min, a.Nearest(3 * a.Min), a.Nearest(max(a.Min, min(150, 10*a.Min)))} {
		if len(list) == 0 || n > list[len(list)-1] {
			list = append(list, n)
		}
	}
	return list
}

// mostThreads is how many threads a threadgroup has at most on Apple's GPUs. A kernel that takes many registers may
// have fewer.
const mostThreads = 1024

// compileTexts compiles texts and makes their pipelines. It returns the number of pipelines, notes, and everything that
// went wrong. A note names a pipeline with room for fewer threads than the GPU's, because of its registers or because
// its kernel declares fewer. It leaves out kernels that declare the number that launch plans give them.
func compileTexts(d gpu.Driver, texts []launches.Text) (kernels int, notes, problems []string) {
	for _, text := range texts {
		name := fmt.Sprint(text.Name, " ", text.Macros)
		functions, err := msl.Parse(text.Text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		library, err := d.Compile(text.Source, functions)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		if d.Facts().Lacks != "" {
			continue // this GPU cannot make pipelines of these kernels, but its compiler takes them
		}
		for i := range functions {
			f := &functions[i]
			pipeline, err := library.Pipeline(f)
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s: kernel %s: %v", name, f.Name, err))
				continue
			}
			kernels++
			most, given := pipeline.MaxThreads(), text.Threads[f.Name]
			said := fmt.Sprintf("%s: kernel %s has room for %d threads, and launch plans give it %d", name, f.Name, most, given)
			switch declared := f.MaxThreads != ""; {
			case most < given:
				problems = append(problems, said)
			case most < mostThreads && !(declared && most == given):
				notes = append(notes, said)
			}
		}
	}
	return kernels, notes, problems
}
