package calibration

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
)

// Update changes the calibration file at path: it reads the file, calls change with what is in it, and writes the file
// back in one step, as Save does. A missing file is an empty one. Concurrent updates follow one another, so that none
// loses what another wrote; an update that has to wait for long fails with the number of the process that it waits for.
//
// Where reading, change or writing fails, or ctx ends before writing began, the file stays as it was. An error of change
// is returned as it is. What an update does not change keeps its bytes: entries with fields of a newer minor version of
// the schema, and such fields of the file itself. An entry that change replaces loses the fields that this package does
// not know.
func Update(ctx context.Context, path string, change func(*File) error) error {
	var refused error // by change
	err := locked(ctx, path, func(target string) error {
		x, err := loadForUpdate(target)
		if err != nil {
			return err
		}
		f, err := x.file(ctx)
		if err != nil {
			return err
		}
		if refused = change(f); refused != nil {
			return nil
		}
		text, err := f.encode(x)
		if err != nil || bytes.Equal(text, x.text) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		return replace(target, text)
	})
	if refused != nil {
		return refused
	}
	return err
}

// loadForUpdate reads the whole text of a file and finds its hosts. A missing file has no hosts.
func loadForUpdate(path string) (*Index, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Index{SchemaVersion: SchemaVersion}, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readWhole(file)
}
