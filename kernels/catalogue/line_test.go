package catalogue

import (
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
