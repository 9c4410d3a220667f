// Page writes docs/catalogue.md from the declarations of the operations and from calibration.json.
//
// Usage: go run ./cmd/internal/page docs/catalogue.md calibration.json; go generate ./kernels/catalogue does it. The page
// does not depend on the machine that writes it.
package main

import (
	"bytes"
	"fmt"
	"os"

	"crossover/calibration"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "page: want the names of two files: docs/catalogue.md calibration.json")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

// write replaces a page by that of a calibration file.
func write(path, calibrationFile string) error {
	text, err := os.ReadFile(calibrationFile)
	if err != nil {
		return err
	}
	file, err := calibration.Read(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", calibrationFile, err)
	}
	return os.WriteFile(path, []byte(page(file)), 0o644)
}
