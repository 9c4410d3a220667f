// Package sweeps measures: it times every implementation of a case across sizes and returns the raw blocks.
//
// It does not fit anything and does not choose a threshold. Which size comes next is a [Planner]'s decision, joined to
// it by the command; everything here is about making one time trustworthy. The rules, each for a failure seen in a
// real project:
//
//   - implementations are timed one after the other inside a block, in seeded random order, so that slow drift cancels;
//   - one of them is timed twice (the A/A twin), so that the noise of a comparison is itself measured;
//   - an output is held against the float64 reference before any of its times count;
//   - calls that nobody times come before every batch, until caches hold the batch's data and the threads of a parallel
//     implementation are awake, each on a processor of its own;
//   - a GPU whose clock falls while processors are timed is kept busy until it is up again, for a bounded share of the
//     budget; blocks that share a waking take their turns on the GPU one after the other;
//   - a batch lasts at least 1000 times the clock's resolution, and a time that the memory could not have carried is an
//     error;
//   - a sentinel kernel of fixed work runs every few blocks; when it is off its baseline the blocks since its last good
//     reading are thrown away and the sweep waits, a bounded number of times; then the case is marked degraded; a machine
//     that is another one from start to end shows in no reading, so what the sentinel saw is told, see [Observed];
//   - a batch beside somebody who uses the other thread of the same core is timed again, on another core or a little
//     later; blocks for which that does not help give way to others of their size, or degrade the case;
//   - the garbage collector is off, and a block during which it ran anyway is thrown away;
//   - the sentinel, and calls that wake no other goroutine, run on a goroutine that is locked to its thread; calls that may
//     wake others, which are the parallel ones and those of a GPU, are made by one that is not locked, as in a program.
//
// A call ends when the caller can read the output, whatever computed it. Of a call that a GPU computes, a block also says
// where its time went: one more call, timed by the device, beside the ones that count. A GPU that fails says so when it
// is waited for, and then the whole batch is void; one that fails in silence is caught by the time that moving its data
// takes at least. When it is lost, its implementations are not timed any more, in any case, and the sweep goes on
// without them.
//
// [Mode] and [State] say what a time is the time of; a time of one mode and state says nothing about another.
package sweeps
