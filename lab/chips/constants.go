package chips

// Constant is one number of the model.
type Constant struct {
	Name   string
	Value  float64
	Unit   string
	Source string // where it was published; otherwise "assumed" and why, or "fitted" and to what
}

var constants []Constant

// constant adds a number to the table and returns it.
func constant(name string, value float64, unit, source string) float64 {
	constants = append(constants, Constant{name, value, unit, source})
	return value
}

// Constants returns every number of the model that is not a figure of a chip, the fitted ones last.
func Constants() []Constant {
	fit := Fitted()
	const source = "fitted to the published saxpy times of an M1"
	return append(constants[:len(constants):len(constants)],
		Constant{"share of the memory bandwidth that a streaming kernel reaches", fit.GPUShare, "", source},
		Constant{"what a GPU loses at most while its clock rises", fit.Rise * 1e6, "µs", source},
		Constant{"share of the memory bandwidth that processor cores reach", fit.CPUShare, "", source},
		Constant{"fixed cost of a vDSP call", fit.Call * 1e6, "µs", source + ", whose shortest call takes 0.8 ms"},
	)
}

const (
	given = "given with the cost formula"
	logs  = "ShoYamanishi/AppleNumericalComputing, logs of an M1 mini"
)

// Costs of a call to the GPU.
var (
	m1Least    = constant("a command buffer's round trip on an M1, at least", 116, "µs", logs)
	m1Most     = constant("the same, at most", 150, "µs", logs)
	laterLeast = constant("the same on other chips, at least", 60, "µs", "assumed: no trustworthy figure was found, so this is a band of uncertainty")
	laterMost  = constant("the same on other chips, at most", 200, "µs", "assumed, likewise")
	dispatch   = constant("a further kernel in the same command buffer", 1.6, "µs", "geometric mean of 0.5 and 5.2, from issue reports on open-source Metal engines")
	graph      = constant("what MPSGraph adds to a call", 20, "µs", "assumed: it hands over a graph and not a kernel")
)

// Speeds of the GPU.
var (
	threadsPerCore = constant("threads that a GPU core needs to be busy", 768, "", given)
	transformShare = constant("share of the memory bandwidth that Fourier transforms reach", 0.55, "", given)
	gemmShare      = constant("share of the GPU's peak that Apple's matrix product reaches", 0.77, "", given)
	kernelShare    = constant("share of the GPU's peak that other kernels reach", 0.4, "", "assumed: half of Apple's own best")
	idleClock      = constant("GPU clock of an idle or lightly loaded GPU over that of a busy one", 0.32, "", "an M1 Max held at 396–420 MHz under light load, 1291 MHz when busy")
)

// Speeds of the processor.
var (
	clock       = constant("clock of a performance core", 3.2, "GHz", "assumed for all chips: an M1's")
	perCycle    = constant("operations a cycle of a performance core, vectors", 32, "", "assumed: four units of four lanes, multiply and add")
	vectorShare = constant("share of that which vDSP and vForce reach", 0.5, "", "assumed")
	goPerCycle  = constant("operations a cycle of Go", 2, "", "assumed: a multiply-add a cycle; the NEON code, whose speed nobody has measured, may be faster")
	chainCycles = constant("cycles of a recurrence's step, which must wait for the one before", 8, "", "assumed: two dependent operations of four cycles")
	gemmCore    = constant("matrix product of Accelerate, a performance core", 2626.0/8, "GFLOPS", "2626 GFLOPS of an M1 Max at n = 896, divided by its cores; the same on all chips is assumed")
	cacheSpeed  = constant("bandwidth of one core's call inside the caches", 245, "GB/s", "vDSP saxpy of 6 MB on an M1; the same on all chips is assumed")
	cacheCore   = constant("cache a performance core", 3, "MiB", "assumed: an M1 tells 12 MiB for four cores")
	oneCore     = constant("memory bandwidth that one core can draw", 100, "GB/s", "assumed: fast chips have more than one core can use")
	eachCore    = constant("memory bandwidth a core when all of them draw", 30, "GB/s", "assumed, likewise")
	callCPU     = constant("call of a function in a library", 0.2, "µs", "assumed: the saxpy times are too long to tell")
	wake        = constant("waking the goroutines of a parallel call", 5, "µs", "assumed")
)
