// Outside is a program of another module that computes by Crossover's typed plans. It measures what the choices in
// calibration.json cost such a program, at shapes that programs really use.
//
// Usage: cd lab/outside && go run . --calibration ../../calibration.json; --help lists the flags. The exit code is 0 if
// every shape was measured, whatever the choices cost, and 1 if one could not be measured or the program could not run. It is 2
// for a wrong command line, 4 if the file has at most a near match for this host, and 6 if no choice could be judged, as with
// --placement shared on a machine without a GPU.
//
// The program has nothing in common with the measurement of calibrate and verify: it draws its own shapes, times its own
// calls, and judges by its own rules. It imports the packages that a program imports, makes a plan with [dispatch.Load] and
// asks it what it chose. To time an implementation, it makes a plan with [dispatch.Always]. It does not compare outputs with
// a reference. Its data are ordinary slices, or with --placement shared all are from Alloc. It tries no data that stay on a GPU
// from call to call, because only pipelines have such data.
//
// # Shapes
//
// The distribution of the shapes is data: see the variables beside the table of operations. A value of an axis is drawn from
// one of several parts, each of which is equally likely: lists of usual values, and ranges that are covered in equal
// factors. A shape that is too large is drawn again.
//
//   - fft, ifft, fft-complex: lengths that audio programs have (441, 480, 1920 …), powers of two from 64 to 1 Mi, numbers without a
//     prime factor above 7, primes and any numbers to 128 Ki; one row, usual batches, or 1 to 1024 rows.
//   - stft: n_fft of 256 to 4096, hops of a half, a quarter and an eighth of it, of 160 and of 441 samples; signals of 0.2 s to
//     5 min at four usual rates.
//   - mel: 40 to 128 bands of spectra of 256 to 4096 samples, 1 to 16 Ki frames.
//   - matmul: m of 1 to 2048, k and n of 16 to 4096, all three different.
//   - linear: layers of 64 to 3072 features, 1 to 1024 rows.
//   - lora, lora-linear: adapters of rank 4 to 64 at 64 to 2048 features, 1 to 4096 rows.
//   - conv1d: signals of 512 samples to 1 Mi, filters of 8 to 32 Ki taps, none longer than the signal.
//   - attention: 1 to 64 heads of width 16 to 256, 1 to 2048 queries of as many keys or more.
//   - convolution-stream: blocks of 64 to 4096 samples, filters of 1 Ki to 64 Ki taps.
//   - resample: usual ratios and those of small numbers; signals of 256 samples to 1 Mi.
//   - softmax, rms-norm, layer-norm: rows of 32 to 128 Ki columns, 1 to 8192 of them.
//   - group-norm: 1 to 32 inputs of 32 to 1280 channels, of 16 to 64 Ki values each.
//   - biquad: blocks and whole signals of 64 samples to 1 Mi, on 1 to 64 channels.
//   - biquad-cascade: the same, by 1 to 16 sections.
//   - oscillator-bank: 1 to 256 voices, blocks of 64 to 4096 samples or up to a second.
//   - phase-sum: blocks of 64 samples to 4 Mi.
//   - stage-graph: 1 to 128 nodes, blocks of 32 to 2048 samples, nodes of 1 to 32 passes. The plan does not know the passes.
//   - sum and functions of single values, such as scale and log: 1 Ki to 16 Mi elements.
//
// # Times
//
// Each shape is visited three times, over the whole run: first visits come first, then all shapes are visited again, and then
// once more. A machine may be slower for some seconds, for example while another guest uses its cores. Such a time is one visit
// of three then.
//
// In a visit each implementation has a plan of its own on the same data. After a warm-up, blocks follow: in each, all plans are
// timed in random order. A time is the mean of as many calls as take 200 µs, and follows as many calls that are not timed. A visit
// has at least three blocks, and more where the two best implementations are within 30 % at the first visit. An implementation
// that is eight times behind after two blocks is left out from then on, unless the dispatcher chose it. An implementation on several
// cores that computes a shape on one, as its counterpart on one core does, is not timed beside it: both are the same program, and
// luck alone would make one of them the best. If an implementation refuses a shape, its plan computes the call by another one, as
// the dispatcher's own plan then does too.
//
// # Judgement
//
// Regret is the time of the chosen implementation divided by that of the best one, minus 1. Both times are medians over the
// blocks of all visits. Luck makes a best one, so this figure is never below 0 and too great on average. The unbiased figure takes
// the best implementation of two visits and compares times of the third, in all three ways. The oracle is the implementation that
// was best in one visit, judged in the other two against the one that is best there. A calibration can hardly choose better than
// that, because it measured such a shape once, some minutes before.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Exit codes, which are those of Crossover's commands.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNoEntry     = 4
	exitTooLittle   = 6
	exitInterrupted = 130
)

// coded is an error with the exit code of the program.
type coded struct {
	code int
	error
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "outside: %s\n", strings.Join(strings.Fields(err.Error()), " "))
	code := exitFailed
	var c coded
	if errors.As(err, &c) {
		code = c.code
	}
	os.Exit(code)
}
