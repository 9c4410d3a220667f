// Package model is a machine with known thresholds: implementations with closed-form costs, and the noise of real
// machines, in virtual time. The real harness runs on it, thousands of times. The runs show how often an interval holds
// the true threshold, how often a crossover is claimed that is not there, and what the choices cost.
//
// The package does not predict the times of any real machine: its costs and noise are chosen to be as awkward as those
// of the machines that we have seen. Results on a model are never written beside measurements. The usual steps are
//
//  1. take a [Scenario], or make one;
//  2. [New] a machine with a seed;
//  3. run package sweeps on Machine.Case, with the machine as its clock and Machine.Sentinel as its sentinel;
//  4. compare the result with Scenario.Truth and Scenario.Best.
package model
