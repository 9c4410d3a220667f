package main

import (
	"slices"
	"strings"
	"testing"

	"crossover/cmd/internal/scripted"
	"crossover/harness"
	"crossover/kernels"
	"crossover/timings"
)

// revised is a machine with a case and an operation over all its shapes. Implementation b is of a revision.
func revised(seed uint64, revision int) *scripted.Machine {
	m := scripted.New(seed, 0.01)
	m.Revisions = map[string]int{"b": revision}
	faster := float64(1 + revision)
	m.Add("fft/batch=1", map[string]scripted.Cost{
		"a": scripted.Linear(1e-6, 2e-9), "b": scripted.Linear(5e-6/faster, 1e-9/faster), "c": scripted.Linear(2e-6, 3e-9),
	}, nil)
	m.AddSpace("softmax", map[string]scripted.Cost{
		"a": scripted.Linear(1e-6, 4e-9), "b": scripted.Linear(5e-6/faster, 3e-9/faster), "c": scripted.Linear(2e-6, 5e-9),
	})
	return m
}

// Runs before and after the change of an implementation are not joined in its times. The file says of which revision they
// are, a line says what is left out, and the kept samples fit to the same bytes.
func TestAChangedImplementation(t *testing.T) {
	f := newFolders(t)
	const line = "b changed since the run of "
	if _, stderr, code := calibrateOn(t, revised(1, 0), f.args("--budget", "4s")...); code != 0 || strings.Contains(stderr, line) {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	before := hostEntry(t, f)
	_, stderr, code := calibrateOn(t, revised(2, 1), f.args("--budget", "4s")...)
	if code != 0 || strings.Count(stderr, line) != 2 ||
		!strings.Contains(stderr, "calibrate: fft: "+line+before.Created.Format("2006-01-02")+": its earlier times are left out\n") ||
		!strings.Contains(stderr, "calibrate: softmax: "+line) {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	r, err := harness.Load(f.run(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, sets := range r.Earlier {
		for _, set := range sets {
			if b := slices.Index(set.Implementations, "b"); slices.ContainsFunc(set.Blocks, func(block timings.Block) bool { return block.Timed(b) }) {
				t.Errorf("%s: an earlier run has times of b", name)
			}
		}
		if len(sets) != 1 {
			t.Errorf("%s has %d earlier runs, want 1", name, len(sets))
		}
	}
	for k := range r.Entry.Cases {
		c := &r.Entry.Cases[k]
		set := r.Timings[c.Name]
		for _, i := range c.Implementations {
			if now, _ := set.Revision(i.Name); i.Revision != now || (i.Revision == 1) != (i.Name == "b") {
				t.Errorf("%s: %s has the revision %d, and its times are of %d", c.Name, i.Name, i.Revision, now)
			}
		}
	}
	if set := r.Shapes["softmax"]; set.Revisions["b"] != 1 {
		t.Errorf("shapes have times of the revisions %v", set.Revisions)
	}
	for _, i := range r.Entry.Operations[0].Implementations {
		if (i.Revision == 1) != (i.Name == "b") {
			t.Errorf("softmax: %s has the revision %d", i.Name, i.Revision)
		}
	}
	if _, stderr, code := calibrateOn(t, revised(3, 2), "--from", f.host(), "-o", f.root+"/again.json", "--plots", f.root+"/p2"); code != 0 || strings.Contains(stderr, line) {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if read(t, f.file) != read(t, f.root+"/again.json") {
		t.Error("the refitted file differs")
	}
}

// A change that concerns some shapes leaves what was measured at others, of the line through the shapes too.
func TestAnImplementationThatChangedAtSomeShapes(t *testing.T) {
	const most = 64 // rows that the change does not concern
	machine := func(seed uint64, revision int) *scripted.Machine {
		m := scripted.New(seed, 0.01)
		m.Revisions = map[string]int{"b": revision}
		if revision > 0 {
			m.Concerns = map[string]func(kernels.Shape) bool{"b": func(s kernels.Shape) bool { return s[0] > most }}
		}
		m.AddSpace("softmax", map[string]scripted.Cost{
			"a": scripted.Linear(1e-6, 4e-9), "b": scripted.Linear(5e-6, 3e-9), "c": scripted.Linear(2e-6, 5e-9),
		})
		return m
	}
	// withB returns the sizes, or rows of shapes, at which a set has times of b, and those of them that the change concerns.
	withB := func(set *timings.Set) (all, changed int) {
		b := slices.Index(set.Implementations, "b")
		for _, size := range set.Sizes() {
			if !slices.ContainsFunc(set.At(size), func(block timings.Block) bool { return block.Timed(b) }) {
				continue
			}
			rows := size
			if shape := set.Shapes[size]; shape != nil {
				rows = shape[0]
			}
			all++
			if rows > most {
				changed++
			}
		}
		return all, changed
	}
	f := newFolders(t)
	if _, stderr, code := calibrateOn(t, machine(1, 0), f.args("--budget", "4s")...); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	first, err := harness.Load(f.run(t))
	if err != nil {
		t.Fatal(err)
	}
	shapes, changed := withB(first.Shapes["softmax"])
	if shapes == changed || changed == 0 {
		t.Fatalf("b was timed at %d shapes, and %d of them will change", shapes, changed)
	}
	_, stderr, code := calibrateOn(t, machine(2, 1), f.args("--budget", "4s")...)
	if code != 0 || strings.Count(stderr, "softmax: b changed since the run of ") != 1 || !strings.Contains(stderr, ": some of its earlier times are left out\n") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	joined, err := harness.Load(f.run(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, sets := range joined.Earlier {
		if all, changed := withB(sets[0]); all == 0 || changed != 0 || sets[0].Revisions["b"] != 1 {
			t.Errorf("%s: the earlier run has times of b at %d sizes, %d of them before the change, of revision %d", name, all, changed, sets[0].Revisions["b"])
		}
	}
	for size, shape := range first.Shapes["softmax"].Shapes {
		kept := slices.ContainsFunc(joined.Shapes["softmax"].Sizes(), func(now int) bool { return slices.Equal(joined.Shapes["softmax"].Shapes[now], shape) })
		if !kept && shape[0] <= most {
			t.Errorf("shape %d, %v, is gone", size, shape)
		}
	}
}
