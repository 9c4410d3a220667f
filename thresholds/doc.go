// Package thresholds has the statistics of Crossover: samples in, segments, intervals and warnings out.
//
// The package reads no clock and no file. The same samples and seed give the same result. It does not know what was
// measured: an implementation is an index.
//
// The steps of [Fit] are
//
//  1. [Summarise]: at each size, the median over blocks of each implementation's log-ratio to its block's fastest, for
//     each run; runs are interpolated at the sizes of all runs and count by how well they know them;
//  2. the tie band: how much A/A twins, and visits to the same size, differ from one another; means of several runs have a
//     narrower one;
//  3. segments: the implementations that minimise the log-loss over log-size plus a price for every switch, by a dynamic
//     program over sizes × implementations; for two implementations and one switch this is similar to the rule of GMP's
//     tuneup, https://gmplib.org/devel/thres;
//  4. doubts: a switch that too few resamples have is given up;
//  5. edges: where the times of the two sides cross, interpolated inside the bracket;
//  6. intervals of the next run's edges: a bootstrap of steps 1, 3 and 5 over the blocks of each visit, the luck of
//     visits, and the differences between runs;
//  7. regret: what choices cost on runs or visits that had no part in them.
//
// [GPUUses] returns medians of the times that GPUs measured in their calls. No choice depends on them.
//
// A [Planner] takes the same steps during a sweep and picks the visit that teaches the most. Earlier runs guide its first
// visits. An [Auditor] plans the verification of a calibration, at the fresh sizes that [Fresh] draws, and judges the result.
package thresholds
