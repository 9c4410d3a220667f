package conv1d

import (
	_ "embed"
	"fmt"
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/fft/launch"
)

//go:embed spectral.metal
var spectralText string

// spectralSource returns the kernels between transforms. span is the number of sums of products that a thread computes.
func spectralSource(span int) gpu.Source {
	return gpu.Source{Name: "spectral.metal", Text: spectralText}.Define("SPAN", span)
}

// launchTransform appends the forward transform of n complex values, unscaled, to a plan.
type launchTransform func(b *gpu.Builder, dst, src *gpu.Buffer, n int)

// ownTransform is the launchTransform by our kernels.
func ownTransform(b *gpu.Builder, dst, src *gpu.Buffer, n int) {
	launch.Complex(b, dst, src, n, 1, false)
}

// vendorTransform is the launchTransform by a vendor's library.
func vendorTransform(library gpu.FFT) launchTransform {
	return func(b *gpu.Builder, dst, src *gpu.Buffer, n int) {
		b.FFT(library, dst, src, gpu.Transform{N: n, Batch: 1, Complex: true})
	}
}

// appendWhole returns a function that appends a convolution by one transform of the whole output's length.
func appendWhole(transform launchTransform) kernels.Append[Params] {
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		n, y, x := s[samples], t[0], t[1]
		outputs := p.outputs(n)
		length := 16
		for length < outputs {
			length *= 2
		}
		points := length / 2
		if points > launch.MostValues {
			b.Refuse(fmt.Errorf("conv1d: %d outputs are too many for one transform on a GPU: %w", outputs, kernels.ErrRefused))
			return
		}
		z, spectrum := b.Scratch(gpu.Float2, points), b.Scratch(gpu.Float2, points)
		source := spectralSource(1)
		perValue(b, source, "pad", length, z.As(gpu.Float), x, gpu.Values(n), gpu.Values(length))
		transform(b, spectrum, z, points)
		perValue(b, source, "filtered", points/2+1, z, spectrum, b.Constant(gpu.Float4, packedSpectrum(p.Taps, length)),
			b.Constant(gpu.Float2, halfTurn(points)), gpu.Values(points))
		transform(b, spectrum, z, points)
		perValue(b, source, "crop", outputs, y, spectrum.As(gpu.Float), gpu.Values(outputs))
	}
}

// packedSpectrum returns the spectrum of the taps, zero-padded to a length, for the kernel `filtered`. It is divided by
// 4·points: unpacking and packing in the kernel each double the values, and the two transforms multiply by points.
func packedSpectrum(taps []float32, length int) []float32 {
	points := length / 2
	gain := complex(1/(4*float64(points)), 0)
	spectrum := realSpectrum(fourier.NewFFT(length), taps)
	var table []float32
	for k := range points/2 + 1 {
		table = appendPair(table, gain*spectrum[k])
		table = appendPair(table, gain*cmplx.Conj(spectrum[points-k]))
	}
	return table
}

// realSpectrum returns the bins 0 to length/2 of the taps, zero-padded to the transform's length.
func realSpectrum(transform *fourier.FFT, taps []float32) []complex128 {
	padded := make([]float64, transform.Len())
	for k, tap := range taps {
		padded[k] = float64(tap)
	}
	return transform.Coefficients(nil, padded)
}

// halfTurn returns exp(−πi·k/points) for k up to points/2, as pairs.
func halfTurn(points int) []float32 {
	var table []float32
	for k := range points/2 + 1 {
		table = appendPair(table, cmplx.Rect(1, -math.Pi*float64(k)/float64(points)))
	}
	return table
}

func appendPair(table []float32, c complex128) []float32 {
	return append(table, float32(real(c)), float32(imag(c)))
}
