package command

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"crossover/sweeps"
)

// Progress returns a function that a sweep calls between blocks, and a function that clears the line at the end. On a
// terminal it draws a bar on stderr. With verbose it writes a line for each visit instead. Otherwise it does nothing.
// The caller draws the bar and no goroutine does, so nothing is drawn inside a timed block.
func Progress(stderr io.Writer, verbose, hide bool) (step func(sweeps.Progress), done func()) {
	nothing := func() {}
	switch {
	case verbose:
		return func(p sweeps.Progress) {
			fmt.Fprintf(stderr, "%6.1fs  %s  %d\n", p.Elapsed.Seconds(), p.Case, p.Size)
		}, nothing
	case hide || !IsTerminal(stderr):
		return nil, nothing
	}
	var bar *progressbar.ProgressBar
	return func(p sweeps.Progress) {
			if bar == nil {
				bar = progressbar.NewOptions64(p.Budget.Milliseconds(),
					progressbar.OptionSetWriter(raw(stderr)),
					progressbar.OptionSetPredictTime(false),
					progressbar.OptionSetWidth(30),
					progressbar.OptionThrottle(100*time.Millisecond),
					progressbar.OptionClearOnFinish(),
				)
			}
			bar.Describe(fmt.Sprintf("%-28s", p.Case))
			_ = bar.Set64(min(p.Elapsed.Milliseconds(), p.Budget.Milliseconds()-1))
		}, func() {
			if bar != nil {
				_ = bar.Finish()
			}
		}
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := raw(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
