package catalogue

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"crossover/kernels"
)

func TestLine(t *testing.T) {
	b := &kernels.Backends{}
	for name, want := range map[string]string{
		"stft/n_fft=1024,hop=256": "stft/n_fft=1024,hop=256",
		"stft/hop=256,n_fft=1024": "stft/n_fft=1024,hop=256",
		"softmax/columns=768":     "softmax/columns=768",
		"softmax/rows=16":         "softmax/rows=16",
		"fft/n=441":               "fft/n=441",
		"matmul/n=64,m=32":        "matmul/m=32,n=64",
		"scale":                   "scale",
	} {
		cases, err := Line(b, name)
		if err != nil || len(cases) != 1 || cases[0].Name != want {
			t.Errorf("%s: %v, %v; want %s", name, cases, err, want)
		}
	}
	for name, want := range map[string]string{
		"":                          "not an operation",
		"sfft/n=3":                  "not an operation",
		"stft":                      "0 of 3 axes",
		"stft/n_fft=1024":           "1 of 3 axes",
		"stft/n_fft=1024,n_fft=4":   "twice",
		"stft/n_fft=1024,width=4":   "not an axis",
		"stft/n_fft=1024,hop=0":     "want 1 to",
		"stft/n_fft=1024,hop=-1":    "want 1 to",
		"stft/n_fft=1024,hop=1e3":   "not a value",
		"stft/n_fft=1024,hop":       "not a value",
		"fft/n=4,batch=2":           "2 of 2 axes",
		"softmax/columns=999999999": "want 1 to",
	} {
		if _, err := Line(b, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want an error with %q", name, err, want)
		}
	}
}

func TestReadShape(t *testing.T) {
	for name, want := range map[string]Shape{
		"fft/n=441,batch=64":                   {"fft", kernels.Caller, []int{441, 64}},
		"fft/batch=64,n=441":                   {"fft", kernels.Caller, []int{441, 64}},
		"scale/n=7":                            {"scale", kernels.Caller, []int{7}},
		"scale/n=7,resident":                   {"scale", kernels.Resident, []int{7}},
		"softmax/rows=16,columns=768,shared":   {"softmax", kernels.Shared, []int{16, 768}},
		"matmul/m=99999999999,k=1,n=999999999": {"matmul", kernels.Caller, []int{99999999999, 1, 999999999}},
	} {
		if got, whole, err := ReadShape(name); err != nil || !whole || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, %v; want %+v", name, got, whole, err, want)
		}
	}
	for _, line := range []string{"scale", "fft/n=441", "stft/hop=256,n_fft=1024"} {
		if _, whole, err := ReadShape(line); whole || err != nil {
			t.Errorf("%s: whole %v, %v", line, whole, err)
		}
	}
	for name, want := range map[string]string{
		"":                             "not an operation",
		"sfft/n=3,batch=1":             "not an operation",
		"fft/n=4,n=4":                  "n is there twice",
		"fft/n=4,width=4":              "not an axis (there are n, batch)",
		"fft/n=4,batch=2,width=4":      "not an axis",
		"fft/n=4,batch=0":              "batch=0: want 1 to",
		"fft/n=-4,batch=2":             "n=-4: want 1 to",
		"fft/n=4,batch=1e3":            "not a value",
		"fft/n=4,batch":                "not a value",
		"fft/n=9999999999999999999999": "not a value",
		"fft/n=4,shared":               "1 of 2 axes have a value",
		"fft/n=4,batch=2,share":        "not a value",
	} {
		if _, _, err := ReadShape(name); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want an error with %q", name, err, want)
		}
	}
}

// No shape overflows, and whatever is affordable has tensors that fit.
func TestAffordable(t *testing.T) {
	for _, s := range Spaces(&kernels.Backends{}) {
		var ones, tens, huge kernels.Shape
		for i := range s.Axes {
			ones[i], tens[i], huge[i] = 1, 10, math.MaxInt
		}
		if err := s.Affordable(tens); err != nil {
			t.Errorf("%s: %v", s.Operation, err)
		}
		if err := s.Affordable(huge); err == nil || !strings.Contains(err.Error(), "too much") {
			t.Errorf("%s: %v", s.Operation, err)
		}
		for i := range s.Axes {
			long := ones
			long[i] = 1 << 40
			if err := s.Affordable(long); err == nil && s.Operation != "stft" { // a long hop has less work
				t.Errorf("%s with %s=2^40 is affordable", s.Operation, s.Axes[i].Name)
			}
		}
	}
}
