package dispatch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crossover/calibration"
)

// partialFile has the predictedFile of an M3 Max and an entry of an M3, on which the sums and two shapes alone were measured.
func partialFile() *calibration.File {
	file := predictedFile()
	own := newHost(m3)
	sum := testCases("metal")[4]
	sum.Segments[0].Implementation, sum.Segments[0].Next[0].Implementation = "accelerate", "go"
	fft := transforms()
	fft.Surface.Implementations, fft.Surface.Scales, fft.Surface.Shapes = nil, nil, nil
	fft.Implementations = []calibration.Implementation{{Name: "metal", Processor: "gpu"}, {Name: "own", Processor: "cpu"}, {Name: "go", Processor: "cpu"}}
	fft.Asked = []calibration.Asked{
		{Shape: []int{441, 3}, Calls: 1, MedianSeconds: []float64{2, 1, 3}},
		{Shape: []int{441, 64}, Calls: 1, MedianSeconds: []float64{2, 1, 3}},
		{Shape: []int{2000, 1}, Calls: 1, MedianSeconds: []float64{1, 0, 2}},
	}
	line := sum // which somebody asked for
	line.Name, line.Operation, line.Parameters = "stft/n_fft=2048,hop=512", "stft", map[string]int{"n_fft": 2048, "hop": 512}
	line.Axis, line.Sizes, line.Verdict = calibration.Axis{Name: "n", Unit: "samples", From: 1024, To: 65536}, []int{1024, 4096, 16384, 65536}, calibration.Always
	line.Segments = []calibration.Segment{{From: 1024, To: 65536, Implementation: "go"}}
	own.Cases, own.Operations = []calibration.Case{line, sum}, []calibration.Operation{fft}
	file.Hosts = append(file.Hosts, own)
	return file
}

// Somebody who measured a few operations or shapes on this host loses nothing of what the near match knows of the others.
func TestTheNearMatchKnowsTheOtherOperations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calibration.json")
	file := partialFile()
	if err := calibration.Save(path, file); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(path, WithHost(m3))
	if err != nil {
		t.Fatal(err)
	}
	const other = "the entry of this host says nothing of such calls, so the near match apple-m3-max-40 stands in: its chip is Apple M3 Max and this host's is Apple M3"
	for name, d := range map[string]*Dispatcher{"a file in memory": newDispatcherFor(t, file, m3), "a file on disk": loaded} {
		if d.Fallback() != "" {
			t.Errorf("%s: there is an entry, but Fallback says %q", name, d.Fallback())
		}
		for _, c := range []struct {
			what, want     string
			e              Explanation
			answer         Answer
			host, fallback string
		}{
			{"a case of its own", "accelerate", d.Case("sum").Explain(1000), Measured, "apple-m3-10", ""},
			{"a case of the match", "accelerate", d.Case("fft/batch=1").Explain(1000), Measured, "apple-m3-max-40", other},
			{"a line that the match predicts", "accelerate", d.Case("stft/n_fft=1024,hop=256").Explain(48000), Predicted, "apple-m3-max-40", other},
			{"a shape that the match predicts", "metal", d.Operation("fft").ExplainShape(442, 64), Predicted, "apple-m3-max-40", other},
			{"a shape on a line of the match", "metal", d.Operation("fft").ExplainShape(30000, 1), Measured, "apple-m3-max-40", other},
			{"a shape that somebody asked for", "own", d.Operation("fft").ExplainShape(441, 64), Measured, "apple-m3-10", ""},
			{"the same on a line that jumps", "own", d.Case("fft/batch=3").Explain(441), Measured, "apple-m3-10", ""},
			{"beside it", "go", d.Case("fft/batch=3").Explain(442), Predicted, "apple-m3-max-40", other},
			{"a line that somebody asked for", "go", d.Case("stft/n_fft=2048,hop=512").Explain(48000), Measured, "apple-m3-10", ""},
			{"a shape on that line", "go", d.Operation("stft").ExplainShape(2048, 512, 48000), Measured, "apple-m3-10", ""},
			{"a shape beside that line", "accelerate", d.Operation("stft").ExplainShape(2048, 510, 48000), Predicted, "apple-m3-max-40", other},
			{"the same in a case", "own", d.Case("fft/n=441").Explain(64), Measured, "apple-m3-10", ""},
			{"the same on a line of the match", "metal", d.Case("fft/batch=1").Explain(2000), Measured, "apple-m3-10", ""},
			{"a case that neither has", CPU, d.Case("mel/bands=80").Explain(1000), Unknown, "apple-m3-10", ""},
		} {
			if c.e.Implementation != c.want || c.e.Answer != c.answer || c.e.Host != c.host || c.e.Fallback != c.fallback {
				t.Errorf("%s, %s: %s\nby %q because %q, answer %q", name, c.what, c.e, c.e.Host, c.e.Fallback, c.e.Answer)
			}
		}
		if times := d.Times("fft", []int{441, 64}, "fft/batch=64", 441); !slices.ContainsFunc(times, func(m Time) bool { return m.Implementation == "own" && m.Seconds == 1 }) {
			t.Errorf("%s: a plan of several calls gets the times %v", name, times)
		}
	}
}

// A program may be in another folder when the match is read, and may force a case that only the match has.
func TestANearMatchIsFoundAgain(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	if err := calibration.Save("calibration.json", partialFile()); err != nil {
		t.Fatal(err)
	}
	t.Setenv(ForceVariable, "")
	d, err := Load("calibration.json", WithHost(m3))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	expect(t, d.Case("fft/batch=1"), 1000, "accelerate", "fastest measured")
	t.Setenv(ForceVariable, "matmul/square=go")
	if d, err = Load(filepath.Join(folder, "calibration.json"), WithHost(m3)); err != nil {
		t.Fatal(err)
	}
	expect(t, d.Case("matmul/square"), 1000, "go", "asks for it")
}

// A case that both have is this host's.
func TestACaseOfBothIsThisHosts(t *testing.T) {
	file := partialFile()
	own := file.Hosts[2].Cases[0] // go at every size
	own.Name, own.Operation, own.Parameters, own.Sizes = "fft/batch=64", "fft", map[string]int{"batch": 64}, []int{1024, 4096, 16384, 65536}
	file.Hosts[2].Cases = append([]calibration.Case{own}, file.Hosts[2].Cases...)
	d := newDispatcherFor(t, file, m3)
	for _, e := range []Explanation{d.Case("fft/batch=64").Explain(4096), d.Operation("fft").ExplainShape(4096, 64)} {
		if e.Implementation != "go" || e.Host != "apple-m3-10" {
			t.Errorf("%s", e)
		}
	}
}

// One size of an operation with one axis says less than what the match measured.
func TestANearMatchKnowsMoreThanOneSize(t *testing.T) {
	file := partialFile()
	sum := &file.Hosts[2].Cases[1]
	sum.Axis.From, sum.Axis.To, sum.Segments = 100, 100, []calibration.Segment{{From: 100, To: 100, Implementation: "accelerate"}}
	if e := newDispatcherFor(t, file, m3).Case("sum").Explain(1000); e.Implementation != "go" || e.Host != "apple-m3-max-40" {
		t.Errorf("%s", e)
	}
}

// A near match that cannot be read when it is needed takes nothing from the entry of this host.
func TestANearMatchThatIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calibration.json")
	if err := calibration.Save(path, partialFile()); err != nil {
		t.Fatal(err)
	}
	d, err := Load(path, WithHost(m3))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	lines := heard(t)
	defer checkHeard(t, lines, "the near match for operations that this host's entry lacks cannot be read")
	expect(t, d.Case("sum"), 1000, "accelerate", "as fast as any")
	expect(t, d.Case("fft/batch=1"), 1000, CPU, "")
	if e := d.Operation("fft").ExplainShape(441, 64); e.Implementation != "own" || e.Host != "apple-m3-10" {
		t.Errorf("%s", e)
	}
	if err := d.Swap(partialFile()); err != nil {
		t.Fatal(err)
	}
	expect(t, d.Case("fft/batch=1"), 1000, "accelerate", "fastest measured")
}

// The GPU of a match that has another one is not chosen, and what was measured with the own one is.
func TestANearMatchWithAnotherGPU(t *testing.T) {
	file := partialFile()
	file.Hosts[1].Facts.GPU = "NVIDIA H200"
	d := newDispatcherFor(t, file, m3)
	expect(t, d.Case("fft/batch=64"), 1000, "accelerate", "metal was measured on another GPU")
	for _, e := range []Explanation{d.Operation("fft").ExplainShape(2000, 1), d.Case("fft/batch=1").Explain(2000)} {
		if e.Implementation != "metal" || e.Fallback != "" {
			t.Errorf("%s", e)
		}
	}
	if e := d.Operation("fft").ExplainShape(5000, 64); e.Implementation != "accelerate" || !strings.Contains(e.String(), "its GPU is NVIDIA H200") {
		t.Errorf("%s", e)
	}
	if times := d.Times("stft", []int{1024, 256, 48000}, "", 0); slices.ContainsFunc(times, func(m Time) bool { return m.OnGPU }) {
		t.Errorf("a plan of several calls gets the times %v", times)
	}
}
