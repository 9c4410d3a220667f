package plots

import (
	"context"
	"errors"
	"image/color"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"crossover/calibration"
)

func labels(ticks []plot.Tick) []string {
	var out []string
	for _, tick := range ticks {
		if !tick.IsMinor() {
			out = append(out, plain(tick.Label))
		}
	}
	return out
}

func TestSizeTicks(t *testing.T) {
	for name, c := range map[string]struct {
		min, max float64
		want     string
	}{
		"small whole numbers": {1, 64, "1 2 4 8 16 32 64"},
		"one octave":          {8, 16, "8 16"},
		"fft":                 {64, 1 << 20, "64 256 1Ki 4Ki 16Ki 64Ki 256Ki 1Mi"},
		"wide":                {1, 1 << 24, "1 16 256 4Ki 64Ki 1Mi 16Mi"},
		"ends between powers": {700, 9000, "1Ki 2Ki 4Ki 8Ki"},
		"less than an octave": {1030, 1950, "1 200,1 400,1 600,1 800"},
		"narrow":              {5, 7, "5 6 7"},
		"very wide":           {1, 1 << 60, "1 1Ki 1Mi 1Gi 1Ti 1Pi 1Ei"},
	} {
		t.Run(name, func(t *testing.T) {
			separator := " "
			if strings.Contains(c.want, ",") {
				separator = ","
			}
			if got := strings.Join(labels(sizeTicker{most: 10}.Ticks(c.min, c.max)), separator); got != c.want {
				t.Errorf("labels %q, want %q", got, c.want)
			}
		})
	}
}

func TestTimeTicks(t *testing.T) {
	for name, c := range map[string]struct {
		min, max float64
		want     string
	}{
		"four decades":   {0.8e-6, 12e-3, "1 µs,10 µs,100 µs,1 ms,10 ms"},
		"three decades":  {1e-9, 1.1e-6, "1 ns,3 ns,10 ns,30 ns,100 ns,300 ns,1 µs"},
		"two decades":    {1.1e-4, 9e-3, "200 µs,500 µs,1 ms,2 ms,5 ms"},
		"half a decade":  {1.8e-6, 6.2e-6, "2 µs,3 µs,4 µs,5 µs,6 µs"},
		"hardly a range": {1.005e-3, 1.052e-3, "1.01 ms,1.02 ms,1.03 ms,1.04 ms,1.05 ms"},
		"every decade":   {1e-15, 1e9, "1 ps,1 µs,1 s,1000000 s"},
		"up to an end":   {1e-5, 1e-2, "10 µs,30 µs,100 µs,300 µs,1 ms,3 ms,10 ms"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(labels(timeTicker{most: 8}.Ticks(c.min, c.max)), ",")
			if got != c.want {
				t.Errorf("labels %q, want %q", got, c.want)
			}
		})
	}
}

// TestTicksKeepTheirPromise draws random ranges: labels are few, in order and inside.
func TestTicksKeepTheirPromise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	for range 5000 {
		min := math.Pow(10, rng.Float64()*20-14)
		max := min * math.Pow(10, rng.Float64()*rng.Float64()*8+1e-4)
		for _, c := range []struct {
			ticker   plot.Ticker
			min, max float64
		}{{timeTicker{most: 8}, min, max}, {sizeTicker{most: 12}, math.Max(1, min), math.Max(1, min) * max / min}} {
			ticks := c.ticker.Ticks(c.min, c.max)
			if n := len(labels(ticks)); n > 12 {
				t.Fatalf("%T on %v to %v has %d labels", c.ticker, c.min, c.max, n)
			}
			for i, tick := range ticks {
				if !(tick.Value >= c.min*(1-1e-9) && tick.Value <= c.max*(1+1e-9)) || i > 0 && tick.Value <= ticks[i-1].Value {
					t.Fatalf("%T on %v to %v: tick %v after %v", c.ticker, c.min, c.max, tick, ticks[:i])
				}
			}
		}
	}
}

func TestTimeLabel(t *testing.T) {
	for seconds, want := range map[float64]string{
		9.999e-05: "99.99 µs", 9.99999e-05: "100 µs", 1e-3: "1 ms", 0.00149999999: "1.5 ms", 1: "1 s", 90: "90 s",
		12345: "12345 s", 2.5e-10: "250 ps", 3e-15: "3 fs", 0.99999: "1 s",
	} {
		if got := plain(timeLabel(seconds)); got != want {
			t.Errorf("timeLabel(%v) = %q, want %q", seconds, got, want)
		}
	}
}

func TestSizeLabel(t *testing.T) {
	for n, want := range map[int]string{
		1: "1", 999: "999", 1000: "1 000", 1023: "1 023", 1024: "1Ki", 1536: "1 536", 65536: "64Ki", 1 << 20: "1Mi",
		3 << 20: "3Mi", 1 << 30: "1Gi", 12345678: "12 345 678", -4096: "−4 096",
	} {
		if got := plain(sizeLabel(n)); got != want {
			t.Errorf("sizeLabel(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for ratio, want := range map[float64]string{
		0: "0 %", 0.0001: "<0.1 %", 0.0084: "0.8 %", 0.03: "3 %", 0.034: "3.4 %", 0.0994: "9.9 %", 0.0996: "10 %", 0.5: "50 %",
		-0.0004: "0 %", -0.005: "−0.5 %", -0.25: "−25 %", -1: "−100 %",
		1.25: "125 %", 9.99: "999 %", 10: ">999 %", math.Inf(1): ">999 %",
	} {
		if got := plain(percent(ratio)); got != want {
			t.Errorf("percent(%v) = %q, want %q", ratio, got, want)
		}
	}
}

func TestSpread(t *testing.T) {
	for name, c := range map[string]struct {
		wanted, want []float64
	}{
		"none":               {nil, []float64{}},
		"far apart":          {[]float64{10, 30, 50}, []float64{10, 30, 50}},
		"two on one place":   {[]float64{50, 50}, []float64{45, 55}},
		"pushed by the next": {[]float64{40, 50, 50}, []float64{110/3.0 - 0, 140 / 3.0, 170 / 3.0}},
		"below the edge":     {[]float64{-20, 1}, []float64{0, 10}},
		"above the edge":     {[]float64{95, 99, 120}, []float64{80, 90, 100}},
		"full":               {[]float64{50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50}, []float64{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			got := spread(c.wanted, 10, 0, 100)
			if len(got) != len(c.want) {
				t.Fatalf("%v, want %v", got, c.want)
			}
			for i := range got {
				if math.Abs(got[i]-c.want[i]) > 1e-9 {
					t.Fatalf("%v, want %v", got, c.want)
				}
			}
		})
	}
}

func TestStyles(t *testing.T) {
	want := map[string]color.NRGBA{
		"go":          {0x56, 0xB4, 0xE9, 255},
		"go-parallel": {0x00, 0x72, 0xB2, 255},
		"metal":       {0xD5, 0x5E, 0x00, 255},
		"cuda":        {0xD5, 0x5E, 0x00, 255},
	}
	alone := func(name string) style { return stylesOf([]string{name})[name] }
	apple := []string{"go", "go-parallel", "accelerate", "fftw", "fftw-parallel", "metal", "mps", "mpsgraph"}
	nvidia := []string{"go", "go-parallel", "openblas", "openblas-parallel", "cuda", "cublas"}
	variants := []string{
		"go/direct", "go/fft", "go/partitioned", "go-parallel/direct", "go-parallel/fft", "go-parallel/partitioned",
		"fftw/fft", "fftw/partitioned", "metal/direct", "metal/fft", "go/standard", "go/kahan", "go/welford",
	}
	for name, names := range map[string][]string{"apple": apple, "nvidia": nvidia, "variants": variants} {
		t.Run(name, func(t *testing.T) {
			styles := stylesOf(names)
			for i, a := range names {
				if c, ok := want[a]; ok && styles[a].color != c {
					t.Errorf("%s is %v, want %v", a, styles[a].color, c)
				}
				if !isShade(styles[a].color, alone(root(a)).color) {
					t.Errorf("%s has not the hue of %s", a, root(a))
				}
				if name != "variants" && !reflect.DeepEqual(styles[a], alone(a)) {
					t.Errorf("%s looks different in company", a)
				}
				for _, b := range names[:i] {
					sameColor := styles[a].color == styles[b].color
					sameMarker := reflect.DeepEqual(styles[a].marker, styles[b].marker)
					sameDash := slices.Equal(styles[a].dashes, styles[b].dashes)
					if sameMarker && sameDash {
						t.Errorf("%s and %s have the same marker and dash", a, b)
					}
					if sameColor && root(a) != root(b) {
						t.Errorf("%s and %s have the same colour", a, b)
					}
					if sameColor && (sameMarker || sameDash) && name != "variants" {
						t.Errorf("%s and %s are hard to tell apart", a, b)
					}
				}
			}
		})
	}
	// An algorithm has the same dash and lightness in every implementation, and the three algorithms differ.
	algorithms := []string{"direct", "fft", "partitioned"}
	var three []string
	for _, name := range []string{"go", "cuda"} {
		for _, algorithm := range algorithms {
			three = append(three, name+"/"+algorithm)
		}
	}
	styles := stylesOf(three)
	for i, a := range algorithms {
		here, there := styles["go/"+a], styles["cuda/"+a]
		if !slices.Equal(here.dashes, there.dashes) {
			t.Errorf("%s has another dash in go than in cuda", a)
		}
		for _, b := range algorithms[:i] {
			other := styles["go/"+b]
			if slices.Equal(here.dashes, other.dashes) || here.color == other.color {
				t.Errorf("%s and %s have the same dash or lightness", a, b)
			}
		}
	}
	// The order of the names does not matter.
	reversed := slices.Clone(variants)
	slices.Reverse(reversed)
	if !reflect.DeepEqual(stylesOf(variants), stylesOf(reversed)) {
		t.Error("styles depend on the order of names")
	}
}

// isShade reports whether a colour is one of another's shades.
func isShade(c, of color.NRGBA) bool {
	return slices.ContainsFunc(shades, func(shade func(color.NRGBA) color.NRGBA) bool { return shade(of) == c })
}

func TestFit(t *testing.T) {
	sty := textStyle(10, ink)
	for name, c := range map[string]struct {
		text  string
		width vg.Length
		want  string
	}{
		"fits":           {"fft", 100, "fft"},
		"cut":            {"go-parallel/partitioned", 60, "go-parallel/…"},
		"nothing fits":   {"go", 1, "…"},
		"two lines":      {"a\nb\tc", 100, "a b c"},
		"not UTF-8":      {"a\xff\xfeb", 100, "a?b"},
		"endless":        {strings.Repeat("i", 1<<20), 20, strings.Repeat("i", 4) + "…"},
		"cut at a space": {"from here", 32, "from…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := fit(sty, c.text, c.width)
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if c.want != "…" && sty.Width(got) > c.width {
				t.Errorf("%q is %v wide, want at most %v", got, sty.Width(got), c.width)
			}
		})
	}
}

func TestFitEnds(t *testing.T) {
	sty := textStyle(10, ink)
	for name, c := range map[string]struct {
		text  string
		width vg.Length
		want  string
	}{
		"fits":         {"fft", 100, "fft"},
		"cut":          {"stage-graph/block=512,cost=4,resident", 110, "stage-graph…4,resident"},
		"nothing fits": {"go", 1, "…"},
		"endless":      {strings.Repeat("i", 1<<20) + "!", 30, "iiii…iii!"},
	} {
		t.Run(name, func(t *testing.T) {
			got := fitEnds(sty, c.text, c.width)
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if c.want != "…" && sty.Width(got) > c.width {
				t.Errorf("%q is %v wide, want at most %v", got, sty.Width(got), c.width)
			}
		})
	}
}

func TestFlow(t *testing.T) {
	sty := textStyle(10, ink)
	got := flow(sty, []string{"one", "", "two", "three", "four", "five"}, " · ", 60, 2)
	if want := []string{"one · two", "three · four…"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := flow(sty, []string{"", ""}, " · ", 60, 2); len(got) != 0 {
		t.Errorf("%q of nothing", got)
	}
}

func TestVerdict(t *testing.T) {
	segments := func(from ...int) []calibration.Segment {
		var s []calibration.Segment
		for _, n := range from {
			s = append(s, calibration.Segment{From: n, Implementation: "go"})
		}
		return s
	}
	for want, c := range map[string]calibration.Case{
		"always go":              {Verdict: calibration.Always, Segments: segments(1)},
		"crossover at 1 000":     {Verdict: calibration.Crossover, Segments: segments(1, 1000)},
		"crossover at 10, 20":    {Verdict: calibration.Crossover, Segments: segments(1, 10, 20)},
		"5 crossovers":           {Verdict: calibration.Crossover, Segments: segments(1, 2, 3, 4, 5, 6)},
		"tie":                    {Verdict: calibration.Tie, Segments: segments(1)},
		"unresolved":             {Verdict: calibration.Unresolved, Segments: segments(1)},
		"crossover at 3, 4, 500": {Verdict: calibration.Crossover, Segments: segments(1, 3, 4, 500)},
	} {
		if got := plain(verdict(&c)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := verdict(&calibration.Case{Verdict: calibration.Crossover}); got != "unresolved" {
		t.Errorf("%q of a crossover without segments", got)
	}
}

// noGroup is for hosts whose overview is one page.
func noGroup(string) string { return "" }

func TestFileNames(t *testing.T) {
	names := []string{
		"fft/batch=1", "fft_batch=1", "FFT/batch=1", "overview", "../../etc/passwd", "", "\x00\n", "a b:c*d?",
		strings.Repeat("x", 300), strings.Repeat("x", 301), "…/µ",
	}
	want := []string{
		"fft_batch=1", "fft_batch=1-2", "FFT_batch=1-3", "overview-2", "_.._etc_passwd", "_", "__", "a_b_c_d_",
		strings.Repeat("x", 100), strings.Repeat("x", 100) + "-2", "___",
	}
	if diff := cmp.Diff(want, fileNames(names, map[string]bool{overviewName: true})); diff != "" {
		t.Error(diff)
	}
}

// If a case has the name of a map, the map gets another one.
func TestMapFileNames(t *testing.T) {
	h := &calibration.Host{Operations: []calibration.Operation{*crossing()}, Cases: []calibration.Case{{Name: "map_product"}}}
	if names, want := FileNames(h, noGroup), []string{"map_product.png", "overview.png", "map_product-2.png"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plots", "host")
	there := tinyAxis
	there.name += ",shared"
	h, runs := testHost(oneSize, tinyAxis, there)
	delete(runs, oneSize.name)
	shared := *crossing()
	shared.Placement = "shared"
	h.Operations = []calibration.Operation{*crossing(), shared, {Name: "without a surface"}}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(dir, "overview.png")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	paths, err := Write(t.Context(), dir, h, runs, noGroup)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		filepath.Join(dir, "lora_rank=8.png"), filepath.Join(dir, "oscillator-bank_samples=512.png"), old,
		filepath.Join(dir, "map_product.png"),
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(want) {
		t.Errorf("%d files, want %d: %v", len(entries), len(want), entries)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(data), "\x89PNG") {
			t.Errorf("%s is not a PNG image", path)
		}
	}
}

// Whenever ctx is cancelled, only whole images are left.
func TestWriteEnds(t *testing.T) {
	h, runs := testHost(oneSize, tinyAxis)
	all := 0
	for looks := 0; all < 3; looks++ {
		dir := t.TempDir()
		paths, err := Write(&ending{t.Context(), looks}, dir, h, runs, noGroup)
		all = len(paths)
		if (err == nil) != (all == 3) || err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%d images, %v", all, err)
		}
		if left, _ := os.ReadDir(dir); len(left) != all {
			t.Errorf("%d images, and %v is left", all, left)
		}
		if looks > 10 {
			t.Fatal("it never ends")
		}
	}
}

// ending is a context that is cancelled after a number of calls of Err.
type ending struct {
	context.Context
	looks int
}

func (e *ending) Err() error {
	if e.looks--; e.looks < 0 {
		return context.Canceled
	}
	return nil
}

// After cancellation, Write does not wait for the chart that is being drawn.
func TestADrawingIsLeftToItself(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	defer close(left)
	dir := t.TempDir()
	err := Save(ctx, filepath.Join(dir, "x.png"), func() *Chart {
		cancel()
		<-left
		return Overview(&calibration.Host{}, nil)
	})
	if files, _ := os.ReadDir(dir); !errors.Is(err, context.Canceled) || len(files) > 0 {
		t.Errorf("%v, %v", err, files)
	}
}

func TestWriteFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, runs := testHost()
	for name, dir := range map[string]string{"a file": file, "below a file": filepath.Join(file, "plots")} {
		t.Run(name, func(t *testing.T) {
			_, err := Write(t.Context(), dir, h, runs, noGroup)
			if err == nil || !strings.HasPrefix(err.Error(), "plots: ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line", err)
			}
		})
	}
	// A folder at the path of the image cannot be replaced. Write then removes the temporary file.
	dir := t.TempDir()
	h, runs = testHost(twoThresholds)
	if err := os.MkdirAll(filepath.Join(dir, FileNames(h, noGroup)[0], "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), dir, h, runs, noGroup); err == nil {
		t.Error("wrote over a folder")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
