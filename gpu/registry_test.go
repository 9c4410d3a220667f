package gpu

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestRegistry(t *testing.T) {
	registryMu.Lock()
	old := registry
	registry = map[string]*Backend{}
	registryMu.Unlock()
	defer func() {
		registryMu.Lock()
		defer registryMu.Unlock()
		registry = old
	}()

	fake, _ := newFake(t, false)
	missing := errors.New("no driver; install one")
	opens := 0
	Register("b", func() (Driver, error) { opens++; return fake, nil })
	Register("a", func() (Driver, error) { opens++; return nil, missing })
	Register("c", func() (Driver, error) { return &fakeDriver{facts: Facts{SIMDWidth: 16}}, nil })
	if got := APIs(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%v", got)
	}
	if opens != 0 || len(Opened()) != 0 {
		t.Error("a device is opened that nobody asked for")
	}
	first, err := Open("b")
	if err != nil {
		t.Fatal(err)
	}
	if second, _ := Open("b"); second != first {
		t.Error("two devices of one API")
	}
	if err := Probe("b"); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := Probe("a"); !errors.Is(err, missing) {
			t.Error(err)
		}
	}
	if opens != 2 {
		t.Errorf("%d drivers were opened", opens)
	}
	if err := Probe("c"); err == nil || !strings.Contains(err.Error(), "16 threads in step") {
		t.Error(err)
	}
	if err := Probe("d"); err == nil || !strings.Contains(err.Error(), `"d" is no API of this system (have ["a" "b" "c"])`) {
		t.Error(err)
	}
	unfit, _ := newFake(t, false)
	unfit.facts.Lacks = "a virtual GPU without sums"
	Register("e", func() (Driver, error) { return unfit, nil })
	if err := Probe("e"); err == nil || err.Error() != unfit.facts.Lacks {
		t.Errorf("a device that lacks what the kernels need: %v", err)
	}
	if device, err := Open("e"); err != nil || device.Facts().Lacks == "" {
		t.Errorf("its facts cannot be asked for: %v", err)
	}
	if got := Opened(); len(got) != 2 || got[0] != first {
		t.Errorf("%v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a name is registered twice")
		}
	}()
	Register("a", nil)
}
