package songs

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crossover/audio"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// librosa reads an array of librosa's results. Each package of an operation keeps those that it is compared with.
func librosa[T float32 | float64 | int64](t *testing.T, operation, name string) []T {
	return kerneltest.ReadArchived[T](t, filepath.Join("..", "kernels", operation, "testdata", "librosa.npz"), name)
}

// newTestAnalysis returns an analysis that ends with the test.
func newTestAnalysis(t *testing.T, p AnalysisParams) *Analysis {
	t.Helper()
	a, err := NewAnalysis(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// inPartsOf makes an analysis compute recordings in parts of at most so many frames.
func inPartsOf(a *Analysis, most int) {
	a.pipeline.parts.onProcessor, a.pipeline.parts.onGPU = most, most
}

// TestLibrosa compares the analysis of librosa's signal with librosa's results, whole and in parts.
func TestLibrosa(t *testing.T) {
	signal := kerneltest.Signal(5 * kerneltest.SignalRate)
	for _, test := range []struct {
		name string
		most int
	}{{"whole", partOnGPU}, {"in parts of 50 frames", 50}, {"in parts of a frame", 1}} {
		a := newTestAnalysis(t, AnalysisParams{SampleRate: 22050})
		inPartsOf(a, test.most)
		f, err := a.Run(signal)
		if err != nil {
			t.Fatal(err)
		}
		frames := a.Frames(len(signal))
		for _, matrix := range []struct {
			name    string
			got     []float32
			want    []float32
			turned  bool // as librosa has it
			allowed float64
		}{
			{"mfcc", f.MFCC, librosa[float32](t, "mfcc", "mfcc_20"), true, 1e-5},
			{"chroma", f.Chroma, librosa[float32](t, "chroma", "chroma_12"), false, 1e-5},
			{"onset", f.Onsets, librosa[float32](t, "onset", "onset_strength"), false, 1e-4},
		} {
			want := make([]float64, len(matrix.want))
			for i, v := range matrix.want {
				if matrix.turned {
					i = i%frames*(len(want)/frames) + i/frames
				}
				want[i] = float64(v)
			}
			if len(matrix.got) != len(want) {
				t.Fatalf("%s: %s has %d values, want %d", test.name, matrix.name, len(matrix.got), len(want))
			}
			if e := kernels.RelativeError(matrix.got, want); !(e <= matrix.allowed) {
				t.Errorf("%s: %s has a relative error of %.2g", test.name, matrix.name, e)
			}
		}
		const window, kept = 384, 8 // every eighth frame of librosa's tempogram is kept
		lags := librosa[float64](t, "tempogram", "tempogram_384")
		columns := len(lags) / window
		for i, want := range lags {
			if got := float64(f.Tempogram[i%columns*kept*window+i/columns]); !(math.Abs(got-want) <= 1e-4) {
				t.Fatalf("%s: the tempogram of frame %d has %v at lag %d, want %v", test.name, i%columns*kept, got, i/columns, want)
			}
		}
		if want := librosa[float64](t, "tempogram", "tempo")[0]; math.Abs(f.Tempo-want) > 1e-9*want {
			t.Errorf("%s: %v beats a minute, want %v", test.name, f.Tempo, want)
		}
		var want []uint32
		for _, n := range librosa[int64](t, "beats", "beat_frames") {
			want = append(want, uint32(n))
		}
		if !slices.Equal(f.Beats, want) {
			t.Errorf("%s: beats %v, want %v", test.name, f.Beats, want)
		}
	}
}

// A recording that was read from a file, as a program analyses it.
func TestRecording(t *testing.T) {
	recording, err := audio.ReadWAV("../../shared/audio/music_22050.wav")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	a := newTestAnalysis(t, AnalysisParams{SampleRate: recording.SampleRate})
	f, err := a.Run(recording.Samples)
	if err != nil {
		t.Fatal(err)
	}
	if !(f.Tempo > 30 && f.Tempo < 320) || len(f.Beats) < 2 || !slices.IsSorted(f.Beats) {
		t.Errorf("%v beats a minute, beats %v", f.Tempo, f.Beats)
	}
}

// Parts hold the same frames as the whole recording, also where it ends in the middle of a hop, and at its last frame.
func TestPartsAreWhole(t *testing.T) {
	music := kernels.GeneratedInput().Samples
	p := AnalysisParams{SampleRate: 8000, NFFT: 256, Hop: 100, Bands: 20, Coefficients: 5, Window: 32}
	for _, n := range []int{1, 99, 100, 101, 255, 1000, 1055, 3199, 3200, 3201} {
		whole, parts := newTestAnalysis(t, p), newTestAnalysis(t, p)
		inPartsOf(parts, 8)
		want, err := whole.Run(music[:n])
		if err != nil {
			t.Fatal(err)
		}
		got, err := parts.Run(music[:n])
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []struct {
			name      string
			got, want []float32
		}{{"mfcc", got.MFCC, want.MFCC}, {"chroma", got.Chroma, want.Chroma}, {"onset", got.Onsets, want.Onsets},
			{"tempogram", got.Tempogram, want.Tempogram}} {
			if e := relative(m.got, m.want); len(m.got) != len(m.want) || !(e <= 1e-4) {
				t.Errorf("%d samples: %s has %d values and differs by %.2g", n, m.name, len(m.got), e)
			}
		}
		if got.Tempo != want.Tempo || !slices.Equal(got.Beats, want.Beats) {
			t.Errorf("%d samples: %v and %v, want %v and %v", n, got.Tempo, got.Beats, want.Tempo, want.Beats)
		}
	}
}

// relative returns the relative difference of two tensors.
func relative(got, want []float32) float64 {
	wide := make([]float64, len(want))
	for i, v := range want {
		wide[i] = float64(v)
	}
	return kernels.RelativeError(got[:min(len(got), len(want))], wide[:min(len(got), len(want))])
}

// Recordings that are seldom, at rates that are.
func TestStrangeRecordings(t *testing.T) {
	music := kernels.GeneratedInput().Samples
	for _, rate := range []float64{8000, 192000} {
		a := newTestAnalysis(t, AnalysisParams{SampleRate: rate})
		for _, test := range []struct {
			name    string
			samples []float32
			check   func(f Features) bool
		}{
			{"music", music[:60001], func(f Features) bool { return f.Tempo > 0 && slices.IsSorted(f.Beats) }},
			{"a sample", music[:1], func(f Features) bool { return len(f.Onsets) == 1 && f.Onsets[0] == 0 && len(f.Beats) == 0 }},
			{"silence", make([]float32, 30000), func(f Features) bool {
				return len(f.Beats) == 0 && slices.Max(f.Onsets) == 0 && slices.Max(f.Chroma) == 0 && f.Tempo > 0
			}},
			{"a NaN", append(slices.Clone(music[:30000]), float32(math.NaN())), func(f Features) bool {
				return len(f.Beats) == 0 && f.Tempo == 0
			}},
			{"an infinity", append(slices.Clone(music[:30000]), float32(math.Inf(1))), func(f Features) bool {
				return len(f.Beats) == 0 && f.Tempo == 0
			}},
			{"denormals", slices.Repeat([]float32{1e-42, -1e-42}, 15000), func(f Features) bool { return len(f.Beats) == 0 }},
			{"great samples", slices.Repeat([]float32{1e30, -1e30}, 15000), func(f Features) bool { return len(f.Onsets) == 59 }},
			{"music again", music[:60001], func(f Features) bool { return f.Tempo > 0 }},
		} {
			f, err := a.Run(test.samples)
			if err != nil {
				t.Fatalf("%g Hz, %s: %v", rate, test.name, err)
			}
			if len(f.Onsets) != 1+len(test.samples)/512 || len(f.MFCC) != 20*len(f.Onsets) || len(f.Chroma) != 12*len(f.Onsets) {
				t.Errorf("%g Hz, %s: %d frames, %d coefficients, %d chroma", rate, test.name, len(f.Onsets), len(f.MFCC), len(f.Chroma))
			}
			if !test.check(f) {
				t.Errorf("%g Hz, %s: %v beats a minute, beats %v, onsets %.2g to %.2g", rate, test.name, f.Tempo, f.Beats,
					slices.Min(f.Onsets), slices.Max(f.Onsets))
			}
		}
		if _, err := a.Run(nil); !errors.Is(err, ErrEmpty) {
			t.Errorf("no samples: %v", err)
		}
	}
}

func TestAnalysisRefuses(t *testing.T) {
	for _, test := range []struct {
		params AnalysisParams
		want   string
	}{
		{AnalysisParams{}, "SampleRate"},
		{AnalysisParams{SampleRate: math.Inf(1)}, "SampleRate"},
		{AnalysisParams{SampleRate: 22050, NFFT: 3}, "NFFT"},
		{AnalysisParams{SampleRate: 22050, Hop: -1}, "Hop"},
		{AnalysisParams{SampleRate: 22050, Bands: -1}, "Bands"},
		{AnalysisParams{SampleRate: 22050, Coefficients: 200}, "Coefficients"},
		{AnalysisParams{SampleRate: 22050, Window: 1}, "Window"},
		{AnalysisParams{SampleRate: 1, Hop: 512}, "frames"},
	} {
		if _, err := NewAnalysis(nil, test.params); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(test.want)) {
			t.Errorf("%+v: got %v, want an error that says %q", test.params, err, test.want)
		}
	}
}
