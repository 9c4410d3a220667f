package timings

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// compressedExtension follows the name of a sample file that is compressed with gzip.
const compressedExtension = ".gz"

// CompressedName returns the name of a case's compressed sample file.
func CompressedName(caseName string) string { return fileName(caseName) + compressedExtension }

// mostBytes is how much a compressed file may hold, because without a limit a small file could fill the memory. A case of
// 300 sizes, each with twelve visits of ten blocks and eight implementations, takes a third of that.
const mostBytes = 64 << 20

// mostTogether is how much a file of several cases may hold: that of a run of two hundred cases over a whole day.
const mostTogether = 512 << 20

// writeCompressed writes what Write writes of each set, one after the other, compressed. The header has neither time nor name.
func writeCompressed(w io.Writer, sets ...*Set) error {
	out, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	for _, s := range sets {
		if err := s.Write(out); err != nil {
			return err
		}
	}
	return out.Close()
}

// decompress reads the text that writeCompressed wrote, of a number of bytes at most. Errors begin with name, the name of the file.
func decompress(r io.Reader, name string, most int64) ([]byte, error) {
	text, err := gzip.NewReader(r)
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(text, most+1))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: cannot be decompressed, it was cut short or changed: %w", name, err)
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%s: holds more than %d MiB (want samples that calibrate saved)", name, most>>20)
	}
	return data, nil
}

// SaveTogether writes the samples of several cases to one compressed file, which is smaller than a file for each. Sets without
// blocks are left out. The same sets give the same bytes. An interrupted SaveTogether leaves the old file.
func SaveTogether(path string, sets []*Set) error {
	sets = slices.DeleteFunc(slices.Clone(sets), func(s *Set) bool { return len(s.Blocks) == 0 })
	return replace(path, func(w io.Writer) error { return writeCompressed(w, sets...) })
}

// LoadTogether reads a file that SaveTogether wrote.
func LoadTogether(path string) ([]*Set, error) {
	f, err := openSamples(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	name := filepath.Base(path)
	data, err := decompress(f, name, mostTogether)
	var sets []*Set
	for err == nil && len(data) > 0 {
		end := len(data)
		if at := bytes.Index(data, []byte("\n"+digestKey)); at >= 0 {
			if line := bytes.IndexByte(data[at+1:], '\n'); line >= 0 {
				end = at + 1 + line + 1
			}
		}
		var set *Set
		set, err = parse(data[:end], fmt.Sprintf("%s: case %d", name, len(sets)+1))
		sets, data = append(sets, set), data[end:]
	}
	if err != nil {
		return nil, err
	}
	return sets, nil
}
