package sweeps

import "errors"

// caller is a goroutine that makes all calls for the goroutine of the sweep. Like the goroutines of a program, neither is
// locked to a thread of the operating system. On a locked one, a call that wakes other goroutines has been seen to take 6 to
// 26 times as long, because two threads must trade places whenever the goroutine continues. If only the other calls were made
// on a locked one, the two kinds would run on different processors, and a guest beside one of them would look like a difference
// between implementations. The scheduler hands work from one goroutine to the other on the same thread.
//
// The goroutine lives as long as the sweep, so that a call finds a stack that is large enough. A call that ends its goroutine
// does not end the sweep.
type caller struct {
	batches chan func() error
	ended   chan error
}

// newCaller starts the goroutine. It ends with close.
func newCaller() *caller {
	c := &caller{batches: make(chan func() error), ended: make(chan error)}
	go c.serve()
	return c
}

// run calls f on the goroutine and returns the error of f. A panic in f is an error, too.
func (c *caller) run(f func() error) error {
	c.batches <- f
	return <-c.ended
}

func (c *caller) close() { close(c.batches) }

// errGoexit is the error of a call that ended its goroutine.
var errGoexit = errors.New("a call ended its goroutine (runtime.Goexit)")

func (c *caller) serve() {
	closed := false
	defer func() {
		if !closed { // the sweep continues, and needs a new goroutine
			go c.serve()
			c.ended <- errGoexit
		}
	}()
	for f := range c.batches {
		c.ended <- safely(f)
	}
	closed = true
}
