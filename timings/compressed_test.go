package timings

import (
	"bytes"
	"compress/gzip"
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
		if _, err := readCompressed(bytes.NewReader(whole[:n]), "x"); err == nil {
			t.Errorf("cut after %d bytes of %d: no error", n, len(whole))
		}
		for bit := range 8 {
			changed := bytes.Clone(whole)
			changed[n] ^= 1 << bit
			if got, err := readCompressed(bytes.NewReader(changed), "x"); err == nil && got.Digest() != want.Digest() {
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
