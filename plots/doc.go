// Package plots draws what a calibration found: one chart a case, an overview of a host, and a map of each
// operation.
//
// It does not measure and does not fit: it shows the medians and losses of thresholds.Summarise and the segments of the
// calibration as they are, and what its surfaces predict. Charts are PNG images; equal inputs give equal bytes.
//
// The usual step is one call, which writes every chart of a host into a folder:
//
//	paths, err := plots.Write(ctx, "plots/apple-m3-max-40", host, runs)
//
// A case chart has two panels over the sizes: the time per call of each implementation, and its slowdown against the
// best one, on which people base decisions. Lines are medians of all runs; dots are what single runs say. A strip on top
// shows which implementation the calibration chooses where, and what the choice is worth against the next best one at some
// measured sizes. GPU implementations are underlined in the strip. Dark lines are thresholds, and the bars across them their
// 95 % intervals. Below the panels a key explains the marks that a chart has.
//
// A map shows an operation over all its shapes: in colour the implementation that its surface predicts to be fastest,
// paler where the next one is close behind, hatched where nothing was measured near. Dots are shapes that were fitted,
// rings those that were held out, red where the choice loses more than 5 %. The distribution of that regret stands beneath.
// An axis whose prime factors matter is no continuous direction: it has a panel for each class of lengths, or panels of
// usual lengths.
//
// Each implementation has one colour in every chart, from the set of Okabe and Ito, which colour-blind readers can tell
// apart (https://jfly.uni-koeln.de/color/), and a marker and a dash besides. Its variants have its hue and its marker. An
// algorithm has the same dash and lightness in every implementation.
package plots
