// Package profiles says where the time of repeated calls went: by stage and by list of kernels, against what the machine could do
// at most, and against an earlier profile.
//
// The package has no clock, measures nothing and draws nothing. Package songs records the spans of calls, and a command measures
// the roofs. The usual steps are
//
//  1. add the spans of each call to a [Builder], which makes a [Profile] of them;
//  2. set the profile's Roofs, and read [Profile.Stages], [Profile.Bottlenecks] and their sentences;
//  3. write the profile to a file, and on another day compare two of them by [Compare].
//
// The roofline model is that of Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore
// architectures", Communications of the ACM 52 (2009). The intervals are percentile intervals of a block bootstrap: Künsch, "The
// jackknife and the bootstrap for general stationary observations", Annals of Statistics 17 (1989).
package profiles
