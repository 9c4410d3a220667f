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
		{Shape: []int{441, 64}, Calls: 1, MedianSeconds: []float64{2, 1, 3}},
		{Shape: []int{2000, 1}, Calls: 1, MedianSeconds: []float64{1, 0, 2}},
	}
	own.Cases, own.Operations = []calibration.Case{sum}, []calibration.Operation{fft}
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
	const other = "the entry of this host has nothing of the operation, so the near match apple-m3-max-40 stands in: its chip is Apple M3 Max and this host's is Apple M3"
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
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	gone, err := Load(path, WithHost(m3))
	if err == nil || gone != nil {
		t.Errorf("a removed file was loaded")
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
