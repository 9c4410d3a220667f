//go:build (darwin || linux) && (amd64 || arm64)

package fftw

import (
	"testing"

	"github.com/ebitengine/purego"
)

// wisdom returns what the planner has learned, in FFTW's own format.
func wisdom(t *testing.T) string {
	t.Helper()
	var export, free uintptr
	if err := openFirst(Environment, libraries, []symbol{{"fftwf_export_wisdom_to_string", &export}, {"fftwf_free", &free}}); err != nil {
		t.Fatal(err)
	}
	address, _, _ := purego.SyscallN(export)
	defer purego.SyscallN(free, address)
	return cString(address)
}

func TestForget(t *testing.T) {
	if err := Probe(); err != nil {
		t.Skip(err)
	}
	Forget()
	nothing := wisdom(t)
	p, err := NewReal(48, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if wisdom(t) == nothing {
		t.Fatal("a plan was made by measurement and nothing learned: the test sees nothing")
	}
	Forget()
	if learned := wisdom(t); learned != nothing {
		t.Errorf("the planner still knows %q", learned)
	}
	// The existing plan still works.
	src, dst := make([]float32, 48), make([]complex64, 25)
	src[0] = 1
	p.Forward(dst, src)
	for k, v := range dst {
		if real(v) < 0.999 || real(v) > 1.001 || imag(v) > 1e-3 || imag(v) < -1e-3 {
			t.Errorf("bin %d of an impulse is %v, want 1", k, v)
		}
	}
}
