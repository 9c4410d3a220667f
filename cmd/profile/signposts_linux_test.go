//go:build amd64 || arm64

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels/kerneltest"
	"crossover/native/signpost"
	"crossover/native/signpost/standin"
	"crossover/profiles"
)

// A signpost is an interval's begin or its end.
const (
	begins = 1
	ends   = 2
)

// nested tests that intervals end in the reverse order of their begins, each with the name and the identifier that it began with, and
// lie within one of the tier above. It returns how often each text occurs in each category.
func nested(t *testing.T, all []standin.Signpost) map[string]map[string]int {
	t.Helper()
	within := map[string]string{"program": "", "engine": "program", "gpu": "engine"}
	count := map[string]map[string]int{}
	for category := range within {
		count[category] = map[string]int{}
	}
	var open []standin.Signpost
	var ids = map[uint64]bool{}
	for _, s := range all {
		top := standin.Signpost{}
		if len(open) > 0 {
			top = open[len(open)-1]
		}
		switch {
		case s.Subsystem != "crossover":
			t.Fatalf("%+v is of another subsystem", s)
		case s.Type == begins:
			if above, known := within[s.Category]; !known || top.Category != above || ids[s.ID] {
				t.Fatalf("%+v begins within %+v", s, top)
			}
			ids[s.ID] = true
			count[s.Category][s.Text]++
			open = append(open, s)
		case s.Type != ends || s.ID != top.ID || s.Name != top.Name || s.Category != top.Category:
			t.Fatalf("%+v ends within %+v", s, top)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("%+v does not end", open)
	}
	return count
}

// The intervals of each stage and list are as many as its spans. Of calls before the timed ones there are none.
func TestSignpostsOfAProfile(t *testing.T) {
	song := wav(t, 22050, 1, 3000, beating)
	for name, test := range map[string]struct {
		args    []string
		call    string
		kernels bool
	}{
		"lists": {[]string{"--plan", "gpu", "--audio", song}, "song.wav, plan gpu", true},
		"moves": {[]string{"--pipeline", "separator", "--plan", "processor", "--audio", song}, "song.wav, plan processor", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := standin.New()
			m := roofed(kerneltest.Backends(t, emulator.Unified(true)))
			m.signposts = func(...string) (signpost.Symbols, signpost.Texts, error) { return f.Find, f.Text, nil }
			saved := filepath.Join(t.TempDir(), "profile.json")
			if _, _, err := profiled(t, m, append(test.args, "--signposts", "--json", saved)...); err != nil {
				t.Fatal(err)
			}
			p, err := profiles.Load(saved)
			if err != nil {
				t.Fatal(err)
			}
			count := nested(t, f.Signposts())
			if n := count["program"][test.call]; n != 5 || len(count["program"]) != 1 {
				t.Errorf("the calls are %v, want 5 of %q", count["program"], test.call)
			}
			moves := 0
			for _, s := range p.Stages {
				if n := count["engine"][s.Name]; n != 5*s.Times {
					t.Errorf("%d intervals of %s, want %d", n, s.Name, 5*s.Times)
				}
				if s.Place == profiles.Transfer {
					moves++
				}
			}
			if len(count["engine"]) != len(p.Stages) {
				t.Errorf("intervals of %v, want %d stages", count["engine"], len(p.Stages))
			}
			if (moves > 0) == test.kernels {
				t.Errorf("%d moves", moves)
			}
			if n := len(count["gpu"]); (n > 0) != test.kernels {
				t.Errorf("kernels: %v", count["gpu"])
			}
			for text, n := range count["gpu"] {
				if text == "" || n%5 != 0 {
					t.Errorf("%d intervals of the kernels %q", n, text)
				}
			}
			for _, s := range f.Signposts() {
				want := map[string]string{"program": "call", "engine": "stage|list|move", "gpu": "kernels"}[s.Category]
				if !strings.Contains("|"+want+"|", "|"+s.Name+"|") {
					t.Errorf("an interval of %s is named %q", s.Category, s.Name)
				}
			}
		})
	}
}

func TestNoSignpostsUnasked(t *testing.T) {
	f := standin.New()
	m := roofed(kerneltest.Backends(t, emulator.Unified(true)))
	m.signposts = func(...string) (signpost.Symbols, signpost.Texts, error) { return f.Find, f.Text, nil }
	song := wav(t, 22050, 1, 3000, beating)
	if _, _, err := profiled(t, m, "--audio", song, "--plan", "gpu"); err != nil || f.Asked() > 0 || len(f.Signposts()) > 0 {
		t.Errorf("%d questions and %d signposts of a profile without --signposts (%v)", f.Asked(), len(f.Signposts()), err)
	}
	f.Disable()
	if _, _, err := profiled(t, m, "--audio", song, "--plan", "gpu", "--signposts"); err != nil || f.Asked() == 0 || len(f.Signposts()) > 0 {
		t.Errorf("%d questions and %d signposts where nobody wants them (%v)", f.Asked(), len(f.Signposts()), err)
	}
	f.Outside()
	_, _, err := profiled(t, m, "--audio", song, "--signposts")
	if err == nil || !strings.HasPrefix(err.Error(), "signpost: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("signposts without names: %v", err)
	}
}

func TestSignpostsElsewhere(t *testing.T) {
	_, _, err := profiled(t, onProcessor(), "--audio", wav(t, 22050, 1, 3000, beating), "--signposts")
	if want := "signpost: signposts are a part of macOS (leave --signposts out)"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
