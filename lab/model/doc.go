// Package model is a machine whose truth is known: implementations with closed-form costs, and the noise of real
// machines, in virtual time. The real harness runs on it, thousands of times, to see how often its intervals hold the
// truth, how often it claims what is not there, and what its choices cost.
//
// It imitates, it does not predict: costs and noise are chosen to be as awkward as the machines that we have seen, not to
// be any of them. Nothing that was measured on it is ever written beside measurements. The usual steps are
//
//  1. take a [Scenario], or make one;
//  2. [New] a machine with a seed;
//  3. run package sweeps on Machine.Case, with the machine as its clock and Machine.Sentinel as its sentinel;
//  4. hold what comes out against Scenario.Truth and Scenario.Best.
package model
