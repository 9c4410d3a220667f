package kernels

import "crossover/dispatch"

// The operations below keep the old contract and have no declaration that tells their names. This file goes away with it.
func init() {
	for _, operation := range []string{"biquad", "oscillator-bank"} {
		dispatch.Declare(operation)
	}
}
