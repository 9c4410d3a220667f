// Package dispatch chooses the fastest implementation for a call, by the thresholds in calibration.json.
package dispatch

// CPU is what Choose answers where nothing was measured: the program's own default on the processor.
const CPU = "cpu"

// Dispatcher holds the calibration of this host.
type Dispatcher struct{}

// Case chooses for one case.
type Case struct{}

// Explanation says why Choose answers what it answers.
type Explanation struct{ Reason string }

// Option changes how Load picks and uses an entry.
type Option func(*Dispatcher)

// Load reads a calibration file.
func Load(path string, options ...Option) (*Dispatcher, error) { return &Dispatcher{}, nil }

// Case returns the chooser of a case among the implementations that the process has.
func (d *Dispatcher) Case(name string, have ...string) *Case { return &Case{} }

// Choose returns the implementation to use at a size.
func (c *Case) Choose(size int) string { return CPU }

// Explain says why.
func (c *Case) Explain(size int) Explanation { return Explanation{} }
