package dispatch

// Failure is an implementation that failed in a call of a program.
type Failure struct {
	Implementation string
	Err            error
}

// OnFailure sets the function that is called when an implementation fails in a call, for example because a GPU was lost. It
// is called once for each implementation, until Retry. By then the next best implementation has computed the call. The
// goroutine of the call calls report, which must not block. A nil report ends the calls.
func (d *Dispatcher) OnFailure(report func(Failure)) {
	if d.none() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.report = report
}

// Failed reports that an implementation failed in a call. Plans call it.
func (d *Dispatcher) Failed(implementation string, err error) {
	if d.none() {
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

// Retry lets failed implementations be chosen again, for example when the GPU is back.
func (d *Dispatcher) Retry() {
	if d.none() {
		return
	}
	d.mu.Lock()
	clear(d.failures)
	d.mu.Unlock()
	d.retries.Add(1)
	d.changes.Add(1)
}

// Retries returns the number of calls of Retry. Plans compare it when [Dispatcher.Changes] has changed, to know whether to
// forget failures.
func (d *Dispatcher) Retries() uint64 {
	if d.none() {
		return 0
	}
	return d.retries.Load()
}
