package plots

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/plot/cmpimg"

	"crossover/calibration"
)

var update = flag.Bool("update", false, "write the golden images instead of comparing with them")

// caseChart returns the chart of one experiment.
func caseChart(e experiment) *Chart {
	h, runs := testHost(e)
	return CaseChart(h, &h.Cases[0], runs[e.name])
}

// simulated returns the chart of one experiment on a simulated host.
func simulated(e experiment) *Chart {
	h, runs := testHost(e)
	h.ID, h.Simulated = "apple-m3-max-40", true
	h.Facts = calibration.Facts{
		Chip: "Apple M3 Max", Cores: 16, PerformanceCores: 12, EfficiencyCores: 4, MemoryBytes: 64 << 30,
		GPU: "Apple M3 Max", GPUCores: 40,
	}
	h.Environment.OS, h.Environment.OSVersion = "darwin", "macOS 15.1"
	return CaseChart(h, &h.Cases[0], runs[e.name])
}

// throughput returns the chart of one experiment in throughput mode, on a host with a GPU.
func throughput(e experiment) *Chart {
	h, runs := testHost(e)
	h.ID = "intel-xeon-16-nvidia-h200"
	h.Facts = calibration.Facts{Chip: "Intel Xeon", Cores: 16, MemoryBytes: 126 << 30, GPU: "NVIDIA H200", GPUCores: 132, GPUMemoryBytes: 140 << 30}
	h.Environment.Driver = "CUDA 13.0, driver 580.159.04"
	h.Method.Mode, h.Method.InFlight = "throughput", 64
	return CaseChart(h, &h.Cases[0], runs[e.name])
}

// markedChart returns a chart that has every mark.
func markedChart() *Chart {
	h, runs := everything()
	return CaseChart(h, &h.Cases[0], runs)
}

func overviewChart(experiments ...experiment) *Chart {
	h, runs := testHost(experiments...)
	return Overview(h, runs)
}

// placedChart returns the chart of a line of shapes in three placements.
func placedChart() *Chart {
	h, c, runs, others := threePlacements()
	return CaseChart(h, c, runs, others...)
}

func mapChart(o *calibration.Operation, running string) *Chart {
	_, chart := mapOf(o, running)
	return chart
}

// goldenResolution is that of the images in testdata, in pixels per inch. They take half of the room that they would at that of a
// chart, and a person can still read them.
const goldenResolution = 72

func TestGoldenImages(t *testing.T) {
	for name, chart := range map[string]*Chart{
		"two_thresholds": caseChart(twoThresholds),
		"no_crossover":   caseChart(noCrossover),
		"tie":            caseChart(tie),
		"unresolved":     caseChart(unresolved),
		"degraded":       caseChart(degraded),
		"many":           caseChart(manyImplementations),
		"simulated":      simulated(tinyAxis),
		"resident":       throughput(resident),
		"marked":         markedChart(),
		"placements":     placedChart(),
		"overview":       overviewChart(catalogue()...),
		"map":            mapChart(transform(), "n"),
		"placed_map":     placedMap(),
		"gantt":          ganttChart(),
		"stages":         stageChart(),
		"latencies":      LatencyChart(testLatencies()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			n, err := chart.WriteTo(&got)
			if err != nil {
				t.Fatal(err)
			}
			if n != int64(got.Len()) {
				t.Errorf("WriteTo returned %d bytes and wrote %d", n, got.Len())
			}
			const most = 70_000 // bytes; limited because an image for each line of shapes and host is committed
			if got.Len() > most {
				t.Errorf("image of %d bytes, want at most %d", got.Len(), most)
			}
			got.Reset()
			if _, err := chart.writeAt(&got, goldenResolution); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+"_golden.png")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			// Processors with a fused multiply-add round the edges of lines differently. A blend may then become the next
			// colour of the palette, up to a tenth of the distance from black to white. A line that moves by a pixel differs
			// by far more.
			same, err := cmpimg.EqualApprox("png", got.Bytes(), want, 0.1)
			if err != nil {
				t.Fatal(err)
			}
			if !same {
				path := filepath.Join(os.TempDir(), name+".png")
				err := os.WriteFile(path, got.Bytes(), 0o644)
				t.Errorf("the image differs from %s; look at %s (%v) and run with -update if it is right", golden, path, err)
			}
		})
	}
}

func TestChartsAreDeterministic(t *testing.T) {
	draw := func() []byte {
		var b bytes.Buffer
		if _, err := caseChart(degraded).WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := overviewChart(tinyAxis, degraded).WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := mapChart(cube(), "n").WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if !bytes.Equal(draw(), draw()) {
		t.Error("two charts of the same data differ")
	}
}
