// Package songs computes pipelines of the catalogue's operations, such as the analysis of a recording.
//
// A [Graph] declares a pipeline as plain data: its inputs, its stages, each an operation with parameters, and its outputs. A
// [Pipeline] computes it, and keeps the memory of all tensors between calls. The package declares five graphs that programs
// may use as they are or as patterns: [AnalysisGraph], [SeparatorGraph], [SynthesiserGraph], [EffectsGraph] and [DecoderGraph]. What the
// calls of a graph have around them, such as the overlap of segments, is in [Analysis], [Separator], [Synthesiser] and
// [Decoder].
//
// While a [dispatch.Watch] watches, stages on the processor are timed now and then, also those of a route that was measured or
// predicted to be fastest. A duel may swap the implementation of such a stage: see [dispatch.Stage]. Lists of kernels on a GPU are
// not timed, and neither are stages for which the program names an implementation by Follow or FollowPlan.
//
// The package declares no operation and reads no files. The usual steps are
//
//  1. declare a Graph, or take one of the five;
//  2. make its Pipeline by [New], with a dispatcher;
//  3. call Run with the inputs, and read the outputs by Floats, Complex or Uint32s.
package songs
