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
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// librosa reads an array of librosa's results. Each package of an operation keeps those that it is compared with.
func librosa[T float32 | float64 | int64](t *testing.T, operation, name string) []T {
	return kerneltest.ReadArchived[T](t, filepath.Join("..", "kernels", operation, "testdata", "librosa.npz"), name)
}

// found is what librosa finds in a signal. Its matrices are row-major, with a row for each frame that is kept.
type found struct {
	frames              int   // of the signal
	kept                []int // frames of mfcc, chroma and onset
	mfcc, chroma, onset []float32
	keptLags            []int // frames of tempogram
	tempogram           []float32
	tempo               float64
	beats               []int64
}

// compare compares features with what librosa found.
func (want found) compare(t *testing.T, name string, f Features) {
	t.Helper()
	for _, matrix := range []struct {
		name      string
		got, want []float32
		kept      []int
		columns   int
		differ    func(got, want []float32) float64
		allowed   float64
	}{
		{"mfcc", f.MFCC, want.mfcc, want.kept, 20, relative, 1e-5},
		{"chroma", f.Chroma, want.chroma, want.kept, 12, relative, 1e-5},
		{"onset", f.Onsets, want.onset, want.kept, 1, relative, 1e-4},
		{"tempogram", f.Tempogram, want.tempogram, want.keptLags, 384, greatest, 1e-4},
	} {
		if len(matrix.got) != want.frames*matrix.columns || len(matrix.want) != len(matrix.kept)*matrix.columns {
			t.Fatalf("%s: %s has %d values of %d frames, and librosa's has %d of %d frames", name, matrix.name, len(matrix.got), want.frames,
				len(matrix.want), len(matrix.kept))
		}
		if e := matrix.differ(rows(matrix.got, matrix.columns, matrix.kept), matrix.want); !(e <= matrix.allowed) {
			t.Errorf("%s: %s differs by %.2g, want at most %g", name, matrix.name, e, matrix.allowed)
		}
	}
	if !(math.Abs(f.Tempo-want.tempo) <= 1e-9*want.tempo) {
		t.Errorf("%s: %v beats a minute, want %v", name, f.Tempo, want.tempo)
	}
	if !slices.EqualFunc(f.Beats, want.beats, func(got uint32, want int64) bool { return int64(got) == want }) {
		t.Errorf("%s: beats %v, want %v", name, f.Beats, want.beats)
	}
}

// rows returns the given rows of a row-major matrix.
func rows(matrix []float32, columns int, kept []int) (of []float32) {
	for _, row := range kept {
		of = append(of, matrix[row*columns:][:columns]...)
	}
	return of
}

// transposed returns the transpose of a matrix of so many columns.
func transposed[T float32 | float64](matrix []T, columns int) []float32 {
	of, count := make([]float32, len(matrix)), len(matrix)/columns
	for i, v := range matrix {
		of[i%columns*count+i/columns] = float32(v)
	}
	return of
}

// greatest returns the greatest difference of a value of two tensors.
func greatest(got, want []float32) (d float64) {
	for i, v := range want {
		d = max(d, math.Abs(float64(got[i])-float64(v)))
	}
	return d
}

// every returns every step-th of n frames.
func every(step, n int) (frames []int) {
	for f := 0; f < n; f += step {
		frames = append(frames, f)
	}
	return frames
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

// parted are ways to divide a recording, by the most frames of a part. The second is that of a program without a GPU.
var parted = []struct {
	name string
	most int
}{{"whole", partOnGPU}, {"in parts", partOnProcessor}, {"in parts of 50 frames", 50}, {"in parts of a frame", 1}}

// TestLibrosa compares the analysis of librosa's signal with librosa's results, whole and in parts.
func TestLibrosa(t *testing.T) {
	signal := kerneltest.Signal(5 * kerneltest.SignalRate)
	frames := 1 + len(signal)/512
	want := found{
		frames:   frames,
		kept:     every(1, frames),
		mfcc:     transposed(librosa[float32](t, "mfcc", "mfcc_20"), frames),
		chroma:   librosa[float32](t, "chroma", "chroma_12"), // frame by frame in the file
		onset:    librosa[float32](t, "onset", "onset_strength"),
		keptLags: every(8, frames),
		tempo:    librosa[float64](t, "tempogram", "tempo")[0],
		beats:    librosa[int64](t, "beats", "beat_frames"),
	}
	want.tempogram = transposed(librosa[float64](t, "tempogram", "tempogram_384"), len(want.keptLags))
	for _, way := range parted {
		a := newTestAnalysis(t, AnalysisParams{SampleRate: kerneltest.SignalRate})
		inPartsOf(a, way.most)
		f, err := a.Run(signal)
		if err != nil {
			t.Fatal(err)
		}
		want.compare(t, way.name, f)
	}
}

// TestLibrosaOnRecording compares the analysis of a recording, and of a song of four minutes made from it, with librosa's
// results, whole and in parts. lab/librosa/recording.py writes them.
func TestLibrosaOnRecording(t *testing.T) {
	recording, err := audio.ReadWAV("../../shared/audio/music_22050.wav")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const archive = "testdata/recording.npz"
	copies := kerneltest.ReadArchived[int64](t, archive, "song_copies")[0]
	for _, signal := range []struct {
		name    string
		samples []float32
	}{{"recording", recording.Samples}, {"song", slices.Repeat(recording.Samples, int(copies))}} {
		read := func(name string) []float32 { return kerneltest.ReadArchived[float32](t, archive, signal.name+"_"+name) }
		frames := func(name string) (kept []int) {
			for _, f := range kerneltest.ReadArchived[int64](t, archive, signal.name+"_"+name) {
				kept = append(kept, int(f))
			}
			return kept
		}
		want := found{
			kept: frames("frames"), mfcc: read("mfcc"), chroma: read("chroma"), onset: read("onset"),
			keptLags: frames("tempogram_frames"), tempogram: read("tempogram"),
			tempo: kerneltest.ReadArchived[float64](t, archive, signal.name+"_tempo")[0],
			beats: kerneltest.ReadArchived[int64](t, archive, signal.name+"_beats"),
		}
		want.frames = 1 + want.kept[len(want.kept)-1] // the last one is kept
		for _, way := range parted {
			a := newTestAnalysis(t, AnalysisParams{SampleRate: recording.SampleRate})
			inPartsOf(a, way.most)
			f, err := a.Run(signal.samples)
			if err != nil {
				t.Fatal(err)
			}
			want.compare(t, signal.name+" "+way.name, f)
		}
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

// Without a calibration the dispatcher knows nothing of any stage, long recordings or short ones, and a route leaves it none.
func TestUnknownStages(t *testing.T) {
	all := []string{"stft", "power", "mel", "chroma", "decibels", "mfcc", "onset", "tempogram", "tempo", "beats"}
	a, err := NewAnalysis(nil, AnalysisParams{SampleRate: 22050})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if before := a.Unknown(); before != nil {
		t.Errorf("before the first call: %q", before)
	}
	for _, seconds := range []int{2, 60} {
		samples := make([]float32, seconds*22050)
		kernels.Noise(samples, 1)
		for plan, want := range map[string][]string{Stages: all, Processor: {}} {
			if err := a.Follow(plan, len(samples)); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Run(samples); err != nil {
				t.Fatal(err)
			}
			got := a.Unknown()
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
				t.Errorf("%d s by the plan %s: nothing is known of %q, want %q", seconds, plan, got, want)
			}
		}
	}
}

// A stage that somebody forces is no unknown one.
func TestForcedStagesAreKnown(t *testing.T) {
	t.Setenv(dispatch.ForceVariable, "mel=go")
	d, err := dispatch.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewAnalysis(d, AnalysisParams{SampleRate: 22050})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := a.Run(make([]float32, 22050)); err != nil {
		t.Fatal(err)
	}
	if got := a.Unknown(); slices.Contains(got, "mel") || len(got) != 9 {
		t.Errorf("nothing is known of %q", got)
	}
}
