package timings

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// revised is an example in which one implementation has a revision.
func revised() *Set {
	s := onGPU()
	s.Revisions = map[string]int{"cuda/direct": 3}
	return s
}

// The file has the revisions above 0. A file without any has no line of them.
func TestRevisionsInTheFile(t *testing.T) {
	for _, want := range []*Set{onGPU(), revised()} {
		var file bytes.Buffer
		if err := want.Write(&file); err != nil {
			t.Fatal(err)
		}
		text := file.String()
		if strings.Contains(text, "\nrevisions: cuda/direct=3\n") != (want.Revisions != nil) || strings.Contains(text, "revisions") != (want.Revisions != nil) {
			t.Errorf("with the revisions %v the file is\n%s", want.Revisions, text)
		}
		got, err := Read(&file, "x.bench")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("read back differs (-want +got):\n%s", diff)
		}
	}
	if revised().Digest() == onGPU().Digest() {
		t.Error("the digest does not have the revisions")
	}
	if again := revised().For([]string{"cuda/direct", "go"}); again.Revisions["cuda/direct"] != 3 {
		t.Errorf("with other implementations the revisions are %v", again.Revisions)
	}
}

// The file has the sizes from which on calls are divided, and a set without an implementation does not.
func TestDividedSizesInTheFile(t *testing.T) {
	want := onGPU()
	want.SetDivides("go", 4096)
	var file bytes.Buffer
	if err := want.Write(&file); err != nil {
		t.Fatal(err)
	}
	if text := file.String(); !strings.Contains(text, "\ndivides: go=4096\n") {
		t.Errorf("the file is\n%s", text)
	}
	got, err := Read(&file, "x.bench")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("read back differs (-want +got):\n%s", diff)
	}
	if part := want.Without([]Change{{Implementation: "go"}}); len(part.Divides) != 0 {
		t.Errorf("without the times of go it divides %v", part.Divides)
	}
	if part := want.Without([]Change{{Implementation: "cuda/direct"}}).For([]string{"go"}); part.Divides["go"] != 4096 {
		t.Errorf("without other times it divides %v", part.Divides)
	}
	if want.SetDivides("go", 0); len(want.Divides) != 0 {
		t.Errorf("once it is not known, it divides %v", want.Divides)
	}
}

func TestRevisionsOfAnEditedFile(t *testing.T) {
	for line, want := range map[string]string{
		"metal=1":       `x.bench:6: a revision of "metal" stands above it, which is not listed in the file's implementations`,
		"go":            `x.bench:6: revision "go" stands above it (want one such as go=1)`,
		"go=0":          `x.bench:6: revision "go=0" stands above it (want one such as go=1)`,
		"go=1 fftw=1e9": `x.bench:6: revision "fftw=1e9" stands above it (want one such as go=1)`,
		"go=2147483648": `x.bench:6: revision "go=2147483648" stands above it (want one such as go=1)`,
	} {
		text := "case: fft\nimplementations: go fftw\nrevisions: " + line + "\n\n\nBenchmarkSweep/impl=go/size=8 3 2e-05 sec/op 0 block 0 visit\n"
		if _, err := Read(strings.NewReader(text), "x.bench"); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// An implementation has changed if it is known now, with another revision, and the set has times of it.
func TestChanged(t *testing.T) {
	s := revised() // of go, cuda/direct and metal
	for n := range s.Blocks {
		s.Blocks[n].Erase(2)
	}
	now := &Set{Implementations: []string{"go", "cuda/direct", "metal"}}
	for name, c := range map[string]struct {
		revisions map[string]int
		want      []string
	}{
		"none":          {map[string]int{"cuda/direct": 3}, nil},
		"raised":        {map[string]int{"cuda/direct": 4}, []string{"cuda/direct"}},
		"0 again":       {nil, []string{"cuda/direct"}},
		"another":       {map[string]int{"cuda/direct": 3, "go": 1}, []string{"go"}},
		"without times": {map[string]int{"cuda/direct": 3, "metal": 1}, nil},
	} {
		now.Revisions = c.revisions
		var got []string
		for _, change := range s.Changes(now.Revision, nil) {
			got = append(got, change.Implementation)
			if change.Revision != c.revisions[change.Implementation] || !change.Concerns(1) {
				t.Errorf("%s: %+v, want revision %d for all sizes", name, change, c.revisions[change.Implementation])
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	now.Implementations, now.Revisions = []string{"go"}, nil
	if got := (*Set)(nil).Changes(now.Revision, nil); got != nil {
		t.Errorf("%v changed of nothing", got)
	}
	if got := s.Changes(now.Revision, nil); got != nil {
		t.Errorf("%v changed, which is not known now", got)
	}
}

// Without an implementation, the times of the others stay, and blocks go that keep a single one.
func TestWithout(t *testing.T) {
	s := shapesSet([]string{"go", "fftw", "cuda"}, []int{1, 10}, []int{2, 20})
	s.Revisions = map[string]int{"go": 1, "fftw": 2}
	s.Blocks[0].Twin, s.Blocks[0].TwinSeconds = 1, 1
	s.Blocks[1].Erase(2) // go and fftw are left
	for n := range 2 {   // shape 2 has times of fftw alone
		s.Blocks[2+n].Erase(0)
		s.Blocks[2+n].Erase(2)
	}
	before := s.Digest()
	if s.Without(nil) != s {
		t.Error("a set without nothing is another one")
	}
	got := s.Without([]Change{{Implementation: "fftw"}})
	if len(got.Blocks) != 1 || got.Blocks[0].Timed(1) || !got.Blocks[0].Timed(0) || !got.Blocks[0].Timed(2) || got.Blocks[0].Twin != -1 {
		t.Errorf("without fftw the blocks are %+v, want the first one with go and cuda", got.Blocks)
	}
	if !cmp.Equal(got.Revisions, map[string]int{"go": 1}) || len(got.Shapes) != 1 || len(got.Implementations) != 3 {
		t.Errorf("revisions %v, %d shapes, implementations %v", got.Revisions, len(got.Shapes), got.Implementations)
	}
	if got = s.Without([]Change{{Implementation: "cuda"}}); len(got.Blocks) != 4 {
		t.Errorf("without cuda there are %d blocks, want 4: three have lost nothing", len(got.Blocks))
	}
	if s.Digest() != before || len(s.Shapes) != 2 || len(s.Revisions) != 2 {
		t.Error("the set itself was changed")
	}
}

// A change that concerns some sizes leaves the times at the others, which are of the new revision then. If none are left, the set
// has no revision of the implementation. Where calls are divided is known only if no time has changed.
func TestWithoutTimesAtSomeSizes(t *testing.T) {
	s := shapesSet([]string{"go", "fftw", "cuda"}, []int{1, 10}, []int{2, 20})
	s.Revisions = map[string]int{"go": 1, "fftw": 2}
	s.SetDivides("fftw", 7)
	sizes := s.Sizes()
	for name, c := range map[string]struct {
		holds    func(size int) bool
		left     []int // sizes with times of fftw
		revision int
		divides  int
	}{
		"at one size": {func(size int) bool { return size == sizes[1] }, sizes[1:], 5, 0},
		"everywhere":  {func(int) bool { return false }, nil, 0, 0},
		"nowhere":     {func(int) bool { return true }, sizes, 5, 7},
	} {
		changes := s.Changes(func(name string) (int, bool) {
			return map[string]int{"go": 1, "fftw": 5}[name], true
		}, func(name string, size int) bool { return name == "fftw" && c.holds(size) })
		if len(changes) != 1 || changes[0].ConcernsAny(s) != (len(c.left) < len(sizes)) {
			t.Fatalf("%s: the changes are %+v", name, changes)
		}
		got := s.Without(changes)
		var left []int
		for _, size := range got.Sizes() {
			if slices.ContainsFunc(got.At(size), func(b Block) bool { return b.Timed(1) }) {
				left = append(left, size)
			}
		}
		if !slices.Equal(left, c.left) || got.Revisions["fftw"] != c.revision || got.Divides["fftw"] != c.divides || got.Revisions["go"] != 1 {
			t.Errorf("%s: times at %v, revisions %v, divides %v, want times at %v, revision %d, divides %d", name, left, got.Revisions, got.Divides, c.left, c.revision, c.divides)
		}
	}
	if s.Revisions["fftw"] != 2 || s.Divides["fftw"] != 7 {
		t.Error("the set itself was changed")
	}
}
