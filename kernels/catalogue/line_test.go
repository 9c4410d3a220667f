package catalogue_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/kernels/mel"
	"crossover/kernels/stft"
	"crossover/pool"
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
		cases, err := catalogue.Line(b, name)
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
		"stft/n_fft=1024,hop":       "not a value of an axis (want a whole number for one of n_fft, hop, n, such as n_fft=64)",
		"fft/batch=2,":              `"" is not a value`,
		"fft/n=4,batch=2":           "2 of 2 axes",
		"softmax/columns=999999999": "want 1 to",
	} {
		if _, err := catalogue.Line(b, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want an error with %q", name, err, want)
		}
	}
}

func TestReadShape(t *testing.T) {
	for name, want := range map[string]catalogue.Shape{
		"fft/n=441,batch=64":                   {"fft", kernels.Caller, []int{441, 64}},
		"fft/batch=64,n=441":                   {"fft", kernels.Caller, []int{441, 64}},
		"scale/n=7":                            {"scale", kernels.Caller, []int{7}},
		"scale/n=7,resident":                   {"scale", kernels.Resident, []int{7}},
		"softmax/rows=16,columns=768,shared":   {"softmax", kernels.Shared, []int{16, 768}},
		"matmul/m=99999999999,k=1,n=999999999": {"matmul", kernels.Caller, []int{99999999999, 1, 999999999}},
	} {
		if got, whole, err := catalogue.ReadShape(name); err != nil || !whole || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, %v; want %+v", name, got, whole, err, want)
		}
	}
	for _, line := range []string{"scale", "fft/n=441", "stft/hop=256,n_fft=1024"} {
		if _, whole, err := catalogue.ReadShape(line); whole || err != nil {
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
		"fft/n=4,batch=2,":             `"" is not a value`,
		"fft/n=4,shared":               `1 of 2 axes have a value, and a line is measured in every placement (leave "shared" out`,
		"scale/resident":               `0 of 1 axes have a value, and a line is measured in every placement (leave "resident" out`,
		"fft/n=4,batch=2,share":        "not a value",
	} {
		if _, _, err := catalogue.ReadShape(name); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want an error with %q", name, err, want)
		}
	}
}

// A shape or a line that a plan refuses is refused with the plan's own message.
func TestWhatPlansRefuse(t *testing.T) {
	_, refused := stft.New(nil, stft.Params{NFFT: 1023, Hop: 256})
	_, refusedMel := mel.New(nil, mel.Params{SampleRate: 22050, NFFT: 1023, Bands: 40})
	for name, want := range map[string]error{
		"stft/n_fft=1023,hop=256,n=48000": refused, "stft/n_fft=1023,hop=256,n=48000,shared": refused, "stft/n_fft=1023,hop=256": refused,
		"stft/n_fft=1023,n=48000":          refused,
		"mel/bands=40,frames=3,n_fft=1023": refusedMel, "mel/bands=40,n_fft=1023": refusedMel,
		"stft/n_fft=1024,hop=256,n=48000": nil, "stft/hop=256,n=48000": nil, "mel/bands=40,frames=3": nil, "fft/n=441,batch=3": nil,
	} {
		_, whole, err := catalogue.ReadShape(name)
		if err == nil && !whole {
			_, err = catalogue.Line(&kernels.Backends{}, name)
		}
		if fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// A line has the sizes that a plan takes.
func TestLinesEndWherePlansDo(t *testing.T) {
	for name, want := range map[string][2]int{
		"mfcc/bands=40,frames=7": {8, 40}, "mfcc/bands=80,frames=7": {8, 64}, "mfcc/coefficients=33,frames=7": {33, 256}, "mfcc/coefficients=13,bands=40": {1, 64 << 10},
		"mfcc/bands=8,frames=7": {8, 8}, "mfcc/coefficients=256,frames=7": {256, 256},
	} {
		cases, err := catalogue.Line(&kernels.Backends{}, name)
		if err != nil || cases[0].Axis.Min != want[0] || cases[0].Axis.Max != want[1] {
			t.Errorf("%s: %v, want sizes from %d to %d", name, err, want[0], want[1])
		}
	}
	for name, want := range map[string]string{
		"mfcc/bands=7,frames=7":          "mfcc: Coefficients is 8: want 1 to the number of bands, 7",
		"mfcc/coefficients=257,frames=7": "mfcc: Coefficients is 257: want 1 to the number of bands, 20",
		"chroma/n_fft=27":                "chroma: NFFT is 27: want an even number, 2 to 16777216",
	} {
		if _, err := catalogue.Line(&kernels.Backends{}, name); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// A plan takes every shape that is not refused.
func TestPlansTakeWhatIsNotRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	random := rand.New(rand.NewPCG(1, 2))
	in := kernels.GeneratedInput()
	var operations []kernels.Listing
	for _, g := range catalogue.Groups() {
		operations = append(operations, g.Operations...)
	}
	for _, l := range operations {
		for range 40 {
			var fixed []kernels.Param
			for _, i := range random.Perm(len(l.Axes))[1:] {
				fixed = append(fixed, kernels.Param{Name: l.Axes[i].Name, Value: 1 + random.IntN(40)})
			}
			c, err := l.Line(&kernels.Backends{Pool: pool.Shared()}, fixed)
			if err != nil {
				continue
			}
			c, ok := c.WithPrograms()
			if !ok {
				t.Fatalf("%s has no typed plan", c.Name)
			}
			size := c.Axis.Nearest(min(c.Axis.Min+random.IntN(40), c.Axis.Max))
			problem := c.Problem(size, in)
			for _, i := range c.Implementations {
				if _, isProgram := kernels.ProgramOf(i.Name); !isProgram || i.Missing() != nil {
					continue
				}
				call, err := problem.Bind(i.Name)
				if err != nil {
					t.Errorf("%s at %d: %v", c.Name, size, err)
				} else {
					call.Release()
				}
				break
			}
			kernels.Release(problem)
		}
	}
}

// No shape overflows, and whatever is affordable has tensors that fit.
func TestAffordable(t *testing.T) {
	for _, s := range catalogue.Spaces(&kernels.Backends{}) {
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
			if err := s.Affordable(long); err == nil && s.Axes[i].Name != "hop" && s.Axes[i].Name != "stride" { // long ones have less work
				t.Errorf("%s with %s=2^40 is affordable", s.Operation, s.Axes[i].Name)
			}
		}
	}
}
