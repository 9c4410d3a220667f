// Package sweeps measures: it times every implementation of a case across sizes and returns the raw blocks.
//
// The package does not fit anything and does not choose a threshold. A [Planner], which package harness passes in, decides
// which size comes next. This package makes each time trustworthy. Every rule below avoids a failure of a real project:
//
//   - implementations are timed one after the other inside a block, in seeded random order, so that slow drift cancels;
//   - one of them is timed twice (the A/A twin), so that the noise of a comparison is measured, too;
//   - an output is compared with the float64 reference before any of its times count;
//   - an implementation on several cores that computes a call on one, as its counterpart does, is not timed beside it, because
//     times of one program differ by luck alone; calls that are not timed find the size from which on it divides them;
//   - untimed calls come before every batch, until caches hold the batch's data and the threads of a parallel implementation
//     are awake, each on a processor of its own;
//   - a GPU whose clock falls while processors are timed is kept busy until its clock is up again, for a bounded share of
//     the budget; blocks that share a waking time their GPU batches one after the other;
//   - the batches of a block last equally long, unless a single call takes over a millisecond, so that effects of the length
//     do not look like speed;
//   - a batch lasts at least 1000 times the clock's resolution, and a time in which memory could not have moved the data is
//     an error;
//   - a sentinel of fixed work runs every few blocks; when a reading is off its baseline, the blocks since the last good
//     reading are thrown away and the sweep waits, a bounded number of times; after that, blocks are marked as disturbed,
//     and a case with too few others is degraded;
//   - a clock that settles at another speed begins an epoch with a baseline of its own, because pairing cancels the change;
//   - so do processors that begin to share cores, or cease to, for seconds, because a program meets both states; if other
//     programs computed in a worse epoch, its blocks are measured again;
//   - a batch is timed again, on another core or a little later, if another guest used the other thread of its core; if that
//     does not help, other blocks of the size replace the block, or the case is degraded; but if a machine of few processors
//     mostly shares its cores with others, that is the machine that is measured;
//   - the garbage collector is off, and a block during which it ran nevertheless is thrown away;
//   - all calls and the sentinel run on goroutines that are locked to no thread, as in a program, and so on the same
//     processor.
//
// If the machine is in another state during the whole sweep, no reading is off its baseline. So [Observed] returns what the
// sentinel measured.
//
// A call ends when the caller can read the output. For each GPU implementation, a block also has the device's own times of
// one more call, which does not count. If a GPU reports a failure, the whole batch is void. If a GPU fails silently, its
// times are shorter than moving its data takes, and are refused. When a GPU is lost, its implementations are no longer timed
// in any case, and the sweep continues without them.
//
// [Mode] and [State] say which calls are timed. A time of one mode and state says nothing about another.
package sweeps
