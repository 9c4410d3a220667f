package dispatch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// recorded returns what a record says, and its comments.
func recorded(t *testing.T, path string) (lines map[string]int64, comments string) {
	t.Helper()
	called, err := ReadShapes(path)
	if err != nil {
		t.Fatal(err)
	}
	lines = map[string]int64{}
	for _, c := range called {
		lines[c.Name] = c.Calls
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			comments += line
		}
	}
	return lines, comments
}

// expectRecord compares the counts of a record with what is wanted.
func expectRecord(t *testing.T, got, want map[string]int64) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the record has\n%v\nwant\n%v", got, want)
	}
}

func record(t *testing.T, d *Dispatcher) (r *Recorder, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "shapes.txt")
	r, err := d.Record(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, path
}

// Cases and operations that ask for the same shape count as one, whether they were made before the recording or after it.
func TestRecord(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	before := d.Case("fft/batch=64")
	r, path := record(t, d)
	for range 3 {
		before.Choose(441)
	}
	d.Case("fft/n=441", "go").Choose(64)
	d.Operation("fft").ChooseShape(441, 64)
	d.Operation("matmul/shared").ChooseShape(8, 16, 32)
	d.Case("matmul/square").Choose(100)
	d.Case("stft/hop=256,n_fft=1024").Choose(48000)
	d.Case("sum").Choose(5)

	d.Operation("fft").ChooseShape(441)     // no shape
	d.Operation("fft").ChooseShape(441, -1) // no shape
	before.Choose(0)                        // no shape
	before.Peek(441)
	before.Explain(441)
	d.Operation("fft").ExplainShape(441, 64)

	want := map[string]int64{
		"fft/n=441,batch=64": 5, "matmul/m=8,k=16,n=32,shared": 1, "matmul/m=100,k=100,n=100": 1, "stft/n_fft=1024,hop=256,n=48000": 1, "sum/n=5": 1,
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	got, _ := recorded(t, path)
	expectRecord(t, got, want)

	before.Choose(441)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	before.Choose(441) // behind the end
	want["fft/n=441,batch=64"]++
	got, _ = recorded(t, path)
	expectRecord(t, got, want)
	if text, _ := os.ReadFile(path); !strings.Contains(string(text), "measures them.\nfft/n=441,batch=64 6\n") {
		t.Errorf("the most frequent shape does not come first:\n%s", text)
	}
	if r.Close() != nil || r.Flush() == nil {
		t.Error("a closed record closes again without an error, and is not flushed")
	}
	if _, err := d.Record(path); err != nil {
		t.Errorf("the next record does not take the place of one that is closed: %v", err)
	}
}

// A program records before there is a calibration, if it says what its axes are.
func TestRecordWithoutCalibration(t *testing.T) {
	Declare("wavelet", "levels", "n")
	d, err := New(nil, WithHost(m3Max))
	if err != nil {
		t.Fatal(err)
	}
	r, path := record(t, d)
	d.Case("wavelet/levels=4").Choose(1000)
	d.Operation("wavelet").ChooseShape(4, 1000)
	for range 2 {
		d.Case("warp/x=1").Choose(3) // nobody knows its axes
	}
	for _, strange := range []string{"wavelet/levels=0", "wavelet/levels=4,levels=4", "wavelet/depth=4", "wavelet", "wavelet/square", "a b/\x1b"} {
		d.Case(strange).Choose(3)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, comments := recorded(t, path)
	expectRecord(t, got, map[string]int64{"wavelet/levels=4,n=1000": 2})
	for _, want := range []string{`# 2 calls of "warp/x=1" are left out`, `"wavelet/levels=0"`, `"wavelet/depth=4"`, `"a b/\x1b"`} {
		if !strings.Contains(comments, want) {
			t.Errorf("the comments lack %s:\n%s", want, comments)
		}
	}
}

// A fresh calibration, and the tables that policies make, do not lose counts.
func TestRecordOutlivesTables(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	r, path := record(t, d)
	c := d.Case("stft/n_fft=1024,hop=256")
	c.Choose(48000)
	if err := d.SetThermal("critical"); err != nil {
		t.Fatal(err)
	}
	c.Choose(48000)
	if err := d.Swap(predictedFile()); err != nil {
		t.Fatal(err)
	}
	c.Choose(48000)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, _ := recorded(t, path)
	expectRecord(t, got, map[string]int64{"stft/n_fft=1024,hop=256,n=48000": 3})
}

// Up to as many shapes as a record has are counted exactly.
func TestRecordOfManyShapes(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	r, path := record(t, d)
	c := d.Case("stft/n_fft=1024,hop=256")
	for n := range MostRecorded {
		for range 1 + n%3 {
			c.Choose(1 + n)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, comments := recorded(t, path)
	for n := range MostRecorded {
		if name := fmt.Sprintf("stft/n_fft=1024,hop=256,n=%d", 1+n); got[name] != int64(1+n%3) {
			t.Fatalf("%s: %d calls, want %d", name, got[name], 1+n%3)
		}
	}
	if strings.Contains(comments, "left out") {
		t.Errorf("the comments are\n%s", comments)
	}
}

// leftOut reads what a record says of the calls that it leaves out.
func leftOut(t *testing.T, comments string) (left, most int64) {
	t.Helper()
	at := strings.Index(comments, " calls at further shapes")
	if at < 0 {
		t.Fatalf("nothing is left out:\n%s", comments)
	}
	from := strings.LastIndex(comments[:at], "# ")
	if _, err := fmt.Sscanf(comments[from:], "# %d calls at further shapes are left out. What was called more than %d times", &left, &most); err != nil {
		t.Fatalf("%v:\n%s", err, comments)
	}
	return left, most
}

// Of a million shapes some have places, and the file says how many calls are left out. All calls are in the sum.
func TestRecordIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	const shapes = 1_000_000
	d := newDispatcherFor(t, predictedFile(), m3Max)
	r, path := record(t, d)
	c := d.Case("stft/n_fft=1024,hop=256")
	for size := range shapes {
		c.Choose(1 + size)
		if size%100 == 0 {
			c.Choose(1)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, comments := recorded(t, path)
	left, most := leftOut(t, comments)
	sum := left
	for _, calls := range got {
		sum += calls
	}
	if len(got) != MostRecorded || sum != shapes+shapes/100 || got["stft/n_fft=1024,hop=256,n=1"] != 1+shapes/100 {
		t.Errorf("%d shapes with %d calls, and %d of the first one", len(got), sum, got["stft/n_fft=1024,hop=256,n=1"])
	}
	if most < shapes/sets/ways || most > 2*shapes/sets/ways {
		t.Errorf("what was called more than %d times is there, want about %d", most, shapes/sets/ways)
	}
}

// zipf returns how often each of some shapes is called, in proportion to 1, 1/2, 1/3 …, and the calls in random order.
func zipf(random *rand.Rand, shapes, calls int) (often []int64, order []int) {
	harmonic := 0.0
	for k := range shapes {
		harmonic += 1 / float64(1+k)
	}
	often = make([]int64, shapes)
	for k := range shapes {
		n := max(1, int(float64(calls)/harmonic/float64(1+k)))
		often[k] = int64(n)
		order = append(order, slices.Repeat([]int{k}, n)...)
	}
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return often, order
}

// Of more shapes than a record has places, the most frequent ones are there, whatever the order of the calls, and counts are
// as good as the file says.
func TestRecordHasTheMostFrequent(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	for _, test := range []struct{ shapes, calls int }{{10_000, 500_000}, {100_000, 2_000_000}} {
		often, order := zipf(rand.New(rand.NewPCG(1, 2)), test.shapes, test.calls)
		for name, arrange := range map[string]func(){
			"random":                  func() {},
			"the most frequent last":  func() { slices.SortFunc(order, func(i, j int) int { return j - i }) },
			"the most frequent first": func() { slices.Sort(order) },
		} {
			arrange()
			d := newDispatcherFor(t, predictedFile(), m3Max)
			r, path := record(t, d)
			c := d.Case("stft/n_fft=1024,hop=256")
			for _, k := range order {
				c.Choose(1 + k)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			got, comments := recorded(t, path)
			left, most := leftOut(t, comments)
			sum, absent := left, 0
			for k, want := range often {
				calls := got[fmt.Sprintf("stft/n_fft=1024,hop=256,n=%d", 1+k)]
				sum += calls
				if calls > want || calls < want-most {
					t.Fatalf("%d shapes, %s: %d calls of the shape of rank %d, want %d and at most %d less", test.shapes, name, calls, k, want, most)
				}
				if k < 100 && calls == 0 {
					absent++
				}
			}
			if len(got) != MostRecorded || absent > 0 || sum != int64(len(order)) || most > often[100] {
				t.Errorf("%d shapes, %s: %d in the record, %d of the 100 most frequent are absent, %d of %d calls, at most %d missing",
					test.shapes, name, len(got), absent, sum, len(order), most)
			}
		}
	}
}

// Goroutines that take places from each other lose no call, and what they call most is there.
func TestRecordOfManyGoroutinesAndShapes(t *testing.T) {
	const goroutines = 8
	d := newDispatcherFor(t, predictedFile(), m3Max)
	r, path := record(t, d)
	c := d.Case("stft/n_fft=1024,hop=256")
	often, order := zipf(rand.New(rand.NewPCG(3, 4)), 50_000, 400_000)
	var wait sync.WaitGroup
	for g := range goroutines {
		wait.Go(func() {
			for i := g; i < len(order); i += goroutines {
				c.Choose(1 + order[i])
				if i%100_000 == g {
					if err := r.Flush(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, comments := recorded(t, path)
	left, most := leftOut(t, comments)
	sum := left
	for _, calls := range got {
		sum += calls
	}
	if sum != int64(len(order)) {
		t.Errorf("%d of %d calls", sum, len(order))
	}
	for k, want := range often[:50] {
		name := fmt.Sprintf("stft/n_fft=1024,hop=256,n=%d", 1+k)
		if calls := got[name]; calls < want-most-goroutines || calls > want+goroutines {
			t.Errorf("%s: %d calls, want %d, and at most %d less", name, calls, want, most)
		}
	}
}

// Many goroutines count shapes that all of them call, and ever new ones of their own, while the record is written and the
// calibration changes. No call is lost.
func TestRecordOfManyGoroutines(t *testing.T) {
	const goroutines, calls, sizes, own = 8, 100_000, 2, 100
	d := newDispatcherFor(t, predictedFile(), m3Max)
	r, path := record(t, d)
	c, o := d.Case("stft/n_fft=1024,hop=256"), d.Operation("stft")
	var wait sync.WaitGroup
	var running atomic.Int64
	running.Store(goroutines)
	begin := make(chan bool)
	for g := range goroutines {
		wait.Go(func() {
			defer running.Add(-1)
			<-begin
			for i := range calls {
				if g%2 == 0 {
					c.Choose(1 + i%sizes)
				} else {
					o.ChooseShape(1024, 256, 1+i%sizes)
				}
				if i%(calls/own) == 0 {
					c.Choose(1000*(1+g) + i*own/calls)
					runtime.Gosched()
				}
			}
		})
	}
	wait.Go(func() {
		<-begin
		for running.Load() > 0 {
			if err := r.Flush(); err != nil {
				t.Error(err)
			}
			if err := d.Swap(predictedFile()); err != nil {
				t.Error(err)
			}
		}
	})
	close(begin)
	wait.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, _ := recorded(t, path)
	for i := range sizes {
		if name := fmt.Sprintf("stft/n_fft=1024,hop=256,n=%d", 1+i); got[name] != goroutines*calls/sizes {
			t.Errorf("%s: %d calls, want %d", name, got[name], goroutines*calls/sizes)
		}
	}
	if len(got) != sizes+goroutines*own {
		t.Errorf("%d shapes, want %d", len(got), sizes+goroutines*own)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	d := newDispatcherFor(t, predictedFile(), m3Max)
	record(t, d)
	c, o := d.Case("stft/n_fft=1024,hop=256"), d.Operation("stft")
	n := 1000
	for range 10 * sets * ways { // so that every new shape takes the place of another
		n++
		c.Choose(n)
	}
	if got := testing.AllocsPerRun(100, func() {
		n++
		c.Choose(n)
		o.ChooseShape(512, 256, n)
	}); got != 0 {
		t.Errorf("%v allocations a call", got)
	}
}

func TestRecordRefuses(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	folder := t.TempDir()
	other := filepath.Join(folder, "calibration.json")
	const text = "{\n  \"schema_version\": \"2.0\"\n}\n"
	if err := os.WriteFile(other, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"":                                    "want the name of a file",
		folder:                                "no regular file",
		filepath.Join(folder, "none", "file"): "no such file or directory",
		filepath.Join(other, "file"):          "not a directory",
		other:                                 "something else than shapes",
	} {
		r, err := d.Record(path)
		if err == nil {
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
	if got, err := os.ReadFile(other); err != nil || string(got) != text {
		t.Errorf("%v: what was there is now %q", err, got)
	}
	record(t, d)
	if _, err := d.Record(filepath.Join(folder, "second")); err == nil || !strings.Contains(err.Error(), "until that recorder is closed") {
		t.Errorf("a second recorder: %v", err)
	}
	var none *Dispatcher
	for _, d := range []*Dispatcher{none, {}} {
		r, err := d.Record(filepath.Join(folder, "none"))
		if err == nil || !strings.Contains(err.Error(), "New(nil) makes one") {
			t.Errorf("it records: %v", err)
		}
		if r.Close() == nil || r.Flush() == nil { // of a program that goes on all the same
			t.Error("a recorder that is not there writes a record")
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The folder of a record may go while the program runs.
func TestRecordThatCannotBeWritten(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	folder := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := d.Record(filepath.Join(folder, "shapes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := r.Flush(); err == nil || !strings.Contains(err.Error(), "cannot write the record") {
		t.Errorf("Flush: %v", err)
	}
	if err := r.Close(); err == nil {
		t.Error("Close says nothing")
	}
}

func TestReadShapes(t *testing.T) {
	read := func(text string) ([]Called, error) {
		path := filepath.Join(t.TempDir(), "shapes.txt")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return ReadShapes(path)
	}
	got, err := read("# a comment\n\n fft/n=441,batch=64\t1000 \nsum/n=7\nfft/n=441,batch=64 5\nsum/n=8 9223372036854775807\nsum/n=8 1\n")
	want := []Called{{"fft/n=441,batch=64", 1005, 3}, {"sum/n=7", 1, 4}, {"sum/n=8", math.MaxInt64, 6}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for text, line := range map[string]int{"\ufeffsum/n=7\r\n": 1, "\ufeff# a comment\r\n\r\nsum/n=7 1\r\n": 3} { // as editors on Windows write it
		got, err := read(text)
		if want := []Called{{"sum/n=7", 1, line}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	var many strings.Builder
	for i := range MostRecorded + 1 {
		fmt.Fprintf(&many, "sum/n=%d\n", 1+i)
	}
	for text, want := range map[string]string{
		"sum/n=1 2\nsum/n=7 0\n":          `shapes.txt:2: "0" is no count of calls`,
		"sum/n=7 -3\n":                    `"-3" is no count`,
		"sum/n=7 1e3\n":                   `"1e3" is no count`,
		"sum/n=7 99999999999999999999\n":  "is no count",
		"sum/n=7 3 times\n":               "has 3 words",
		"sum/n=7 \x1b[2J\n":               `"\x1b[2J" is no count`,
		strings.Repeat("x", 1<<17) + "\n": "shapes.txt:1: the line is longer than 65536 bytes (want a shape",
		many.String():                     fmt.Sprintf("more than %d shapes", MostRecorded),
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	folder := t.TempDir()
	if _, err := ReadShapes(folder); err == nil || err.Error() != "read "+folder+": is a directory (want a file of shapes)" {
		t.Errorf("a folder: %v", err)
	}
}
