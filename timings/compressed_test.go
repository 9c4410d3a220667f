package timings

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func compressed(t *testing.T, text []byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// A compressed file holds the bytes of the plain one, and is the same whenever and wherever it is saved.
func TestSaveCompressed(t *testing.T) {
	want := onGPU()
	var plain bytes.Buffer
	if err := want.Write(&plain); err != nil {
		t.Fatal(err)
	}
	var files [][]byte
	for range 2 {
		dir := t.TempDir()
		if err := want.SaveCompressed(dir); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "fft_n=4096,resident.bench.gz")
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		got, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("read back differs (-want +got):\n%s", diff)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the same set was compressed to other bytes")
	}
	zip, err := gzip.NewReader(bytes.NewReader(files[0]))
	if err != nil {
		t.Fatal(err)
	}
	if zip.Name != "" || !zip.ModTime.IsZero() {
		t.Errorf("the header names %q and the time %v", zip.Name, zip.ModTime)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(zip); err != nil || text.String() != plain.String() {
		t.Errorf("it holds %q, want %q (%v)", text.String(), plain.String(), err)
	}
}

func TestLoadRefusesBrokenCompressedFiles(t *testing.T) {
	var plain bytes.Buffer
	if err := example().Write(&plain); err != nil {
		t.Fatal(err)
	}
	whole := compressed(t, plain.Bytes())
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-8] ^= 1 // of the checksum
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":                  {nil, "cannot be decompressed"},
		"not compressed":           {plain.Bytes(), "cannot be decompressed"},
		"another checksum":         {flipped, "cannot be decompressed"},
		"more behind it":           {append(bytes.Clone(whole), "more"...), "cannot be decompressed"},
		"a second file behind it":  {append(bytes.Clone(whole), whole...), "the file was"},
		"a file that was cut":      {compressed(t, plain.Bytes()[:plain.Len()-9]), "the file was"},
		"a bomb":                   {compressed(t, make([]byte, mostBytes+1)), "holds more than 64 MiB"},
		"a bomb behind the digest": {append(bytes.Clone(whole), compressed(t, make([]byte, mostBytes))...), "holds more than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sum.bench.gz")
			if err := os.WriteFile(path, c.file, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Load(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "sum.bench.gz") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line that begins with the file and holds %q", err, c.want)
			}
		})
	}
}

// A cut is always noticed. A changed byte either is, or changes nothing of the samples: it is one of the header.
func TestLoadNoticesDamageOfCompressedFiles(t *testing.T) {
	want := onGPU()
	dir := t.TempDir()
	if err := want.SaveCompressed(dir); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, CompressedName(want.Case)))
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := unpack(bytes.NewReader(whole[:n]), "x"); err == nil {
			t.Errorf("cut after %d bytes of %d: no error", n, len(whole))
		}
		for bit := range 8 {
			changed := bytes.Clone(whole)
			changed[n] ^= 1 << bit
			if got, err := unpack(bytes.NewReader(changed), "x"); err == nil && got.Digest() != want.Digest() {
				t.Errorf("bit %d of byte %d flipped: other samples and no error", bit, n)
			}
		}
	}
}

// If a set loses its blocks, SaveCompressed removes its file. If there is none, it does nothing.
func TestSaveCompressedOfNothing(t *testing.T) {
	dir := t.TempDir()
	set := example()
	for range 3 {
		if err := set.SaveCompressed(dir); err != nil {
			t.Fatal(err)
		}
		set.Blocks = nil
	}
	if err := example().SaveCompressed(filepath.Join(dir, "missing")); err == nil {
		t.Error("saving into a folder that does not exist succeeded")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is there", left)
	}
}

// unpack reads what writeCompressed wrote of one set.
func unpack(r io.Reader, name string) (*Set, error) {
	data, err := decompress(r, name, mostBytes)
	if err != nil {
		return nil, err
	}
	return parse(data, name)
}

// Sets that are saved together come back one by one, in order. Those without blocks are left out.
func TestSavedTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "2.bench.gz")
	want := []*Set{example(), onGPU(), ordered()}
	if err := SaveTogether(path, []*Set{want[0], {Case: "nothing"}, want[1], want[2]}); err != nil {
		t.Fatal(err)
	}
	got, err := LoadTogether(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	var text bytes.Buffer
	for _, set := range want {
		if err := set.Write(&text); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct{ text, want string }{
		"cut within the second set":  {text.String()[:text.Len()/2], "2.bench.gz: case 2:"},
		"a changed time":             {strings.Replace(text.String(), "sec/op", "Sec/op", 1), "2.bench.gz: case 1:"},
		"lines behind the last set":  {text.String() + "more\n", "2.bench.gz: case 4: no samples in it"},
		"a last line without an end": {strings.TrimSuffix(text.String(), "\n"), "2.bench.gz: case 3:"},
	} {
		if err := os.WriteFile(path, compressed(t, []byte(c.text)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadTogether(path); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", name, err, c.want)
		}
	}
}

// In brief, a set has its times, visits and states of the machine, and nothing else of its blocks.
func TestBrief(t *testing.T) {
	set := &Set{Case: "sum", Implementations: []string{"go", "cuda"}, Blocks: []Block{{
		Size: 64, Visit: 3, Seconds: []float64{1e-6, 2e-6}, Iterations: []int{7, 8}, Twin: 0, TwinSeconds: 3e-6, TwinPosition: 2,
		Positions: []int{1, 3}, GPU: []GPUTimes{{}, {Span: 1e-6}}, Elapsed: 1.5, Epoch: 2, Disturbed: true, Crowded: true,
	}}}
	want := []Block{{
		Size: 64, Visit: 3, Seconds: []float64{1e-6, 2e-6}, Iterations: []int{7, 8}, Twin: 0, TwinSeconds: 3e-6,
		Epoch: 2, Disturbed: true, Crowded: true,
	}}
	if diff := cmp.Diff(want, set.Brief().Blocks); diff != "" {
		t.Error(diff)
	}
	if set.Blocks[0].GPU == nil || set.Blocks[0].Elapsed == 0 {
		t.Error("the set itself was changed")
	}
}
