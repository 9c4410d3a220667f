package calibration

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Read decodes and checks a calibration file. It returns hosts and cases sorted, whatever their order in the file. It
// refuses more than MaxFileBytes.
func Read(r io.Reader) (*File, error) {
	f, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	return f, nil
}

// Load reads the calibration file at path, as Read does. The file may be compressed with gzip. Load's error wraps
// fs.ErrNotExist if there is no such file.
func Load(path string) (*File, error) {
	return load(path, func(file *os.File) (*File, error) {
		start := make([]byte, len(gzipMagic))
		n, err := file.ReadAt(start, 0)
		switch {
		case err != nil && err != io.EOF:
			return nil, err
		case string(start[:n]) == gzipMagic:
			return readCompressed(file)
		}
		return read(file)
	})
}

// gzipMagic begins every text that is compressed with gzip.
const gzipMagic = "\x1f\x8b"

// mostExpanded is how much a compressed file may hold, because without a limit a small file could fill the memory. Such a file
// is for one host.
const mostExpanded = 2 * MaxHostBytes

func readCompressed(r io.Reader) (*File, error) {
	text, err := gzip.NewReader(r)
	var plain bytes.Buffer
	if err == nil {
		_, err = plain.ReadFrom(io.LimitReader(text, mostExpanded+1))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the file was cut short or changed, it cannot be decompressed: %w (%s)", err, remedy)
	case plain.Len() > mostExpanded:
		return nil, fmt.Errorf("holds more than %d bytes (want one host, compressed)", mostExpanded)
	}
	return read(&plain)
}

// compress returns a text as gzip has it. The same text gives the same bytes, because the header has neither time nor name.
func compress(text []byte) ([]byte, error) {
	var to bytes.Buffer
	w, err := gzip.NewWriterLevel(&to, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return to.Bytes(), nil
}

func read(r io.Reader) (*File, error) {
	x, err := readWhole(r)
	if err != nil {
		return nil, err
	}
	return x.file()
}

// readWhole is readIndex, but it also refuses text that is not JSON in the parts that an index skips.
func readWhole(r io.Reader) (*Index, error) {
	data, err := readAll(r, MaxFileBytes)
	if err != nil {
		return nil, err
	}
	if err := data.syntax(); err != nil {
		return nil, err
	}
	return newIndex(data)
}

// file decodes and checks every host.
func (x *Index) file() (*File, error) {
	f := &File{SchemaVersion: x.SchemaVersion, Hosts: make([]Host, len(x.Entries))}
	for i := range x.Entries {
		h, err := x.Entries[i].Host()
		if err != nil {
			return nil, err
		}
		f.Hosts[i] = *h
	}
	slices.SortFunc(f.Hosts, byID)
	return f, nil
}

// load opens a file for a reader, and adds the file's name to errors.
func load[T any](path string, read func(*os.File) (*T, error)) (*T, error) {
	if err := checkRegular(path); err != nil { // checked before opening, because opening a pipe may wait for ever
		return nil, named(path, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, named(path, err)
	}
	defer file.Close()
	value, err := read(file)
	if err != nil {
		return nil, named(path, err)
	}
	return value, nil
}

// named adds a file's name to an error, unless it is there. For a missing file, named also says which command makes one.
func named(path string, err error) error {
	err = unnamed(err)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w (calibrate writes it)", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// unnamed removes the name of the file from an error of the file system. The file may be a temporary one.
func unnamed(err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err
	}
	if wrapped, ok := errors.AsType[*os.LinkError](err); ok {
		return wrapped.Err
	}
	return err
}

// readAll reads the text of a calibration file of at most most bytes. If the length of a file is known, the buffer gets that
// size, and a file that is too long is refused unread.
func readAll(r io.Reader, most int64) (text, error) {
	var buffer bytes.Buffer
	if file, ok := r.(*os.File); ok {
		if info, err := file.Stat(); err == nil {
			if info.Size() > most {
				return nil, fmt.Errorf("holds %d bytes (want at most %d)", info.Size(), most)
			}
			buffer.Grow(int(info.Size()) + bytes.MinRead)
		}
	}
	if _, err := buffer.ReadFrom(io.LimitReader(r, most+1)); err != nil {
		return nil, err
	}
	data := text(buffer.Bytes())
	switch {
	case int64(len(data)) > most:
		return nil, fmt.Errorf("holds more than %d bytes", most)
	case data.skipSpace(0) == len(data):
		return nil, fmt.Errorf("the file is empty (%s)", remedy)
	case bytes.HasPrefix(data, []byte(gzipMagic)):
		return nil, errors.New("the file is compressed (decompress it with gunzip)")
	}
	return data, nil
}
