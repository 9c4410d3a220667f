package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crossover/calibration"
)

const (
	document  = "../../../docs/catalogue.md"
	committed = "../../../calibration.json"
)

// The page is what "go generate ./kernels/catalogue" writes.
func TestPageIsGenerated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := write(path, committed); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(kept)); diff != "" {
		t.Errorf("run go generate ./kernels/catalogue (-code +page):\n%s", diff)
	}
}

// What a calibration found stands beside the operation.
func TestPageHasWhatWasMeasured(t *testing.T) {
	file := &calibration.File{Hosts: []calibration.Host{{ID: "some-host", Cases: []calibration.Case{{
		Name: "sum", Operation: "sum",
		Implementations: []calibration.Implementation{
			{Name: "go", RelativeError: 2e-8}, {Name: "cuda", RelativeError: 0.5, Excluded: "wrong", Wrong: true},
		},
		Segments: []calibration.Segment{{From: 1024, To: 9999, Implementation: "go"}, {From: 10000, To: 1 << 24, Implementation: "go-parallel"}},
	}, {
		Name: "max", Operation: "max", Sizes: []int{1024}, Segments: []calibration.Segment{{From: 1024, To: 1024, Implementation: "go"}},
	}}}}}
	text := page(file)
	for _, want := range []string{
		"| `sum` | go to 9 999, go-parallel |\n", "| `max` | go; one size |\n", "| 1e-5 | 2e-8 (go) |\n", "| line | fastest on some-host |\n", "| `abs` | – |\n", `y[i] = |x[i]|`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestWriteReportsABadFile(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "calibration.json")
	if err := os.WriteFile(bad, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "page.md")
	if err := write(page, bad); err == nil || !strings.Contains(err.Error(), "calibration.json") {
		t.Errorf("got %v, want an error that names the file", err)
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("a page was written all the same")
	}
}
