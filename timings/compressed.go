package timings

import (
	"compress/gzip"
	"fmt"
	"io"
)

// compressedExtension follows the name of a sample file that is compressed with gzip.
const compressedExtension = ".gz"

// CompressedName returns the name of a case's compressed sample file.
func CompressedName(caseName string) string { return FileName(caseName) + compressedExtension }

// mostBytes is how much a compressed file may hold, because without a limit a small file could fill the memory. A case of
// 300 sizes, each with twelve visits of ten blocks and eight implementations, takes a third of that.
const mostBytes = 64 << 20

// writeCompressed writes what Write writes, compressed. The header has neither time nor name.
func (s *Set) writeCompressed(w io.Writer) error {
	out, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := s.Write(out); err != nil {
		return err
	}
	return out.Close()
}

// readCompressed reads what writeCompressed wrote. Errors begin with name, the name of the file.
func readCompressed(r io.Reader, name string) (*Set, error) {
	text, err := gzip.NewReader(r)
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(text, mostBytes+1))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: cannot be decompressed, it was cut short or changed: %w", name, err)
	case len(data) > mostBytes:
		return nil, fmt.Errorf("%s: holds more than %d MiB (want samples that calibrate saved)", name, mostBytes>>20)
	}
	return parse(data, name)
}
