package launch

import (
	_ "embed"

	"crossover/gpu"
)

var (
	//go:embed direct.metal
	directText string
	//go:embed halves.metal
	halvesText string
	//go:embed chirp.metal
	chirpText string

	//go:embed butterflies.metal
	butterfliesText string
	//go:embed radices.metal
	radicesText string
	//go:embed mixed.metal
	mixedText string
	//go:embed fixed.metal
	fixedText string

	//go:embed passes.metal
	passesText string
	//go:embed complex.metal
	complexText string
	//go:embed columns.metal
	columnsText string
	//go:embed transposed.metal
	transposedText string
	//go:embed real.metal
	realText string
	//go:embed staged.metal
	stagedText string
	//go:embed inverse.metal
	inverseText string
	//go:embed bluestein.metal
	bluesteinText string
)

// Kernels with one thread for each value.
var (
	directSource = gpu.Source{Name: "direct.metal", Text: directText}
	halvesSource = gpu.Source{Name: "halves.metal", Text: halvesText}
	chirpSource  = gpu.Source{Name: "chirp.metal", Text: chirpText}
)

// Transforms of every length without a prime factor above 7: mixed.metal gets the length at run time, and fixed.metal is
// compiled for one.
var (
	mixedSource = gpu.Source{Name: "butterflies.metal+radices.metal+mixed.metal", Text: butterfliesText + radicesText + mixedText}
	fixedSource = gpu.Source{Name: "butterflies.metal+radices.metal+fixed.metal", Text: butterfliesText + radicesText + fixedText}
)

// Kernels that share passes.metal. Each text has one kernel, because a text is compiled as a whole for each shape.
var (
	complexSource    = withPasses("complex.metal", complexText)
	columnsSource    = withPasses("columns.metal", columnsText)
	transposedSource = withPasses("transposed.metal", transposedText)
	realSource       = withPasses("real.metal", realText)
	stagedSource     = withPasses("staged.metal+real.metal", stagedText+realText)
	inverseSource    = withPasses("inverse.metal", inverseText)
	bluesteinSource  = withPasses("bluestein.metal", bluesteinText)
)

// withPasses returns the source of a text that follows passes.metal.
func withPasses(name, text string) gpu.Source {
	return gpu.Source{Name: "butterflies.metal+passes.metal+" + name, Text: butterfliesText + passesText + text}
}
