// Package thresholds is the statistics of Crossover: samples in, segments, intervals and warnings out.
//
// It reads no clock and no file, and the same samples and seed give the same result. It does not know what was measured: an
// implementation is an index.
//
// The steps of [Fit] are
//
//  1. [Summarise]: at each size the median over blocks of each implementation's log-ratio to its block's fastest;
//  2. the tie band: how far the estimate of an A/A twin strays from zero;
//  3. segments: the choice of implementations that minimises the summed log-loss plus a price for every switch, by a
//     dynamic program over sizes × implementations; for two implementations and one switch this is akin to the rule of
//     GMP's tuneup, https://gmplib.org/devel/thres;
//  4. edges: the zero of the log-ratio of the two sides, interpolated in log-size inside its bracket;
//  5. intervals: a bootstrap of steps 1, 3 and 4 over the blocks of each visit and over the luck that visits have.
//
// [GPUUses] returns medians of the GPU's accounts of its calls. No choice depends on them.
//
// A [Planner] takes the same steps during a sweep and picks the visit that teaches the most. An [Auditor] plans the
// verification of a calibration, at the fresh sizes that [Fresh] draws, and judges it.
package thresholds
