// Package crossover is the statistics of Crossover: samples in, segments, intervals and warnings out.
//
// It reads no clock and no file.
package crossover
