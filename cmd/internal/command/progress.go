package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"crossover/sweeps"
)

// Progress returns a function that a sweep calls between blocks, and a function that clears the line at the end. On a
// terminal, the first function draws a bar on stderr, with the time that is left, the case, and what the sweep waits for.
// With verbose it writes a line for each visit instead. Otherwise the function is nil. No goroutine draws the bar, so
// nothing is drawn during a timed block.
func Progress(stderr io.Writer, verbose, hide bool) (step func(sweeps.Progress), done func()) {
	switch {
	case verbose:
		return visits(stderr), func() {}
	case hide || !isTerminal(stderr):
		return nil, func() {}
	}
	b := &bar{to: raw(stderr), width: terminalWidth(stderr), now: time.Now}
	return b.step, b.clear
}

// visits writes a line for each visit.
func visits(to io.Writer) func(sweeps.Progress) {
	last := 0
	return func(p sweeps.Progress) {
		if p.Visit > 0 && p.Visit != last { // the visits of shapes are counted from 1 again
			last = p.Visit
			fmt.Fprintf(to, "%6.1fs  %s  %s\n", p.Elapsed.Seconds(), p.Case, p.At)
		}
	}
}

// bar is a progress bar of one line.
type bar struct {
	to    io.Writer
	width int // of the terminal
	now   func() time.Time
	drawn time.Time
	of    *progressbar.ProgressBar // nil before it is first drawn
}

const (
	// redraw is the least time between two drawings, because drawing takes time on some processor.
	redraw = 500 * time.Millisecond
	// barWidth is the number of columns of the bar itself. besideBar is that of its ends and of the percentage before it.
	barWidth, besideBar = 20, 11
)

// step draws the bar, unless it was drawn a short time ago. It always draws when the sweep begins to wait, because no other
// step may follow for a while.
func (b *bar) step(p sweeps.Progress) {
	now := b.now()
	if p.Waiting == "" && now.Sub(b.drawn) < redraw {
		return
	}
	b.drawn = now
	if b.of == nil {
		b.of = progressbar.NewOptions64(p.Budget.Milliseconds(),
			progressbar.OptionSetWriter(b.to),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionSetWidth(barWidth),
			progressbar.OptionShowDescriptionAtLineEnd(),
			progressbar.OptionClearOnFinish(),
		)
	}
	text := cut(state(p), b.width-barWidth-besideBar)
	progressbar.OptionSetDescription(text)(b.of)
	_ = b.of.Set64(min(p.Elapsed, p.Budget-time.Millisecond).Milliseconds())
	b.of.Describe(text) // draws even if the percentage did not change
}

func (b *bar) clear() {
	if b.of != nil {
		_ = b.of.Finish()
	}
}

// longVisit is the least duration of a visit that the bar shows.
const longVisit = 3 * time.Second

// state says how much time is left and what the sweep does.
func state(p sweeps.Progress) string {
	left := max(0, p.Budget-p.Elapsed).Round(time.Second)
	words := []string{fmt.Sprintf("%d:%02d left", left/time.Minute, left%time.Minute/time.Second)}
	switch {
	case p.Waiting != "":
		words = append(words, "waits for "+p.Waiting)
	case p.Takes >= longVisit:
		words = append(words, fmt.Sprintf("a visit of about %.0f s", p.Takes.Seconds()))
	}
	if p.Case != "" {
		words = append(words, p.Case)
	}
	return strings.Join(words, ", ")
}

// cut returns the beginning of a text that fits into a number of columns.
func cut(text string, columns int) string {
	if utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:max(columns-1, 0)]) + "…"
}

// Status writes on a terminal what a command without a bar does. It returns a function that clears the line.
func Status(stderr io.Writer, hide bool, text string) (done func()) {
	if hide || !isTerminal(stderr) {
		return func() {}
	}
	to := raw(stderr)
	fmt.Fprint(to, cut(text, terminalWidth(stderr)-1))
	return func() { fmt.Fprint(to, clearLine) }
}

// clearLine clears the current line of a terminal.
const clearLine = "\r\x1b[K"

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := raw(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth returns the number of columns of a terminal, and 80 if that is not known.
func terminalWidth(w io.Writer) int {
	if f, ok := raw(w).(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}
