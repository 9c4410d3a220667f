//go:build (darwin || linux) && (amd64 || arm64)

package openblas

import (
	"cmp"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"
)

// An OpenBLAS that chose code for an old processor is loaded once more and chooses better code, which computes the same products. What
// the environment says stays.
func TestUnknownProcessor(t *testing.T) {
	better := betterCore("Prescott")
	if better == "" {
		t.Skip("no AVX2")
	}
	if os.Getenv("CROSSOVER_TEST_OLD_CORE") == "" {
		needLibrary(t)
		for _, set := range []string{"CROSSOVER_TEST_OLD_CORE=1", coreVariable + "=Prescott"} {
			again := exec.Command(os.Args[0], "-test.run=^TestUnknownProcessor$", "-test.v")
			again.Env = append(os.Environ(), "CROSSOVER_TEST_OLD_CORE=2", set)
			out, err := again.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS") {
				t.Errorf("%s: %v\n%s", set, err, out)
			}
		}
		return
	}
	if os.Getenv(coreVariable) != "" {
		if lib, err := loaded(); err != nil || lib.core != "Prescott" {
			t.Errorf("the core is not Prescott, as %s says: %v", coreVariable, err)
		}
		return
	}
	path := cmp.Or(os.Getenv(Environment), candidates[0])
	old, err := openFor(path, "Prescott")
	if err != nil || old.core != "Prescott" {
		t.Fatal(old, err)
	}
	lib, err := old.forThisProcessor(path)
	if err != nil || lib.core != better || lib.threads != old.threads || len(lib.helpers) != len(old.helpers) {
		t.Fatalf("%+v, %v after %+v", lib, err, old)
	}
	loaded = func() (*library, error) { return lib, nil }
	checkGemm(t)
}

func TestBetterCore(t *testing.T) {
	before := cpu.X86
	defer func() { cpu.X86 = before }()
	for _, c := range []struct {
		chosen       string
		avx2, avx512 bool
		want         string
	}{
		{"Prescott", true, true, "SkylakeX"}, {"Prescott", true, false, "Haswell"}, {"Prescott", false, false, ""},
		{"Sandybridge", true, false, "Haswell"}, {"Haswell", true, true, ""}, {"Zen", true, true, ""}, {"Cooperlake", true, true, ""},
		{"neoversen1", false, false, ""}, {"", true, true, ""},
	} {
		x := &cpu.X86
		x.HasAVX2, x.HasFMA = c.avx2, c.avx2
		x.HasAVX512F, x.HasAVX512BW, x.HasAVX512DQ, x.HasAVX512VL, x.HasAVX512CD = c.avx512, c.avx512, c.avx512, c.avx512, c.avx512
		if got := betterCore(c.chosen); got != c.want {
			t.Errorf("%s, AVX2 %v, AVX-512 %v: %q, want %q", c.chosen, c.avx2, c.avx512, got, c.want)
		}
	}
}
