package kernels_test

import (
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/kernels/softmax"
)

// What Compile has compiled, no call compiles again. Compile takes no memory of the device.
func TestCompile(t *testing.T) {
	backends, account := kerneltest.AccountBackends(false)
	c := softmax.Op.Cases(backends)[0]
	for _, name := range []string{"go", "go-parallel", "nobody"} {
		if err := c.Compile(1024, name); err != nil || account.Usage() != (kerneltest.Usage{}) {
			t.Errorf("compiling for %s used %+v, error %v", name, account.Usage(), err)
		}
	}
	if err := c.Compile(1024, kerneltest.AccountName); err != nil {
		t.Fatal(err)
	}
	if u := account.Usage(); u.Texts == 0 || u.Allocations != 0 || u.Recordings != 0 {
		t.Errorf("compiling used %+v, want texts and nothing else", u)
	}
	texts := account.Usage().Texts
	p := c.Problem(1024, kernels.Input{})
	defer kernels.Release(p)
	call, err := p.Bind(kerneltest.AccountName)
	if err != nil {
		t.Fatal(err)
	}
	defer call.Release()
	if err := call.Run(); err != nil {
		t.Fatal(err)
	}
	if u := account.Usage(); u.Texts != texts || u.Allocations == 0 {
		t.Errorf("a call after compiling used %+v, want memory and no more than %d texts", u, texts)
	}
}
