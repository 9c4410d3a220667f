package conv1d

// transform is a real FFT of one length and its inverse. The spectrum has length/2+1 bins.
type transform interface {
	Forward(dst []complex64, src []float32)
	Inverse(dst []float32, src []complex64)
}

// transforms are equal transforms, one for each goroutine. A forward and an inverse transform multiply by gain. Filters are
// divided by gain, which costs a call nothing.
type transforms struct {
	each []transform
	gain float32
}

// newTransforms makes transforms of one length for count goroutines.
type newTransforms func(length, count int) (transforms, error)

// stride returns the number of values for a spectrum of a transform of this length: its bins, padded with zeros to a
// multiple of what the spectral kernel takes at a time.
func stride(length int) int { return (length/2 + 1 + 7) &^ 7 }

// oneTransform convolves by the convolution theorem, with one zero-padded transform of the whole output's length.
type oneTransform struct {
	taps []float32
	make newTransforms
	fit  func(n int) int // the length to which n samples are padded

	lengths []*transformedFilter // one for each padded length so far
	ready   *transformedFilter   // of the last call's length
}

// transformedFilter is a filter for signals of one padded length.
type transformedFilter struct {
	length   int
	fft      transform
	filter   []complex64
	samples  []float32
	spectrum []complex64
}

func (e *oneTransform) prepare(n int) error {
	length := e.fit(n + len(e.taps) - 1)
	if e.ready != nil && e.ready.length == length {
		return nil
	}
	for _, f := range e.lengths {
		if f.length == length {
			e.ready = f
			return nil
		}
	}
	ffts, err := e.make(length, 1)
	if err != nil {
		return err
	}
	bins := stride(length)
	f := &transformedFilter{
		length: length, fft: ffts.each[0],
		filter: make([]complex64, bins), samples: make([]float32, length), spectrum: make([]complex64, bins),
	}
	for k, tap := range e.taps {
		f.samples[k] = tap / ffts.gain
	}
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
