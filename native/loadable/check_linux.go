package loadable

import (
	"debug/elf"
	"fmt"
	"os"
)

func check(path string) error {
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
