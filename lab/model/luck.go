package model

import "math/rand/v2"

// Luck holds measured luck, in place of a formula: logarithms of factors. Each value of a list is equally likely. The first
// implementation of a scenario gets none of Visits and Runs, because the measured values are about ratios of two
// implementations.
type Luck struct {
	// Visits are the luck of visits to a size. An implementation and its twin share it.
	Visits []float64
	// Twins are the differences between a twin and its implementation. One applies to every call of a visit.
	Twins []float64
	// Runs are the luck of whole runs.
	Runs []float64
}

// one draws one of the values, or returns 0 if there is none.
func one(values []float64, rng *rand.Rand) float64 {
	if len(values) == 0 {
		return 0
	}
	return values[rng.IntN(len(values))]
}

// Replay returns the scenario with one of Noise.Lucks instead of Visit, Run and Luck. n counts through the Lucks and starts
// over after the last. Without Lucks, Replay returns the scenario itself.
func (s *Scenario) Replay(n int) *Scenario {
	lucks := s.Noise.Lucks
	if len(lucks) == 0 {
		return s
	}
	other := *s
	other.Noise.Visit, other.Noise.Run, other.Noise.Luck, other.Noise.Lucks = 0, 0, lucks[n%len(lucks)], nil
	return &other
}
