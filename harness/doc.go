// Package harness joins the stages: given cases on a given machine in, timings, fits and the entry of the calibration file
// out; and an entry of the file held against the machine.
//
// It has no flags, prints nothing and knows no calibration file: whoever starts a run says what the machine is and decides
// what becomes of the result. The commands calibrate and verify go through it, and so does the proof on modelled machines,
// so that what is proven is what they do.
//
// The steps of a calibration are
//
//  1. [NewRun]: the entry as far as it is known before time is spent;
//  2. [Run.Measure]: package sweeps measures what a planner of package thresholds asks for, and the run is saved on the way;
//  3. [Run.Fit]: package thresholds fits the timings, and the fits are put into the entry.
//
// A saved run comes back by [Load], and Fit gives the same entry again. The steps of a verification are
//
//  1. [NewVerification]: the recorded cases paired with those of this program;
//  2. [Verification.Measure]: a sweep at fresh sizes, which an auditor of package thresholds asks for;
//  3. the [Check] of each case, judged, with what the state of the machine excuses.
package harness
