package sweeps

import "errors"

// caller is a goroutine that makes calls for the goroutine of the sweep. Like the goroutines of a program, it is not locked
// to a thread of the operating system. On a locked one, a call that wakes other goroutines has been seen to take 6 to 26
// times as long, because two threads must trade places whenever the goroutine continues.
//
// The goroutine lives as long as the sweep, so that a call finds a stack that is large enough.
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

// calling runs f, which makes calls of an implementation, on the goroutine on which their times are those of a program.
// Calls that may wake other goroutines are made on the caller's goroutine. The others are made on the thread to which the
// sweep is locked.
func (s *sweep) calling(i *implementation, f func() error) error {
	if i.wakes() {
		return s.caller.run(f)
	}
	return f()
}
