package thresholds

import (
	"slices"

	"crossover/timings"
)

// GPUUse says where the time of a call goes that a GPU computes, at one size. Its times are medians over the blocks, in
// seconds.
type GPUUse struct {
	Size   int
	Wall   float64 // of a call, as the sweep timed it
	GPU    float64 // while the device computed; if it does not tell, from its first command to the end of its last
	Encode float64 // while the host handed the work over
	Gap    float64 // between two kernels, in the mean; 0 if there is no gap or none is told

	// Efficiency is the launch efficiency: GPU ÷ Wall, paired inside blocks. It exceeds 1 where calls in flight overlap on
	// the device. It may exceed 1 a little because a call that the device times takes longer.
	Efficiency float64
}

// GPUUseAt returns where the time of implementation i goes at a size. It reports false if no GPU told.
func GPUUseAt(set *timings.Set, i, size int) (GPUUse, bool) {
	var wall, onGPU, encode, gap, efficiency []float64
	for _, b := range set.At(size) {
		account, told := b.TimesOnGPU(i)
		if !told || !usable(&b, i) {
			continue
		}
		busy := account.Busy
		if busy == 0 {
			busy = account.Span
		}
		wall, onGPU = append(wall, b.Seconds[i]), append(onGPU, busy)
		encode, gap = append(encode, account.Encode), append(gap, account.Gap)
		efficiency = append(efficiency, busy/b.Seconds[i])
	}
	if len(wall) == 0 {
		return GPUUse{}, false
	}
	return GPUUse{
		Size: size, Wall: median(wall), GPU: median(onGPU), Encode: median(encode), Gap: median(gap),
		Efficiency: median(efficiency),
	}, true
}

// GPUUses returns where the time of implementation i goes at the least and at the greatest size at which a GPU told. The
// least size shows what a launch costs, and the greatest one what it is worth.
func GPUUses(set *timings.Set, i int) []GPUUse {
	var ends []GPUUse
	sizes := set.Sizes()
	for _, size := range sizes {
		if use, told := GPUUseAt(set, i, size); told {
			ends = append(ends, use)
			break
		}
	}
	for _, size := range slices.Backward(sizes) {
		if len(ends) == 0 || size <= ends[0].Size {
			break
		}
		if use, told := GPUUseAt(set, i, size); told {
			return append(ends, use)
		}
	}
	return ends
}
