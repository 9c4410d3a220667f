package fftw

import (
	"fmt"
	"math"
	"math/cmplx"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func needLibrary(t testing.TB) {
	t.Helper()
	if err := Probe(); err != nil {
		t.Skip(err)
	}
}

// rows returns batch rows of n samples, and the bins of each row by the definition in float64.
func rows(n, batch int) (samples []float32, bins []complex128) {
	samples = make([]float32, n*batch)
	state := uint32(n)
	for i := range samples {
		state = state*1664525 + 1013904223
		samples[i] = float32(state)/(1<<31) - 1
	}
	for row := range batch {
		for k := range n/2 + 1 {
			var sum complex128
			for j, x := range samples[row*n:][:n] {
				sum += complex(float64(x), 0) * cmplx.Rect(1, -2*math.Pi*float64(j*k%n)/float64(n))
			}
			bins = append(bins, sum)
		}
	}
	return samples, bins
}

// relativeError returns ‖got − want‖ / ‖want‖.
func relativeError(got []complex64, want []complex128) float64 {
	var diff, norm float64
	for i, w := range want {
		d := complex128(got[i]) - w
		diff += real(d)*real(d) + imag(d)*imag(d)
		norm += real(w)*real(w) + imag(w)*imag(w)
	}
	return math.Sqrt(diff / norm)
}

func TestTransform(t *testing.T) {
	needLibrary(t)
	for _, tc := range []struct{ n, batch, threads, offset int }{
		{1, 1, 1, 0}, {2, 1, 1, 0}, {15, 1, 1, 0}, {64, 1, 1, 0}, {64, 1, 1, 1}, {240, 1, 1, 0}, {29, 1, 1, 3},
		{100, 3, 1, 0}, {100, 3, 1, 1}, {480, 1, 1, 0}, {225, 2, 1, 1}, {256, 64, 2, 0}, {256, 64, 2, 1},
	} {
		t.Run(fmt.Sprintf("n=%d,batch=%d,threads=%d,offset=%d", tc.n, tc.batch, tc.threads, tc.offset), func(t *testing.T) {
			if err := ProbeThreads(); tc.threads > 1 && err != nil {
				t.Skip(err)
			}
			plan, err := NewReal(tc.n, tc.batch, tc.threads)
			if err != nil {
				t.Fatal(err)
			}
			defer plan.Close()
			samples, want := rows(tc.n, tc.batch)
			// With an offset, rows lack the alignment that the plan needs.
			src := append(make([]float32, tc.offset), samples...)[tc.offset:]
			bins := make([]complex64, len(want)+tc.offset)[tc.offset:]
			plan.Forward(bins, src)
			if e := relativeError(bins, want); e > 3e-7 {
				t.Errorf("forward: relative error %.2g, want at most 3e-7", e)
			}
			for i := range src {
				if src[i] != samples[i] {
					t.Fatalf("forward changed its input at %d", i)
				}
			}

			before := append([]complex64(nil), bins...)
			back := make([]float32, len(samples)+tc.offset)[tc.offset:]
			plan.InverseUnscaled(back, bins)
			for i, x := range samples {
				if math.Abs(float64(back[i]/float32(tc.n)-x)) > 2e-6 {
					t.Fatalf("sample %d came back as %g·%d, want %g", i, back[i]/float32(tc.n), tc.n, x)
				}
			}
			for i := range bins {
				if bins[i] != before[i] {
					t.Fatalf("inverse changed its input at %d", i)
				}
			}
		})
	}
}

func TestConcurrentCalls(t *testing.T) {
	needLibrary(t)
	const n = 64
	plan, err := NewReal(n, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	samples, want := rows(n, 1)
	var group sync.WaitGroup
	for offset := range 4 {
		group.Go(func() {
			src := append(make([]float32, offset), samples...)[offset:]
			bins, back := make([]complex64, n/2+1), make([]float32, n)
			for range 50 {
				plan.Forward(bins, src)
				plan.InverseUnscaled(back, bins)
				if e := relativeError(bins, want); e > 3e-7 {
					t.Errorf("relative error %.2g", e)
					return
				}
				if math.Abs(float64(back[n-1]/n-samples[n-1])) > 1e-6 {
					t.Errorf("last sample came back as %g·%d, want %g", back[n-1]/n, n, samples[n-1])
					return
				}
			}
		})
	}
	group.Wait()
}

func TestWarmCallsDoNotAllocate(t *testing.T) {
	needLibrary(t)
	plan, err := NewReal(64, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	samples, bins := make([]float32, 2*64+1), make([]complex64, 2*33)
	for _, offset := range []int{0, 1} {
		src := samples[offset:][:2*64]
		if got := testing.AllocsPerRun(20, func() { plan.Forward(bins, src); plan.InverseUnscaled(src, bins) }); got != 0 {
			t.Errorf("offset %d: %v allocations a call, want 0", offset, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	needLibrary(t)
	for _, tc := range []struct{ n, batch, threads int }{{0, 1, 1}, {8, 0, 1}, {8, 1, 0}, {1 << 31, 1, 1}, {1 << 20, 1 << 20, 1}} {
		if _, err := NewReal(tc.n, tc.batch, tc.threads); err == nil {
			t.Errorf("NewReal(%d, %d, %d) succeeded", tc.n, tc.batch, tc.threads)
		}
	}
	plan, err := NewReal(8, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	mustPanic(t, "short src", func() { plan.Forward(make([]complex64, 5), make([]float32, 7)) })
	mustPanic(t, "short dst", func() { plan.Forward(make([]complex64, 4), make([]float32, 8)) })
	plan.Close()
	plan.Close()
	mustPanic(t, "closed plan", func() { plan.Forward(make([]complex64, 5), make([]float32, 8)) })
	mustPanic(t, "inverse of a closed plan", func() { plan.InverseUnscaled(make([]float32, 8), make([]complex64, 5)) })
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

func TestVersion(t *testing.T) {
	needLibrary(t)
	if v := Version(); !strings.HasPrefix(v, "fftw-3.") {
		t.Errorf("version %q, want one that begins with fftw-3.", v)
	}
}

// TestBadLibraries runs this test binary again for each file that the environment can name, because a process looks for
// the library only once.
func TestBadLibraries(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the files are made for the ELF loader")
	}
	folder := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := []struct{ name, path, want string }{
		{"missing", filepath.Join(folder, "none.so"), "no such file"},
		{"folder", folder, "cannot load"},
		{"empty", file("empty.so", nil), "cannot load"},
		{"text", file("text.so", []byte("not a library\n")), "cannot load"},
	}
	if whole, err := os.ReadFile(findLibrary("libfftw3f.so.3")); err == nil {
		cases = append(cases,
			struct{ name, path, want string }{"truncated", file("half.so", whole[:len(whole)/2]), "cannot load"},
			struct{ name, path, want string }{"header only", file("header.so", whole[:64]), "cannot load"},
			struct{ name, path, want string }{"headers, no segments", file("headers.so", cutSections(whole)), "cut off"})
	}
	if threads := findLibrary("libfftw3f_threads.so.3"); threads != "" {
		libm := findLibrary("libm.so.6")
		cases = append(cases, struct{ name, path, want string }{"another library", libm, "it has no fftwf_version"})
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			command := exec.Command(os.Args[0], "-test.run=TestPrintProbe", "-test.v")
			command.Env = append(os.Environ(), Environment+"="+tc.path, "CROSSOVER_PRINT_PROBE=1")
			out, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			_, line, _ := strings.Cut(string(out), "probe: ")
			line, _, _ = strings.Cut(line, "\n")
			for _, want := range []string{"fftw: ", tc.want, "libfftw3-single3", "Homebrew package fftw", Environment} {
				if !strings.Contains(line, want) {
					t.Errorf("error %q does not hold %q", line, want)
				}
			}
		})
	}
}

// TestPrintProbe runs in the processes that TestBadLibraries starts.
func TestPrintProbe(t *testing.T) {
	if os.Getenv("CROSSOVER_PRINT_PROBE") == "" {
		t.Skip("run by TestBadLibraries")
	}
	_, err := NewReal(8, 1, 1)
	if err == nil || err.Error() != Probe().Error() || ProbeThreads() == nil || Version() != "" {
		t.Fatalf("NewReal, ProbeThreads and Version do not agree with Probe: %v", Probe())
	}
	fmt.Printf("probe: %v\n", err)
}

// findLibrary returns the path of a library of the system, or "".
func findLibrary(name string) string {
	for _, pattern := range []string{"/lib/*/", "/usr/lib/*/", "/lib64/", "/usr/lib64/", "/usr/lib/"} {
		if found, _ := filepath.Glob(pattern + name); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// cutSections returns the first page of an ELF image, without the reference to its section table at the end. Then only
// the lengths of the segments show that the rest is missing.
func cutSections(image []byte) []byte {
	cut := append([]byte(nil), image[:min(4096, len(image))]...)
	clear(cut[40:48]) // e_shoff
	clear(cut[60:64]) // e_shnum, e_shstrndx
	return cut
}

// A plan of few samples has one thread, because it takes longer to wake others than to transform them.
func TestFewSamplesHaveOneThread(t *testing.T) {
	needLibrary(t)
	if err := ProbeThreads(); err != nil {
		t.Skip(err)
	}
	for _, tc := range []struct{ n, batch, want int }{{16383, 1, 1}, {128, 127, 1}, {16384, 1, 2}, {128, 128, 2}} {
		plan, err := NewReal(tc.n, tc.batch, 2)
		if err != nil {
			t.Fatal(err)
		}
		if plan.threads != tc.want {
			t.Errorf("%d rows of %d samples have %d threads, want %d", tc.batch, tc.n, plan.threads, tc.want)
		}
		plan.Close()
	}
}
