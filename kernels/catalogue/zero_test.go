package catalogue_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"crossover/kernels/attention"
	"crossover/kernels/autocorrelation"
	"crossover/kernels/beats"
	"crossover/kernels/biquad"
	"crossover/kernels/chroma"
	"crossover/kernels/conv1d"
	"crossover/kernels/convlayer"
	"crossover/kernels/decibels"
	"crossover/kernels/elementwise"
	"crossover/kernels/fft"
	"crossover/kernels/glu"
	"crossover/kernels/linear"
	"crossover/kernels/lora"
	"crossover/kernels/matmul"
	"crossover/kernels/mel"
	"crossover/kernels/mfcc"
	"crossover/kernels/norm"
	"crossover/kernels/onset"
	"crossover/kernels/oscillator"
	"crossover/kernels/peaks"
	"crossover/kernels/phase"
	"crossover/kernels/recurrence"
	"crossover/kernels/recurrent"
	"crossover/kernels/reduce"
	"crossover/kernels/resample"
	"crossover/kernels/rmsnorm"
	"crossover/kernels/sampling"
	"crossover/kernels/softmax"
	"crossover/kernels/stagegraph"
	"crossover/kernels/stft"
	"crossover/kernels/tempogram"
)

// zeroPlans are the zero values of all typed plans.
var zeroPlans = []any{
	new(attention.Plan), new(autocorrelation.Plan), new(beats.Plan), new(biquad.Plan), new(biquad.CascadePlan), new(chroma.Plan), new(conv1d.Plan),
	new(conv1d.Stream), new(convlayer.Plan1D), new(convlayer.Plan2D), new(decibels.Plan), new(elementwise.Plan), new(elementwise.ComplexPlan),
	new(fft.Plan), new(fft.InversePlan), new(fft.ComplexPlan), new(glu.Plan), new(linear.Plan), new(lora.Plan), new(matmul.Plan), new(mel.Plan),
	new(mfcc.Plan), new(norm.LayerPlan), new(norm.GroupPlan), new(onset.Plan), new(oscillator.Plan), new(peaks.Plan), new(phase.Plan),
	new(recurrence.Plan[recurrence.CombParams]), new(recurrent.LSTMPlan), new(recurrent.GRUPlan), new(reduce.Plan), new(reduce.IndexPlan),
	new(resample.Plan), new(rmsnorm.Plan), new(sampling.GreedyPlan), new(sampling.TopKPlan), new(softmax.Plan), new(stagegraph.Plan),
	new(stft.Plan), new(stft.InversePlan), new(tempogram.Plan), new(tempogram.TempoPlan),
}

// TestZeroPlans calls every method of plans that no constructor has made. A method that needs more than the zero value panics
// with a sentence that names the package and says what to do.
func TestZeroPlans(t *testing.T) {
	for _, plan := range zeroPlans {
		v := reflect.ValueOf(plan)
		of, _, _ := strings.Cut(path.Base(v.Type().Elem().String()), ".") // the package: "kernels.RowPlan[crossover/kernels/softmax.Params]"
		refused := 0
		for i := range v.NumMethod() {
			method := v.Type().Method(i)
			said := called(v.Method(i))
			if said == nil {
				continue
			}
			refused++
			if want := of + ": used as a zero value (make it by a function of the package whose name begins with New)"; said != want {
				t.Errorf("%v.%s panics with %q, want %q", v.Type().Elem(), method.Name, fmt.Sprint(said), want)
			}
		}
		if refused < 3 {
			t.Errorf("only %d methods of the zero value of %v panic, want those that compute and explain, and Close", refused, v.Type().Elem())
		}
	}
}

// called calls a method with slices of two elements and numbers that are 1. It returns what the method panicked with.
func called(method reflect.Value) (said any) {
	defer func() { said = recover() }()
	var in []reflect.Value
	for i := range method.Type().NumIn() {
		switch of := method.Type().In(i); of.Kind() {
		case reflect.Slice:
			in = append(in, reflect.MakeSlice(of, 2, 2))
		default:
			in = append(in, reflect.ValueOf(1).Convert(of))
		}
	}
	method.Call(in)
	return nil
}

// TestZeroPlansAreAll counts the types that constructors of plans return, in the sources.
func TestZeroPlansAreAll(t *testing.T) {
	files, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	constructor := regexp.MustCompile(`(?m)^func New\w*\(d \*dispatch\.Dispatcher.*\) \(?\*(\w+)`)
	found := map[string]bool{}
	for _, file := range files {
		for _, match := range constructor.FindAllStringSubmatch(string(must(os.ReadFile(file))), -1) {
			found[filepath.Base(filepath.Dir(file))+"."+match[1]] = true
		}
	}
	if len(found) != len(zeroPlans) {
		t.Errorf("%d zero values are tested, and constructors return %d types: %v", len(zeroPlans), len(found), slices.Sorted(maps.Keys(found)))
	}
}
