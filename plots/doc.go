// Package plots draws what a calibration found: one chart for each line of shapes, an overview of a host in pages, and a map
// of each operation.
//
// The package does not measure and does not fit. It draws the medians and losses of thresholds.Summarise, the segments of
// the calibration, and the predictions of its surfaces. Charts are PNG images. Equal inputs give equal bytes.
//
// The usual step is one call, which writes every chart of a host into a folder:
//
//	paths, err := plots.Write(ctx, "plots/apple-m3-max-40", host, runs, catalogue.GroupOf)
//
// A case chart has two panels over the sizes. The upper one shows the time per call of each implementation. The lower one
// shows its slowdown against the best one, on which people base decisions. Lines are medians of all runs, and dots are
// blocks or medians of single runs. A strip on top shows which implementation the calibration chooses where. It also says,
// at some measured sizes, how many times as long the next best one takes. GPU implementations are underlined in
// the strip. Dark lines are thresholds, and the bars across them are their 95 % intervals. A key below the panels explains
// the marks of the chart.
//
// Cases that differ only in the placement of the data share a chart. Its panels are about ordinary slices. Below them each
// other placement has a strip of its own, with its choices in words and its thresholds, intervals and doubts. The times of
// these placements are in the samples alone.
//
// A map shows an operation over all its shapes. Colours are those of the implementations that the surface predicts to be
// fastest. They are paler where the next one is nearly as fast, and white lines cross them where nothing was measured near.
// The map is hatched where nothing is predicted. Dots are shapes that were fitted. Rings are shapes that were held out; they
// are red if the choice loses more than 5 %. The distribution of that regret is below the panels. Calls with shared data have
// further panels with the same axes, or a line that says that every choice is the same. An axis whose prime factors matter is not drawn as a continuous direction. Instead the
// map has a panel for each class of lengths, or panels of usual lengths.
//
// A host has a chart or more for each operation, so the files are small: 867 pixels wide, with the colours that are drawn with
// and few blends of them.
//
// Each implementation has one colour in every chart, from the set of Okabe and Ito, which colour-blind readers can tell
// apart (https://jfly.uni-koeln.de/color/), and a marker and a dash. Its variants have its hue and its marker. An algorithm
// has the same dash and lightness in every implementation.
package plots
