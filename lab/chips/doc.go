// Package chips is a model of Apple chips, for machines without one: published figures, a cost formula, and the
// catalogue's cases on a machine in virtual time.
//
// The package predicts what a calibration would show and measures nothing. Published figures stand in chips.json with
// their sources. A figure that was not published is null there, and such a chip is refused. All other numbers of the
// model are in one table, Constants, each with its source or marked as assumed. Two numbers of the GPU and two of the
// processor are fitted, to published saxpy times alone. docs/simulated-chips.md is the model in prose, with the tables
// of this package. The usual steps are
//
//  1. Find a chip by its name;
//  2. NewMachine with a seed;
//  3. run package sweeps on Machine.Cases, with the machine as its clock and Machine.Sentinel as its sentinel;
//  4. mark what comes out as simulated.
package chips

//go:generate go run ./page ../../docs/simulated-chips.md
