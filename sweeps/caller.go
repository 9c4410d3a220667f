package sweeps

// calling runs f, which makes calls of an implementation.
func (s *sweep) calling(_ *implementation, f func() error) error { return f() }
