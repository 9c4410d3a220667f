package dispatch

// Failure is an implementation that failed in a call of a program's.
type Failure struct {
	Implementation string
	Err            error
}

// OnFailure makes report the one who hears of implementations that fail in a call, such as on a GPU that was lost: once
// each, until Retry. The call itself has gone on with the next best. report is called by the goroutine of the call and
// must not block. Nil ends it.
func (d *Dispatcher) OnFailure(report func(Failure)) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.report = report
}

// Failed tells that an implementation failed in a call. Plans call it.
func (d *Dispatcher) Failed(implementation string, err error) {
	if d == nil {
		return
	}
	d.mu.Lock()
	known := d.failures[implementation]
	if d.failures == nil {
		d.failures = map[string]bool{}
	}
	d.failures[implementation] = true
	report := d.report
	d.mu.Unlock()
	if !known && report != nil {
		report(Failure{implementation, err})
	}
}

// Retry lets the implementations that failed compete again: when the GPU is back, say.
func (d *Dispatcher) Retry() {
	if d == nil {
		return
	}
	d.mu.Lock()
	clear(d.failures)
	d.mu.Unlock()
	d.retries.Add(1)
}

// Retries returns how often Retry was called. Plans ask at each call whether to forget what failed.
func (d *Dispatcher) Retries() uint64 {
	if d == nil {
		return 0
	}
	return d.retries.Load()
}
