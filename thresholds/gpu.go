package thresholds

import (
	"slices"

	"crossover/timings"
)

// GPUUse says how the time of a call on a GPU is spent at one size. The times are medians over blocks, in seconds.
type GPUUse struct {
	Size   int
	Wall   float64 // time of a call in the sweep
	GPU    float64 // time in which the device computed, or from its first command to the end of its last if only that is known
	Encode float64 // time in which the host handed the work over
	Gap    float64 // mean time between two kernels; 0 if there is none or it is not known

	// Efficiency is the launch efficiency: GPU ÷ Wall, paired inside blocks. It exceeds 1 if calls in flight overlap on the
	// device. It may also exceed 1 a little because a call takes longer if the device times it.
	Efficiency float64
}

// gpuUseAt returns how the time of implementation i is spent at a size. It reports false if no GPU measured its times.
func gpuUseAt(set *timings.Set, i, size int) (GPUUse, bool) {
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

// GPUUses returns how the time of implementation i is spent at the least and at the greatest size at which a GPU measured
// its times. The least size shows the cost of a launch, and the greatest one its share of a long call.
func GPUUses(set *timings.Set, i int) []GPUUse {
	var ends []GPUUse
	sizes := set.Sizes()
	for _, size := range sizes {
		if use, told := gpuUseAt(set, i, size); told {
			ends = append(ends, use)
			break
		}
	}
	for _, size := range slices.Backward(sizes) {
		if len(ends) == 0 || size <= ends[0].Size {
			break
		}
		if use, told := gpuUseAt(set, i, size); told {
			return append(ends, use)
		}
	}
	return ends
}
