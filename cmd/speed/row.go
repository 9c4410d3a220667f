package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"crossover/cmd/internal/command"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/fft"
)

// row is one line, or more, of the table.
type row struct {
	name    string
	measure func(d *gpu.Device, runs int) ([]result, error)
}

// result is one line of the table: our kernels and their peer, in the same run.
type result struct {
	Name  string  `json:"name"`
	Bound string  `json:"bound"`
	Ours  figures `json:"ours"`
	Peer  figures `json:"peer"`

	// Ratio is the peer's median time divided by ours: above 1 we are faster.
	Ratio float64 `json:"ratio"`
	// Error is the relative L2 error of our output against the float64 reference, or against the peer's output.
	Error float64 `json:"relative_error"`
	// Allocations is how many Go allocations a warm call of ours makes, and DeviceBytes by how many bytes it makes the
	// device's memory grow.
	Allocations float64 `json:"allocations_per_call"`
	DeviceBytes float64 `json:"device_bytes_per_call"`
}

// figures are the times of one side, and the rate that follows from the median.
type figures struct {
	By     string  `json:"by"`
	Low    float64 `json:"p10_seconds"`
	Median float64 `json:"median_seconds"`
	High   float64 `json:"p90_seconds"`
	Rate   float64 `json:"rate,omitempty"`
	Unit   string  `json:"unit,omitempty"` // of the rate
}

// work is what one run does, in the unit that its rate is given in.
type work struct {
	amount float64 // bytes, or floating-point operations
	scale  float64
	unit   string
}

func bytes(n float64) work      { return work{n, 1e9, "GB/s"} }
func operations(n float64) work { return work{n, 1e12, "TFLOPS"} }

func (w work) figures(by string, s spread) figures {
	f := figures{By: by, Low: s.Low.Seconds(), Median: s.Median.Seconds(), High: s.High.Seconds()}
	if w.amount > 0 && f.Median > 0 {
		f.Rate, f.Unit = w.amount/f.Median/w.scale, w.unit
	}
	return f
}

// points is how many complex values the FFT rows transform: 128 MiB, more than any cache holds.
const points = 16 << 20

// rows returns the table, for the cases of a catalogue.
func rows(cases []kernels.Case) []row {
	var all []row
	for _, n := range []int{256, 512, 1024, 2048, 4096, 16384, 65536} {
		all = append(all, complexFFT(n, points/n))
	}
	for _, r := range []struct {
		name  string
		size  int
		bound string
	}{
		{"scale", 64 << 20, "memory"},
		{"sum", 64 << 20, "memory"},
		{"softmax/columns=1024", 8192, "memory"},
		{"softmax/columns=4096", 8192, "memory"},
		{"stft/n_fft=2048,hop=512", 16 << 20, "memory"},
		{"biquad/n=512", 32 << 10, "memory"},
		{"oscillator-bank/n=512", 16 << 10, "arithmetic"},
	} {
		if c := find(cases, r.name); c != nil {
			all = append(all, againstCopy(*c, r.size, r.bound))
		}
	}
	if c := find(cases, "matmul/square"); c != nil {
		for _, n := range []int{1024, 2048, 4096} {
			all = append(all, againstLibrary(*c, n, 2*float64(n)*float64(n)*float64(n)))
		}
	}
	return append(all, launchAndWait)
}

func find(cases []kernels.Case, name string) *kernels.Case {
	for i := range cases {
		if cases[i].Name == name {
			return &cases[i]
		}
	}
	return nil
}

func names(all []row) string {
	var list []string
	for _, r := range all {
		list = append(list, r.name)
	}
	return strings.Join(list, ", ")
}

func pattern(text string) (*regexp.Regexp, error) {
	matches, err := regexp.Compile(text)
	if err != nil {
		return nil, command.Usage("--rows %q: %v (want a regular expression such as '^fft')", text, err)
	}
	return matches, nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// complexFFT is batch forward transforms of n complex values, by our kernels and by the vendor's library. A pass reads
// and writes 8 bytes a value.
func complexFFT(n, batch int) row {
	name := fmt.Sprintf("fft/complex,n=%d,batch=%d", n, batch)
	return row{name, func(d *gpu.Device, runs int) ([]result, error) {
		library, ok := d.Driver().(gpu.FFT)
		if !ok {
			return nil, fmt.Errorf("the %s driver has no FFT of the vendor's", d.Facts().API)
		}
		if err := library.FFTMissing(); err != nil {
			return nil, err
		}
		values := random(2 * n * batch)
		ours, oursOut, err := complexSide(d, d.Facts().API, n, batch, values, func(b *gpu.Builder, dst, src *gpu.Buffer) {
			fft.LaunchComplex(b, dst, src, n, batch, false)
		})
		if err != nil {
			return nil, err
		}
		defer ours.close()
		peer, peerOut, err := complexSide(d, library.FFTVersion(), n, batch, values, func(b *gpu.Builder, dst, src *gpu.Buffer) {
			b.Encode(func() (gpu.External, error) { return library.NewComplexFFT(dst.Region(), src.Region(), n, batch) })
		})
		if err != nil {
			return nil, err
		}
		defer peer.close()
		return against(d, name, "memory", ours, peer, runs, bytes(16*float64(n)*float64(batch)), func() (float64, error) {
			return difference(oursOut, peerOut)
		}, 1e-5)
	}}
}

// complexSide is a plan from one buffer of complex values to another.
func complexSide(d *gpu.Device, name string, n, batch int, values []float32, launch func(b *gpu.Builder, dst, src *gpu.Buffer)) (s *side, output func() ([]float32, error), err error) {
	b := d.NewPlan()
	src, dst := b.Input(gpu.Float2, n*batch), b.Output(gpu.Float2, n*batch)
	launch(b, dst, src)
	p, err := b.Build()
	if err != nil {
		return nil, nil, err
	}
	copy(src.Floats(), values)
	if err := p.Upload(); err != nil {
		p.Close()
		return nil, nil, err
	}
	output = func() ([]float32, error) {
		if err := p.RunResident(); err != nil {
			return nil, err
		}
		return dst.Floats(), p.Download()
	}
	return planSide(name, p), output, nil
}

// planSide is a plan without its transfers, in the device's time.
func planSide(name string, p *gpu.Plan) *side {
	timed := func() (time.Duration, error) { return span(p.Time(true)) }
	return &side{name: name, run: timed, call: p.RunResident, close: p.Close}
}

// span is the device's time of a run, from its first kernel to its last one.
func span(t gpu.Times, err error) (time.Duration, error) { return t.Span, err }

// random returns values between -1 and 1, always the same ones.
func random(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
	return x
}

// difference returns the relative L2 difference of two outputs.
func difference(a, b func() ([]float32, error)) (float64, error) {
	x, err := a()
	if err != nil {
		return 0, err
	}
	y, err := b()
	if err != nil {
		return 0, err
	}
	want := make([]float64, len(y))
	for i, v := range y {
		want[i] = float64(v)
	}
	return kernels.RelativeError(x, want), nil
}

// againstCopy is a case of the catalogue beside a copy on the device that moves as many bytes.
func againstCopy(c kernels.Case, size int, bound string) row {
	name := fmt.Sprintf("%s,%s=%d", c.Name, c.Axis.Name, size)
	if !strings.Contains(c.Name, "/") {
		name = fmt.Sprintf("%s/%s=%d", c.Name, c.Axis.Name, size)
	}
	return row{name, func(d *gpu.Device, runs int) ([]result, error) {
		problem := resident(d, c).Problem(size, kernels.GeneratedInput())
		ours, call, err := bind(problem, c, ownImplementation(c, d.Facts().API))
		if err != nil {
			return nil, err
		}
		defer ours.close()
		peer, err := copySide(d, c.Bytes(size))
		if err != nil {
			return nil, err
		}
		defer peer.close()
		return against(d, name, bound, ours, peer, runs, bytes(c.Bytes(size)), func() (float64, error) {
			return kernels.RelativeError(call.Output(), problem.Reference()), nil
		}, c.Tolerance(size))
	}}
}

// againstLibrary is a case of the catalogue beside the vendor's library, which the case lists too.
func againstLibrary(c kernels.Case, size int, flops float64) row {
	name := fmt.Sprintf("%s,%s=%d", c.Name, c.Axis.Name, size)
	return row{name, func(d *gpu.Device, runs int) ([]result, error) {
		library, err := vendorImplementation(c, d.Facts().API)
		if err != nil {
			return nil, err
		}
		problem := resident(d, c).Problem(size, kernels.GeneratedInput())
		ours, call, err := bind(problem, c, ownImplementation(c, d.Facts().API))
		if err != nil {
			return nil, err
		}
		defer ours.close()
		peer, peerCall, err := bind(problem, c, library)
		if err != nil {
			return nil, err
		}
		defer peer.close()
		output := func(call kernels.Call) func() ([]float32, error) {
			return func() ([]float32, error) { return slices.Clone(call.Output()), nil }
		}
		return against(d, name, "arithmetic", ours, peer, runs, operations(flops), func() (float64, error) {
			return difference(output(call), output(peerCall))
		}, c.Tolerance(size))
	}}
}

// resident returns the case with its data on the device.
func resident(d *gpu.Device, c kernels.Case) kernels.Case {
	if d.Facts().Unified {
		return c
	}
	return c.Resident()
}

// ownImplementation returns the name of the first implementation of a case that is our own kernel text on an API.
func ownImplementation(c kernels.Case, api string) string {
	for _, i := range c.Implementations {
		if i.Processor == kernels.GPU && (i.Name == api || strings.HasPrefix(i.Name, api+"/")) {
			return i.Name
		}
	}
	return api
}

// vendorImplementation returns the name of the implementation of a case that is neither ours nor missing.
func vendorImplementation(c kernels.Case, api string) (string, error) {
	var missing error
	for _, i := range c.Implementations {
		if i.Processor != kernels.GPU || i.Name == api || strings.HasPrefix(i.Name, api+"/") {
			continue
		}
		if missing = i.Missing(); missing == nil {
			return i.Name, nil
		}
	}
	if missing != nil {
		return "", missing
	}
	return "", fmt.Errorf("%s has no library of the vendor's", c.Name)
}

// bind readies an implementation and runs it once.
func bind(problem kernels.Problem, c kernels.Case, implementation string) (*side, kernels.Call, error) {
	call, err := problem.Bind(implementation)
	if err != nil {
		return nil, call, err
	}
	if call.GPU == nil {
		call.Release()
		return nil, call, fmt.Errorf("%s: %s does not run on a GPU", c.Name, implementation)
	}
	if err := call.Run(); err != nil {
		call.Release()
		return nil, call, err
	}
	timed := func() (time.Duration, error) { return span(call.GPU.Time()) }
	return &side{name: implementation, run: timed, call: call.Run, close: call.Release}, call, nil
}

// against measures two sides that do the same work. Our output has to be within the tolerance.
func against(d *gpu.Device, name, bound string, ours, peer *side, runs int, w work, check func() (float64, error), tolerance float64) ([]result, error) {
	e, err := check()
	if err != nil {
		return nil, err
	}
	if !(e <= tolerance) {
		return nil, fmt.Errorf("wrong values: the relative error is %.2g; want at most %.2g", e, tolerance)
	}
	r, err := measure(d, ours, peer, runs, w)
	r.Name, r.Bound, r.Error = name, bound, e
	return []result{r}, err
}

// measure returns the times of two sides and what a call of ours allocates.
func measure(d *gpu.Device, ours, peer *side, runs int, w work) (r result, err error) {
	a, b, err := compare(ours, peer, runs)
	if err != nil {
		return r, err
	}
	r.Ours, r.Peer, r.Ratio = w.figures(ours.name, a), w.figures(peer.name, b), b.Median.Seconds()/a.Median.Seconds()
	r.Allocations, r.DeviceBytes, err = allocations(d, ours.call, runs)
	return r, err
}
