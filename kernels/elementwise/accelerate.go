package elementwise

// framework runs a function of Apple's Accelerate, on one core.
type framework struct{ function }

func newFramework(f function) (engine, error) { return framework{f}, nil }

func (e framework) apply(dst, src []float32) error {
	e.operation.accelerate(dst, src, e.a, e.b)
	return nil
}
