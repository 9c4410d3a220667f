package dispatch

import (
	"testing"

	"crossover/calibration"
)

func TestPipeline(t *testing.T) {
	file := testFile()
	for i := range file.Hosts {
		length := func(n int) calibration.PipelineLength {
			return calibration.PipelineLength{Elements: []int{n}, Blocks: 3, Routes: []calibration.Route{
				{Name: "gpu", Implementations: []string{"metal", "metal"}, MedianSeconds: 1e-3}}}
		}
		file.Hosts[i].SetPipeline(calibration.Pipeline{Name: "song", Stages: []string{"a", "b"}, Created: calibrated,
			Lengths: []calibration.PipelineLength{length(1000), length(100_000)}})
	}
	d := newDispatcherFor(t, file, m3Max)
	for _, test := range []struct {
		name     string
		stages   []string
		elements []int
		want     int // 0 for none
	}{
		{"song", []string{"a", "b"}, []int{1}, 1000},
		{"song", []string{"a", "b"}, []int{9_000}, 1000},
		{"song", []string{"a", "b"}, []int{11_000}, 100_000},
		{"song", []string{"a", "b"}, []int{0}, 1000},
		{"song", []string{"a", "c"}, []int{1000}, 0},
		{"song", []string{"a", "b"}, []int{1000, 1}, 0},
		{"another", []string{"a", "b"}, []int{1000}, 0},
	} {
		got, found := d.Pipeline(test.name, test.stages, test.elements)
		if found != (test.want > 0) || found && got.Elements[0] != test.want {
			t.Errorf("%s %v at %v: %v, want %d", test.name, test.stages, test.elements, got.Elements, test.want)
		}
	}
	if _, found := (*Dispatcher)(nil).Pipeline("song", nil, nil); found {
		t.Error("a pipeline without a calibration")
	}
}
