package conv1d

// transform is a real FFT of one length n and its inverse, scaled so that the inverse undoes the forward transform.
// The spectrum has n/2+1 bins.
type transform interface {
	Forward(dst []complex64, src []float32)
	Inverse(dst []float32, src []complex64)
}

// newTransforms makes transforms of one length, one for each of count goroutines, and what releases them.
type newTransforms func(length, count int) (each []transform, release func(), err error)

// stride returns the room that a spectrum of a transform of this length takes: its bins, padded with zeros to what
// the spectral kernel takes at a time.
func stride(length int) int { return (length/2 + 1 + 7) &^ 7 }

// smooth returns the smallest length that is at least n, a multiple of 16 and without prime factors above 5: what
// transforms take without detours.
func smooth(n int) int {
	for length := max(16, (n+15)&^15); ; length += 16 {
		rest := length
		for _, prime := range []int{2, 3, 5} {
			for rest%prime == 0 {
				rest /= prime
			}
		}
		if rest == 1 {
			return length
		}
	}
}

// oneTransform convolves by the convolution theorem, with one transform of the whole output's length, zero padded.
type oneTransform struct {
	taps []float32
	make newTransforms

	lengths []*transformedFilter // for each padded length that was asked for
	ready   *transformedFilter   // of the last call's length
}

// transformedFilter is a filter, ready for signals that fit into one padded length.
type transformedFilter struct {
	length   int
	fft      transform
	release  func()
	filter   []complex64
	samples  []float32
	spectrum []complex64
}

func (e *oneTransform) prepare(n int) error {
	length := smooth(n + len(e.taps) - 1)
	if e.ready != nil && e.ready.length == length {
		return nil
	}
	for _, f := range e.lengths {
		if f.length == length {
			e.ready = f
			return nil
		}
	}
	each, release, err := e.make(length, 1)
	if err != nil {
		return err
	}
	bins := stride(length)
	f := &transformedFilter{
		length: length, fft: each[0], release: release,
		filter: make([]complex64, bins), samples: make([]float32, length), spectrum: make([]complex64, bins),
	}
	copy(f.samples, e.taps)
	f.fft.Forward(f.filter[:length/2+1], f.samples)
	e.lengths = append(e.lengths, f)
	e.ready = f
	return nil
}

func (e *oneTransform) convolve(y, x []float32) {
	f := e.ready
	copy(f.samples, x)
	clear(f.samples[len(x):])
	bins := f.spectrum[:f.length/2+1]
	f.fft.Forward(bins, f.samples)
	spectral(f.spectrum, f.spectrum, f.filter)
	f.fft.Inverse(f.samples, bins)
	copy(y, f.samples)
}

func (e *oneTransform) close() {
	for _, f := range e.lengths {
		f.release()
	}
	e.lengths, e.ready = nil, nil
}
