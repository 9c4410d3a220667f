package timings

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/perf/benchfmt"
)

func example() *Set {
	return &Set{
		Case:            "conv1d/n=32768",
		Implementations: []string{"go/direct", "go/fft"},
		Blocks: []Block{
			{Size: 64, Seconds: []float64{1.0 / 3e6, 0.1 + 0.2}, Iterations: []int{300, 1}, Twin: 1, TwinSeconds: 0.3},
			{Size: 64, Visit: 1, Seconds: []float64{4e-7, math.NaN()}, Iterations: []int{250, 0}, Twin: -1},
			{Size: 128, Visit: 7, Seconds: []float64{5e-324, 2.5e-7}, Iterations: []int{1, 2}, Twin: 0, TwinSeconds: 1e300},
		},
	}
}

// onGPU is an example with a GPU that measures all times, one that measures only the span, and a block without a GPU.
func onGPU() *Set {
	return &Set{
		Case:            "fft/n=4096,resident",
		Implementations: []string{"go", "cuda/direct", "metal"},
		Blocks: []Block{
			{Size: 8, Visit: 1, Seconds: []float64{2e-5, 1.5e-5, 1e-5}, Iterations: []int{3, 4, 5}, Twin: 1, TwinSeconds: 1.4e-5,
				GPU: []GPUTimes{{}, {Busy: 1.0 / 3e6, Span: 9e-6, Encode: 4.2e-6, Gap: 1e-7}, {Span: 5e-6, Encode: 1e-6}}},
			{Size: 16, Visit: 2, Seconds: []float64{2e-5, math.NaN(), math.NaN()}, Iterations: []int{3, 0, 0}, Twin: -1},
		},
	}
}

func TestReadReturnsExactlyWhatWriteWrote(t *testing.T) {
	simulated := example()
	simulated.Simulated = true
	for _, want := range []*Set{example(), onGPU(), ordered(), simulated} {
		var file bytes.Buffer
		if err := want.Write(&file); err != nil {
			t.Fatal(err)
		}
		text := file.String()
		if strings.Contains(text, "simulated: true\n") != want.Simulated {
			t.Errorf("a set with Simulated %v is written as\n%s", want.Simulated, text)
		}
		got, err := Read(&file, "x.bench")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("read back differs (-want +got):\n%s", diff)
		}
		var again bytes.Buffer
		if err := got.Write(&again); err != nil {
			t.Fatal(err)
		}
		if again.String() != text {
			t.Errorf("second write differs:\n%s\nfirst:\n%s", again.String(), text)
		}
	}
}

// Other tools read these files, so the text must not change.
func TestTheLinesOfABlock(t *testing.T) {
	var file bytes.Buffer
	if err := ordered().Write(&file); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"BenchmarkSweep/impl=go/size=8 3 2e-05 sec/op 0 block 1 visit 3 position 12.345 elapsed-sec 2 epoch 1 disturbed\n",
		"BenchmarkSweep/impl=metal/size=8 5 1e-05 sec/op 1 position 5e-06 span-sec/op\n",
		"BenchmarkSweep/impl=go/size=8/arm=twin 3 2.1e-05 sec/op 2 position\n",
		"BenchmarkSweep/impl=metal/size=8 5 1e-05 sec/op 1 block 1 visit 2 position 12.5 elapsed-sec 1 crowded\n",
		"BenchmarkSweep/impl=go/size=8 3 2e-05 sec/op 2 block 1 visit\n",
	} {
		if !strings.Contains(file.String(), want) {
			t.Errorf("the file lacks %q:\n%s", want, file.String())
		}
	}
}

// ordered is an example whose blocks have positions. The last one has none, as in older files.
func ordered() *Set {
	return &Set{
		Case:            "fft/n=4096",
		Implementations: []string{"go", "metal"},
		Blocks: []Block{
			{Size: 8, Visit: 1, Seconds: []float64{2e-5, 1e-5}, Iterations: []int{3, 5}, Twin: 0, TwinSeconds: 2.1e-5,
				GPU: []GPUTimes{{}, {Span: 5e-6}}, Positions: []int{3, 1}, TwinPosition: 2, Elapsed: 12.345, Epoch: 2, Disturbed: true},
			{Size: 8, Visit: 1, Seconds: []float64{math.NaN(), 1e-5}, Iterations: []int{0, 5}, Twin: -1,
				Positions: []int{0, 2}, Elapsed: 12.5, Crowded: true},
			{Size: 8, Visit: 1, Seconds: []float64{2e-5, 1e-5}, Iterations: []int{3, 5}, Twin: -1},
		},
	}
}

func TestTheLineOfAGPU(t *testing.T) {
	var file bytes.Buffer
	if err := onGPU().Write(&file); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"BenchmarkSweep/impl=go/size=8 3 2e-05 sec/op 0 block 1 visit\n",
		"BenchmarkSweep/impl=cuda:direct/size=8/arm=twin 4 1.4e-05 sec/op\n",
		"BenchmarkSweep/impl=metal/size=8 5 1e-05 sec/op 5e-06 span-sec/op 1e-06 encode-sec/op\n",
	} {
		if !strings.Contains(file.String(), want) {
			t.Errorf("the file lacks %q:\n%s", want, file.String())
		}
	}
}

// In older files all lines have the numbers of block and visit, and the digest is that of these lines. The set and its digest
// are the same.
func TestReadOfNumberedLines(t *testing.T) {
	for _, want := range []*Set{example(), onGPU(), ordered()} {
		var file bytes.Buffer
		if err := want.writeBlocks(io.Discard, &file); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(file.String(), " block ") - strings.Count(file.String(), "Benchmark"); got != 0 {
			t.Fatalf("%d lines without a number:\n%s", -got, file.String())
		}
		sum := fmt.Sprintf("sha256:%x", sha256.Sum256(file.Bytes()))
		if sum != want.Digest() {
			t.Errorf("digest %s, want %s", want.Digest(), sum)
		}
		file.WriteString("digest: " + sum + "\n")
		got, err := Read(&file, "x.bench")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("read back differs (-want +got):\n%s", diff)
		}
	}
}

// The digest of a set is in calibration files, so it must not change.
func TestTheDigestStays(t *testing.T) {
	if got, want := ordered().Digest(), "sha256:0373503b2cd9ae0bdeac9508876f1adbd6181920485a743dc5e807f661be3566"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// The lines are those of the writer of package benchfmt, in both forms.
func TestTheLinesAreThoseOfBenchfmt(t *testing.T) {
	shapes := ordered()
	shapes.Axes, shapes.Shapes = []string{"n", "batch"}, map[int][]int{8: {4, 2}}
	random, values := &Set{Case: "scale", Implementations: []string{"go"}}, rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		seconds := math.Abs(math.Float64frombits(values.Uint64()))
		if seconds-seconds != 0 { // no time
			continue
		}
		random.Blocks = append(random.Blocks, Block{Size: 1 + values.IntN(1<<30), Visit: values.IntN(1 << 30), Seconds: []float64{seconds},
			Iterations: []int{values.IntN(1 << 40)}, Twin: -1, Elapsed: float64(values.IntN(1<<40)) / 1000})
	}
	simulated := revised()
	simulated.Simulated = true
	for _, set := range []*Set{example(), onGPU(), ordered(), revised(), simulated, shapes, random} {
		var plain, numbered bytes.Buffer
		if err := set.writeBlocks(&plain, &numbered); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{plain.String(), numbered.String()} {
			var again bytes.Buffer
			reader, writer := benchfmt.NewReader(strings.NewReader(text), "x.bench"), benchfmt.NewWriter(&again)
			for reader.Scan() {
				if err := writer.Write(reader.Result()); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(again.String(), text); diff != "" || reader.Err() != nil {
				t.Errorf("%v; benchfmt writes other lines (-benchfmt +ours):\n%s", reader.Err(), diff)
			}
		}
	}
}

func TestErase(t *testing.T) {
	b := onGPU().Blocks[0]
	b.Erase(1)
	if b.Timed(1) || b.Iterations[1] != 0 || b.Twin != -1 || b.TwinSeconds != 0 {
		t.Errorf("erased, the block is %+v", b)
	}
	if _, told := b.TimesOnGPU(1); told {
		t.Error("the GPU's account is still there")
	}
	if account, told := b.TimesOnGPU(2); !told || account.Span != 5e-6 || !b.Timed(2) {
		t.Errorf("another one's account is %+v", account)
	}
	b.SetPosition(0, 2)
	b.SetPosition(2, 3)
	b.Erase(2)
	if b.Position(0) != 2 || b.Position(2) != 0 {
		t.Errorf("the places are %v", b.Positions)
	}
	if b.GPU != nil || !b.Timed(0) {
		t.Errorf("without a GPU the block is %+v", b)
	}
}

// Load reads plain text, which older versions saved.
func TestLoadOfPlainText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conv1d_n=32768.bench")
	want := example()
	var text bytes.Buffer
	if err := want.Write(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefusesBrokenFiles(t *testing.T) {
	const head = "case: c\nimplementations: go\n\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":                {"", "no samples"},
		"not a benchmark file": {"hello\nworld\n", "no samples"},
		"a case that comes late": {"implementations: go fftw\n\nBenchmarkSweep/impl=go/size=64 1 1 sec/op 0 block\n\n" +
			"case: c\nimplementations: go\n\nBenchmarkSweep/impl=go/size=64 1 1 sec/op 1 block\n", `x.bench:3: no "case:"`},
		"too many implementations": {"case: c\nimplementations: " + strings.Repeat("go ", 300) + "\n\n" +
			"BenchmarkSweep/impl=go/size=64 1 1 sec/op 0 block\n", "300 implementations"},
		"unlisted":               {head + "BenchmarkSweep/impl=gg/size=64 1 1 sec/op 0 block\n", `"gg" is not listed`},
		"no block":               {head + "BenchmarkSweep/impl=go/size=64 1 1 sec/op\n", "no block number"},
		"zero time":              {head + "BenchmarkSweep/impl=go/size=64 1 0 sec/op 0 block\n", "not a positive"},
		"NaN":                    {head + "BenchmarkSweep/impl=go/size=64 1 NaN sec/op 0 block\n", "not a positive"},
		"negative size":          {head + "BenchmarkSweep/impl=go/size=-64 1 1 sec/op 0 block\n", "not a positive whole number"},
		"two sizes in one block": {head + "BenchmarkSweep/impl=go/size=1 1 1 sec/op 0 block\nBenchmarkSweep/impl=go/size=2 1 1 sec/op 0 block\n", "sizes 1 and 2"},
		"negative GPU time":      {head + "BenchmarkSweep/impl=go/size=64 1 1 sec/op 0 block -1 gpu-sec/op\n", "-1 gpu-sec/op is no number of seconds"},
		"infinite gap":           {head + "BenchmarkSweep/impl=go/size=64 1 1 sec/op 0 block +Inf gap-sec/op\n", "gap-sec/op is no number of seconds"},
		"NaN to encode":          {head + "BenchmarkSweep/impl=go/size=64 1 1 sec/op 0 block NaN encode-sec/op\n", "encode-sec/op is no number of seconds"},
		"a place of nothing":     {head + "BenchmarkSweep/impl=go/size=64 1 1 sec/op 0 block 0 position\n", "0 position is no place"},
		"half a place":           {head + "BenchmarkSweep/impl=go/size=64 1 1 sec/op 0 block 1.5 position\n", "1.5 position is no place"},
		"before the run":         {head + "BenchmarkSweep/impl=go/size=64 1 1 sec/op 0 block -1 elapsed-sec\n", "-1 elapsed-sec is out of range"},
		"never":                  {head + "BenchmarkSweep/impl=go/size=64 1 1 sec/op 0 block +Inf elapsed-sec\n", "elapsed-sec is out of range"},
		"half an epoch":          {head + "BenchmarkSweep/impl=go/size=64 1 1 sec/op 0 block 0.5 epoch\n", "0.5 epoch is out of range"},
		"twice disturbed":        {head + "BenchmarkSweep/impl=go/size=64 1 1 sec/op 0 block 2 disturbed\n", "2 disturbed is out of range"},
		"a line cut short":       {head + "BenchmarkSweep/impl=go/size=64 1 1\n", "x.bench:4"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text), "x.bench")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that holds %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error is more than one line: %q", err)
			}
		})
	}
}

// Read notices any change of a file and any missing end. The error has the file and the line.
func TestReadRefusesEveryCutAndEveryFlip(t *testing.T) {
	var file bytes.Buffer
	if err := onGPU().Write(&file); err != nil {
		t.Fatal(err)
	}
	whole := file.Bytes()
	for n := range whole {
		if _, err := Read(bytes.NewReader(whole[:n]), "x.bench"); err == nil || !strings.Contains(err.Error(), "x.bench:") {
			t.Errorf("cut after %d bytes of %d: %v", n, len(whole), err)
		}
		for bit := range 8 {
			changed := bytes.Clone(whole)
			changed[n] ^= 1 << bit
			if _, err := Read(bytes.NewReader(changed), "x.bench"); err == nil || !strings.Contains(err.Error(), "x.bench:") {
				t.Errorf("bit %d of byte %d (%q) flipped: %v", bit, n, whole[n], err)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, set := range []*Set{example(), onGPU(), ordered()} {
		var file bytes.Buffer
		if err := set.Write(&file); err != nil {
			f.Fatal(err)
		}
		f.Add(file.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, wholeErr := Read(bytes.NewReader(data), "x.bench")
		set, err := readBlocks(bytes.NewReader(data), "x.bench")
		if wholeErr == nil {
			if digest := whole.Digest(); !bytes.HasSuffix(data, []byte(digest+"\n")) {
				t.Fatalf("the set's digest is %s, the file ends with %q", digest, data[max(0, len(data)-80):])
			}
		}
		if err != nil {
			return
		}
		for _, b := range set.Blocks {
			if len(b.Seconds) != len(set.Implementations) || b.Size < 1 || len(b.GPU) != 0 && len(b.GPU) != len(b.Seconds) {
				t.Fatalf("broken block %+v", b)
			}
			if len(b.Positions) != 0 && len(b.Positions) != len(b.Seconds) || !(b.Elapsed >= 0) || b.Epoch < 0 {
				t.Fatalf("broken order %+v", b)
			}
			for _, account := range b.GPU {
				if least := min(account.Busy, account.Span, account.Encode, account.Gap); !(least >= 0) {
					t.Fatalf("broken account %+v", account)
				}
			}
		}
	})
}

// A block that is too short for its set has no times of the last implementations.
func TestForOfShortBlocks(t *testing.T) {
	set := &Set{Implementations: []string{"a", "b"}, Blocks: []Block{
		{Size: 1, Seconds: []float64{1}, Iterations: []int{5}, Twin: -1}, {Size: 2, Twin: -1},
	}}
	got := set.For([]string{"c", "b", "a"})
	for k, want := range []string{"[NaN NaN 1] [0 0 5]", "[NaN NaN NaN] [0 0 0]"} {
		if b := got.Blocks[k]; fmt.Sprint(b.Seconds, b.Iterations) != want {
			t.Errorf("block %d: %v %v, want %s", k, b.Seconds, b.Iterations, want)
		}
	}
}
