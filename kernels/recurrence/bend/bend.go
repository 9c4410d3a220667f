// Package bend has the constants of the Moog ladder's hyperbolic tangent, for package recurrence and for the command that
// writes its vector code.
package bend

// Stages is the number of one-pole stages of a ladder, each with a tangent.
const Stages = 4

// Most is the magnitude from which on the tangent is 1 in float32.
const Most = 9

// The tangent is x·P(x²)/Q(x²). The coefficients of P and Q, the lowest first, are a minimax fit of ours up to a magnitude of
// Most. The lowest of Q is 1.
const (
	P0 = 0.9999999795802672
	P1 = 0.13381011788576885
	P2 = 0.0034955716789554355
	P3 = 2.0608817364415785e-05
	P4 = 1.3354310827973458e-08

	Q1 = 0.46714327418344787
	Q2 = 0.025876919511688662
	Q3 = 0.0003285608116377893
	Q4 = 7.776411064547198e-07
)
