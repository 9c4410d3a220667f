package command

import (
	"errors"
	"fmt"
	"io/fs"

	"crossover/dispatch"
)

// ReadShapes reads the file of a flag --shapes.
func ReadShapes(path string) ([]dispatch.Called, error) {
	called, err := dispatch.ReadShapes(path)
	var system *fs.PathError
	switch {
	case errors.As(err, &system):
		return nil, fmt.Errorf("--shapes: %w", err)
	case err != nil:
		return nil, Usage("--shapes %v", err)
	}
	return called, nil
}
