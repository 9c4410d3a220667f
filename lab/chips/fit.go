package chips

import (
	"sync"

	"gonum.org/v1/gonum/stat"
)

// Fit holds the free numbers of the model, all at least 0.
type Fit struct {
	GPUShare float64 // of the memory bandwidth, for a streaming kernel
	Rise     float64 // the most seconds that a GPU loses while its clock rises
	CPUShare float64 // of the memory bandwidth, for processor cores
	Call     float64 // fixed seconds of a call on the processor
	Rows     []FitRow
}

// FitRow is one published size, with its times in seconds: published, and by the model.
type FitRow struct {
	Elements                           int
	Metal, MetalModel, VDSP, VDSPModel float64
}

// saxpyBytes returns the bytes that y = a·x + y moves: x and y are read, and y is written.
func saxpyBytes(elements int) float64 { return 12 * float64(elements) }

// Fitted returns the fit to the published saxpy times. It uses no other published times.
//
// At all sizes the data are larger than the caches, and the calls are bound by memory. So each processor's time is a fixed
// cost plus a cost per byte. The GPU's round trip is known from a kernel that does nothing. The fixed cost beyond the round
// trip is the rise of the clock.
var Fitted = sync.OnceValue(func() Fit {
	chip, err := Find(figures.Saxpy.Chip)
	if err != nil {
		panic("chips: the chip of the saxpy times: " + err.Error())
	}
	roundTrip := chip.Latency().Middle()
	var bytes, metal, vdsp []float64
	for _, row := range figures.Saxpy.Rows {
		bytes = append(bytes, saxpyBytes(row.Elements))
		metal = append(metal, row.MetalMS*1e-3)
		vdsp = append(vdsp, row.VDSPMS*1e-3)
	}
	var f Fit
	above, perByte := leastSquares(bytes, metal, roundTrip)
	f.Rise, f.GPUShare = above, 1/(perByte*chip.bandwidth())
	f.Call, perByte = leastSquares(bytes, vdsp, 0)
	f.CPUShare = 1 / (perByte * chip.bandwidth())
	for i, row := range figures.Saxpy.Rows {
		w := work{bytes: bytes[i], threads: float64(row.Elements), launches: 1}
		f.Rows = append(f.Rows, FitRow{
			Elements: row.Elements, Metal: metal[i], VDSP: vdsp[i],
			MetalModel: chip.callGPU(w, shares{f.GPUShare, kernelShare}, roundTrip, f.Rise),
			VDSPModel:  f.Call + bytes[i]/(f.CPUShare*chip.bandwidth()),
		})
	}
	return f
})

// leastSquares returns a and b, at least 0, with which known + a + b·x is nearest to y. The sum of the squared relative
// errors is least.
func leastSquares(x, y []float64, known float64) (a, b float64) {
	weights, rest := make([]float64, len(y)), make([]float64, len(y))
	for i, v := range y {
		weights[i], rest[i] = 1/(v*v), v-known
	}
	if a, b = stat.LinearRegression(x, rest, weights, false); a >= 0 {
		return a, b
	}
	// At a = 0, b is positive because all x and y are.
	return stat.LinearRegression(x, rest, weights, true)
}
