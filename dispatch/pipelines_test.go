package dispatch

import (
	"testing"

	"crossover/calibration"
)

func TestPipeline(t *testing.T) {
	file := testFile()
	for i := range file.Hosts {
		length := func(n int, perByte float64) calibration.PipelineLength {
			return calibration.PipelineLength{Elements: []int{n}, Blocks: 3, Routes: []calibration.Route{
				{Name: "gpu", Implementations: []string{"metal", "metal"}, MedianSeconds: 1e-3}}, Parts: []calibration.Part{
				{Name: "a", Implementation: "go", MedianSeconds: 7, PredictedSeconds: 1},
				{Name: "turned", MedianSeconds: perByte * float64(4*n), Bytes: 4 * n}}}
		}
		file.Hosts[i].SetPipeline(calibration.Pipeline{Name: "song", Stages: []string{"a", "b"}, Created: calibrated,
			Lengths: []calibration.PipelineLength{length(1000, 1e-9), length(100_000, 3e-9), length(200_000, 2e-9)}})
	}
	d := newDispatcherFor(t, file, m3Max)
	for _, test := range []struct {
		name   string
		stages []string
		want   bool
	}{
		{"song", []string{"a", "b"}, true},
		{"song", []string{"a", "c"}, false},
		{"song", []string{"a"}, false},
		{"another", []string{"a", "b"}, false},
	} {
		got, found := d.Pipeline(test.name, test.stages)
		if found != test.want || found && len(got.Lengths) != 3 {
			t.Errorf("%s %v: %v %v, want %v", test.name, test.stages, got, found, test.want)
		}
	}
	if got := d.MoveSeconds(); got != 2e-9 {
		t.Errorf("a byte takes %g s, want 2e-9", got)
	}
	if _, found := (*Dispatcher)(nil).Pipeline("song", nil); found || (*Dispatcher)(nil).MoveSeconds() != 0 {
		t.Error("a pipeline without a calibration")
	}
}
