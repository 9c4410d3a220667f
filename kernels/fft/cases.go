package fft

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"crossover/kernels"
)

// rowLengths are the lengths at which the number of rows is swept.
var rowLengths = []int{1024, 4096}

// maxLength is the greatest length that is swept.
const maxLength = 1 << 20

// Cases returns the real transform over its length, and over the number of rows at two lengths.
func Cases() []kernels.Case {
	single := newCase("fft/batch=1", kernels.Param{Name: "batch", Value: 1}, singleContenders,
		func(n int) Params { return Params{N: n, Batch: 1} })
	single.Axis = kernels.Axis{Name: "n", Unit: "samples", Min: 64, Max: maxLength, Round: roundLength}
	cases := []kernels.Case{single}
	for _, n := range rowLengths {
		rows := newCase(rowsCaseName(n), kernels.Param{Name: "n", Value: n}, rowContenders,
			func(batch int) Params { return Params{N: n, Batch: batch} })
		rows.Axis = kernels.Axis{Name: "batch", Unit: "rows", Min: 1, Max: 1024}
		cases = append(cases, rows)
	}
	return cases
}

func rowsCaseName(n int) string { return fmt.Sprintf("fft/n=%d", n) }

func newCase(name string, fixed kernels.Param, contenders kernels.Contenders[Params, engine], at func(size int) Params) kernels.Case {
	return kernels.Case{
		Name:            name,
		Operation:       "fft",
		Definition:      "X[k] = sum over j of x[j]·exp(-2πi·jk/n) for k = 0 … n/2, unscaled, of each real row x",
		Source:          "C. Van Loan, Computational Frameworks for the Fast Fourier Transform, SIAM 1992, section 1.1",
		Params:          []kernels.Param{fixed},
		Tolerance:       func(int) float64 { return 1e-6 },
		Bytes:           func(size int) float64 { p := at(size); return float64(p.Batch) * float64(4*p.N+8*(p.N/2+1)) },
		Implementations: contenders.Implementations(),
		Problem: func(size int, in kernels.Input) kernels.Problem {
			p := at(size)
			x := make([]float32, p.Batch*p.N)
			in.Fill(x)
			return &problem{params: p, contenders: contenders, x: x}
		},
	}
}

// problem is the transform of rows that follow one another in a recording.
type problem struct {
	params     Params
	contenders kernels.Contenders[Params, engine]
	x          []float32
}

func (p *problem) Reference() []float64 {
	var out []float64
	for row := range slices.Chunk(p.x, p.params.N) {
		for _, bin := range Reference(row) {
			out = append(out, real(bin), imag(bin))
		}
	}
	return out
}

func (p *problem) Bind(implementation string) (kernels.Call, error) {
	e, err := p.contenders.New(implementation, p.params)
	if err != nil {
		return kernels.Call{}, fmt.Errorf("fft: %w", err)
	}
	if l, ok := e.(*launch); ok {
		return l.bind(p.x)
	}
	dst := make([]complex64, p.params.Batch*(p.params.N/2+1))
	return kernels.Call{
		Run:    func() error { return e.transform(dst, p.x) },
		Output: func() []float32 { return floats(dst) },
		Close:  e.close,
	}, nil
}

// floats views complex values as their parts.
func floats(x []complex64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// lengths are the even numbers up to twice maxLength without a prime factor above 5, ascending.
var lengths = sync.OnceValue(func() []int {
	var found []int
	for twos := 2; twos <= 2*maxLength; twos *= 2 {
		for threes := twos; threes <= 2*maxLength; threes *= 3 {
			for n := threes; n <= 2*maxLength; n *= 5 {
				found = append(found, n)
			}
		}
	}
	slices.Sort(found)
	return found
})

// roundLength returns the nearest length that people choose, the greater of two equally near ones: even, and without a
// prime factor above 5.
func roundLength(n int) int {
	all := lengths()
	i, exact := slices.BinarySearch(all, n)
	switch {
	case exact || i == 0:
		return all[i]
	case i == len(all) || n-all[i-1] < all[i]-n:
		return all[i-1]
	}
	return all[i]
}
