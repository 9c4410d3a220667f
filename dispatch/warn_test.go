package dispatch

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"crossover/calibration"
)

// The tests are a program that declares these operations.
func init() {
	for _, operation := range []string{"fft", "mel", "stft"} {
		Declare(operation)
	}
}

// heard returns what warn writes from now on. It forgets all earlier warnings.
func heard(t *testing.T) *bytes.Buffer {
	t.Helper()
	warned.Clear()
	var lines bytes.Buffer
	warnings = &lines
	t.Cleanup(func() { warnings = os.Stderr })
	return &lines
}

func TestForceWarns(t *testing.T) {
	tests := []struct {
		name, force string
		file        *calibration.File
		ask         string
		have        []string
		want        string
	}{
		{"all is known", "fft=go,fft/batch=1=go", testFile(), "fft/batch=1", nil, ""},
		{"an operation without a calibration", "stft=go", nil, "stft/nfft=2048", []string{"go"}, ""},
		{"a case without a calibration", "stft/nfft=64=go", nil, "stft/nfft=2048", []string{"go"}, ""},
		{"an operation that was not measured", "mel=go", testFile(), "mel/bands=128", []string{"go"}, ""},
		{"the default", "fft=cpu", testFile(), "fft/batch=1", nil, ""},
		{"a letter swapped", "ftt=go", testFile(), "fft/batch=1", nil,
			`CROSSOVER_FORCE: ftt=go: this program has no operation "ftt" (did you mean fft, stft?)`},
		{"without a calibration too", "ftt=go", nil, "fft/batch=1", []string{"go"},
			`CROSSOVER_FORCE: ftt=go: this program has no operation "ftt" (did you mean fft, stft?)`},
		{"nothing near", "convolution=go", nil, "fft/batch=1", []string{"go"},
			`CROSSOVER_FORCE: convolution=go: this program has no operation "convolution"`},
		{"a case of a measured operation", "fft/batch=2=go", testFile(), "fft/batch=1", nil,
			`CROSSOVER_FORCE: fft/batch=2=go: the calibration of apple-m3-max-40 has no case "fft/batch=2" (did you mean fft/batch=1`},
		{"an implementation that nobody has", "fft=cuda", testFile(), "fft/batch=1", nil,
			"fft/batch=1: CROSSOVER_FORCE asks for cuda, which is not there (want "},
		{"an implementation that the program lacks", "fft=fftv", nil, "fft/batch=1", []string{"go", "fftw"},
			"fft/batch=1: CROSSOVER_FORCE asks for fftv, which is not there (want fftw, go, cpu)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(ForceVariable, test.force)
			lines := heard(t)
			d := newDispatcherFor(t, test.file, m3Max)
			c := d.Case(test.ask, test.have...)
			for range 3 { // written once, however often tables are built
				if err := d.Swap(test.file); err != nil {
					t.Fatal(err)
				}
				c.Choose(1)
			}
			checkHeard(t, lines, test.want)
			if test.file != nil {
				return
			}
			lines = heard(t)
			var none *Dispatcher
			for range 3 {
				none.Case(test.ask, test.have...).Choose(1)
			}
			checkHeard(t, lines, test.want)
		})
	}
}

// checkHeard expects one line with the given beginning, or no line for "".
func checkHeard(t *testing.T, lines *bytes.Buffer, want string) {
	t.Helper()
	got := lines.String()
	if want == "" && got != "" {
		t.Errorf("warned %q, want nothing", got)
	}
	if want != "" && (!strings.HasPrefix(got, "dispatch: "+want) || strings.Count(got, "\n") != 1) {
		t.Errorf("warned %q, want one line: dispatch: %s", got, want)
	}
}

func TestForceWithoutDispatcher(t *testing.T) {
	var none *Dispatcher
	t.Setenv(ForceVariable, "fft=fftw,stft/nfft=2048=go")
	expect(t, none.Case("fft/batch=1", "go", "fftw"), 4096, "fftw", "CROSSOVER_FORCE asks for it")
	expect(t, none.Case("stft/nfft=2048", "go", "fftw"), 4096, "go", "CROSSOVER_FORCE asks for it")
	expect(t, none.Case("sum", "go"), 4096, CPU, noCalibration)
	none.SetGPUWait(time.Hour)

	lines := heard(t)
	t.Setenv(ForceVariable, "fft")
	for range 2 {
		expect(t, none.Case("fft/batch=1", "go", "fftw"), 4096, CPU, noCalibration)
	}
	checkHeard(t, lines, `CROSSOVER_FORCE: "fft" does not begin with`)
}

// A warning offers what the program has. The reason of a choice says once that the variable does not count, on a measured line
// and elsewhere.
func TestForceOffersWhatIsThere(t *testing.T) {
	t.Setenv(ForceVariable, "fft=metal")
	lines := heard(t)
	d := newDispatcherFor(t, predictedFile(), m3Max)
	names := []string{"accelerate", "go", "metal"}
	o := d.OperationOf("fft", "key", names, func(name string) string {
		if name == "metal" {
			return NotThere
		}
		return ""
	})
	for _, shape := range [][]int{{30000, 1}, {442, 64}} {
		if e := o.ExplainShape(shape...); strings.Count(e.Reason, "which is not there") != 1 || e.Implementation == "metal" {
			t.Errorf("%v: %s", shape, e)
		}
	}
	if text := lines.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "asks for metal, which is not there (want accelerate, go, cpu)") {
		t.Errorf("it warns %q", text)
	}
}

// A program that always calls new shapes gets one warning, and dispatch keeps nothing for each shape.
func TestForceWarnsOnceForAllCases(t *testing.T) {
	t.Setenv(ForceVariable, "mel=cuda")
	lines := heard(t)
	d := newDispatcherFor(t, nil, m3Max)
	for _, name := range []string{"mel/bands=40", "mel/bands=64", "mel/bands=80"} {
		d.Case(name, "go").Choose(1)
	}
	checkHeard(t, lines, "mel/bands=40: CROSSOVER_FORCE asks for cuda, which is not there (want go, cpu)")
}
