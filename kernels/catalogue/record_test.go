package catalogue_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"crossover/dispatch"
	"crossover/kernels/fft"
	"crossover/kernels/matmul"
	"crossover/kernels/reduce"
	"crossover/kernels/softmax"
	"crossover/kernels/stft"
)

// A record has the shape of each call of a typed plan, once, also without a calibration.
func TestTypedPlansAreRecorded(t *testing.T) {
	d, err := dispatch.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "shapes.txt")
	r, err := d.Record(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	transform, err := fft.New(d, fft.Params{N: 441})
	check(err)
	check(transform.Transform(make([]complex64, 64*221), make([]float32, 64*441)))
	rows, err := softmax.New(d, softmax.Params{Columns: 30})
	check(err)
	for range 4 {
		check(rows.Apply(make([]float32, 90), make([]float32, 90)))
	}
	frames, err := stft.New(d, stft.Params{NFFT: 256, Hop: 64})
	check(err)
	_, err = frames.Transform(nil, make([]float32, 4800))
	check(err)
	check(matmul.New(d).Multiply(make([]float32, 6), make([]float32, 8), make([]float32, 12), 2, 4, 3))
	_, err = reduce.NewSum(d).Of(make([]float32, 77))
	check(err)
	check(r.Close())

	got, err := dispatch.ReadShapes(path)
	check(err)
	counts := map[string]int64{}
	for _, c := range got {
		counts[c.Name] = c.Calls
	}
	want := map[string]int64{
		"fft/n=441,batch=64": 1, "softmax/rows=3,columns=30": 4, "stft/n_fft=256,hop=64,n=4800": 1, "matmul/m=2,k=4,n=3": 1, "sum/n=77": 1,
	}
	if fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("recorded\n%v\nwant\n%v", counts, want)
	}
}
