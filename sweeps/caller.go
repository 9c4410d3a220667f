package sweeps

import "errors"

// caller is a goroutine that makes calls for the goroutine of the sweep. It is not locked to a thread of the operating
// system, as the goroutines of a program are not. On a locked one, a call that wakes other goroutines has been seen to
// take 6 to 26 times as long, because two threads have to trade places whenever the goroutine goes on.
//
// It lives as long as the sweep, so that a call finds a stack that is large enough.
type caller struct {
	batches chan func() error
	ended   chan error
}

// newCaller starts a goroutine that lives until close.
func newCaller() *caller {
	c := &caller{batches: make(chan func() error), ended: make(chan error)}
	go c.serve()
	return c
}

// run has the goroutine call f and waits for the error that f returns. A panic in f is an error too.
func (c *caller) run(f func() error) error {
	c.batches <- f
	return <-c.ended
}

func (c *caller) close() { close(c.batches) }

// errGoexit is the error of a call that ended the goroutine that made it.
var errGoexit = errors.New("a call ended its goroutine (runtime.Goexit)")

func (c *caller) serve() {
	closed := false
	defer func() {
		if !closed { // the sweep still waits, and needs a goroutine for what comes next
			go c.serve()
			c.ended <- errGoexit
		}
	}()
	for f := range c.batches {
		c.ended <- safely(f)
	}
	closed = true
}

// calling runs f, which makes calls of an implementation, on the goroutine on which a time of them is that of a program:
// the caller's where calls may wake other goroutines. The others are made on the thread that the sweep is locked to.
func (s *sweep) calling(i *implementation, f func() error) error {
	if i.wakes() {
		return s.caller.run(f)
	}
	return f()
}
