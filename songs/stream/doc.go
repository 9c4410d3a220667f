// Package stream plays pipelines in real time, block by block, as an audio callback does, and measures every block against its
// deadline.
//
// A [Source] is what is played: a graph and the inputs of its blocks. [Run] plays any number of streams of it. One goroutine
// computes the blocks of all streams. It is locked to its thread, sleeps until a block's time, and allocates nothing. If a Guard
// watches and a block is on a GPU, a helper calls the GPU, and the goroutine waits for the helper only as long as the processor can
// still compute the block. A block that is done after the next one's time is an underrun. A block whose deadline is over before it
// begins is an underrun that is not computed. In either case the next block keeps its own time.
//
// Several routes take turns, block by block, in an order that is shuffled for each round. The state of the filters goes on from
// route to route, so the turns are not heard. All routes see the same machine, and their times can be compared.
//
// A [Guard] watches the machine from outside of the audio goroutine. While the machine is too hot, short of memory, or its GPU is
// busy or lost, streams leave the GPU, and they go back when that is over. A [Fault] makes one of these things happen, and the report
// says what became of it.
//
// The package opens no sound card, sets no real-time priority, prints nothing and reads no files. The usual steps are
//
//  1. take a Source: [Synthesiser] or [Effects];
//  2. take routes: [Routes], or those of [Tune], which tries the implementations in the stream itself;
//  3. call Run, and read the [Report].
package stream
