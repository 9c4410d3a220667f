// Page writes the tables of package chips into a page of prose, between the lines <!-- NAME --> and <!-- end -->.
//
// Usage: go run ./page FILE, in the folder of package chips; go generate does it.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "page: want the name of one file, e.g. ../../docs/simulated-chips.md")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func write(path string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page, err := fill(string(old))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(page), 0o644)
}
