package model

import "math/rand/v2"

// Luck is luck that was seen somewhere, in place of a formula's: logarithms of factors, of which each is as likely. The
// first implementation of a scenario has none of Visits and Runs, because what was seen is of the ratio of two.
type Luck struct {
	// Visits is the luck of a visit to a size. An implementation and its twin share it.
	Visits []float64
	// Twins is by how much the twin is off its implementation, in every call of a visit.
	Twins []float64
	// Runs is the luck of a whole run.
	Runs []float64
}

// one draws one of the values, 0 where there is none.
func one(values []float64, rng *rand.Rand) float64 {
	if len(values) == 0 {
		return 0
	}
	return values[rng.IntN(len(values))]
}

// Replay returns the scenario with the luck of one of Noise.Lucks, the n-th in a round, instead of Visit, Run and Luck.
// Without Lucks it is the scenario itself.
func (s *Scenario) Replay(n int) *Scenario {
	lucks := s.Noise.Lucks
	if len(lucks) == 0 {
		return s
	}
	other := *s
	other.Noise.Visit, other.Noise.Run, other.Noise.Luck, other.Noise.Lucks = 0, 0, lucks[n%len(lucks)], nil
	return &other
}
