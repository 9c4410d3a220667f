// Package recurrence filters channels of float32 audio by recurrences: filters in which each sample waits for the one before
// it.
//
// There are four operations: a comb filter, an envelope follower, a compressor and a Moog ladder. All take rows of samples,
// one row a channel, and keep a state for each channel from call to call, so a signal in blocks gives the same output as in
// one piece. Coefficients are constant during a call. Parameters do not change from channel to channel.
//
// A processor core computes channels two at a time, because one channel alone mostly waits for its last sample. By AVX2 or
// NEON it computes up to 24 channels of a ladder, an envelope or a compressor at a time, and eight samples of a comb, with the
// same bits. While one channel of a compressor waits, it computes the levels and gains of other samples. Several cores divide
// the channels. A GPU has one thread for each channel; only the comb filter has more. So one long channel is fastest on one
// processor core, and many channels may be fastest on a GPU.
//
// State is float64, as a slow envelope moves by less than a float32 can hold. A GPU computes with the sum of two float32 in
// its place. The state of a comb is the samples in its delay line. Values of a state whose magnitude is below 1e-30 (−600 dB)
// become zero at the end of a call, and on a processor after every 256 samples, because many processors compute far more
// slowly with the denormal numbers in which a decay ends.
//
// A NaN in a channel reaches all later outputs of that channel, until Reset, and so does an infinity, except in the ladder.
// In the comb both reach the outputs that are a multiple of the delay later. Other channels are not affected.
//
// The usual steps are a constructor such as [NewEnvelope], once, and Process for each block. The file of each
// operation has its formula and source.
package recurrence
