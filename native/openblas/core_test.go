//go:build (darwin || linux) && (amd64 || arm64)

package openblas

import (
	"os"
	"os/exec"
	"slices"
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
			again.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, coreVariable+"=") })
			again.Env = append(again.Env, "CROSSOVER_TEST_OLD_CORE=2", set)
			out, err := again.CombinedOutput()
			if err == nil && strings.Contains(string(out), "--- SKIP") {
				t.Skipf("%s", out)
			}
			if err != nil || !strings.Contains(string(out), "--- PASS") {
				t.Errorf("%s: %v\n%s", set, err, out)
			}
		}
		return
	}
	if os.Getenv(coreVariable) != "" {
		if lib, err := loaded(); err != nil || lib.core != "Prescott" && lib.core != strings.ToUpper(lib.core) {
			t.Errorf("the core is not Prescott, as %s says: %v", coreVariable, err)
		}
		return
	}
	var old *library
	var path string
	for _, path = range append([]string{os.Getenv(Environment)}, candidates...) {
		var err error
		if old, err = openFor(path, "Prescott"); err == nil && path != "" {
			break
		}
	}
	if old == nil || old.core != "Prescott" {
		t.Skipf("the library has the code of one core alone: %+v", old)
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
	x := &cpu.X86
	flags := []*bool{&x.HasAVX2, &x.HasFMA, &x.HasAVX512F, &x.HasAVX512BW, &x.HasAVX512DQ, &x.HasAVX512VL, &x.HasAVX512CD}
	all := func(has bool) {
		for _, f := range flags {
			*f = has
		}
	}
	check := func(chosen, want string) {
		t.Helper()
		if got := betterCore(chosen); got != want {
			t.Errorf("%s: %q, want %q, with %+v", chosen, got, want, cpu.X86)
		}
	}
	all(true)
	for _, old := range []string{"Prescott", "Nehalem", "Sandybridge", "Barcelona"} {
		check(old, "SkylakeX")
	}
	for _, new := range []string{"Haswell", "Zen", "Cooperlake", "SapphireRapids", "neoversen1", "PRESCOTT", ""} {
		check(new, "")
	}
	for i, f := range flags {
		all(true)
		*f = false
		switch {
		case i >= 2: // one of AVX-512
			check("Prescott", "Haswell")
		default: // all processors with AVX-512 have the other two
			*flags[2] = false
			check("Prescott", "")
		}
	}
	all(false)
	check("Prescott", "")
}
