// Package harness joins the stages. It calibrates given cases on a given machine, and returns the timings, the fits and the
// entry of the calibration file. It also verifies such an entry on a machine.
//
// The package has no flags, prints nothing and knows no calibration file: its caller describes the machine and keeps the
// result. The commands calibrate and verify use it, and so does the proof on modelled machines. So the proof tests what the
// commands do.
//
// The steps of a calibration are
//
//  1. NewRun makes the entry, with everything that is known before the measurement;
//  2. [Run.Measure]: package sweeps measures what a planner of package thresholds asks for, and the run is saved on the way;
//  3. [Run.Fit]: package thresholds fits the timings, and the fits are put into the entry.
//
// [Load] reads a saved run, and Fit gives the same entry again. The steps of a verification are
//
//  1. [NewVerification] joins the recorded cases with those of this program;
//  2. [Verification.AddShapes] joins the recorded operations with their spaces in this program;
//  3. [Verification.Measure] sweeps at fresh sizes, for which an auditor of package thresholds asks, and at fresh shapes, for
//     which an auditor of package surfaces asks;
//  4. the Check of each case and the ShapesCheck of each operation have the finding, and say whether the state of the machine
//     excuses it.
package harness
