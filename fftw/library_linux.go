package fftw

import (
	"debug/elf"
	"fmt"
	"os"
	"strings"
)

var (
	libraries       = []string{"libfftw3f.so.3"}
	threadLibraries = []string{"libfftw3f_threads.so.3"}
)

// checkImage returns an error where the file is not a whole ELF image. The loader maps a file without looking at its
// length, and the process would die on the first touch of a page that is not there. A bare name is left to the
// loader's search.
func checkImage(path string) error {
	if !strings.Contains(path, "/") {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	image, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("not a whole ELF library: %w", err)
	}
	defer image.Close()
	for _, p := range image.Progs {
		if p.Type == elf.PT_LOAD && p.Off+p.Filesz > uint64(info.Size()) {
			return fmt.Errorf("cut off at %d bytes", info.Size())
		}
	}
	return nil
}
