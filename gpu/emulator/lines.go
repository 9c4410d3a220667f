//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"debug/dwarf"
	"debug/elf"
	"path/filepath"
	"sort"
)

// lineTable tells which line of a kernel text an address of an image belongs to.
type lineTable struct {
	addresses []uint64
	lines     []int // 0 where the text goes on in another file
}

// readLines reads the table of an ELF image. It returns nil on other systems, and for an image without a table. The
// debug information of a Mach-O image stays in its object files.
func readLines(path, source string) *lineTable {
	file, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := file.DWARF()
	if err != nil {
		return nil
	}
	var t lineTable
	for units := data.Reader(); ; units.SkipChildren() {
		unit, err := units.Next()
		if err != nil || unit == nil {
			break
		}
		entries, err := data.LineReader(unit)
		if err != nil || entries == nil {
			continue
		}
		var entry dwarf.LineEntry
		for entries.Next(&entry) == nil {
			line := 0
			if !entry.EndSequence && entry.File != nil && filepath.Base(entry.File.Name) == filepath.Base(source) {
				line = entry.Line
			}
			t.addresses = append(t.addresses, entry.Address)
			t.lines = append(t.lines, line)
		}
	}
	sort.Stable(&t)
	return &t
}

func (t *lineTable) Len() int           { return len(t.addresses) }
func (t *lineTable) Less(i, j int) bool { return t.addresses[i] < t.addresses[j] }
func (t *lineTable) Swap(i, j int) {
	t.addresses[i], t.addresses[j] = t.addresses[j], t.addresses[i]
	t.lines[i], t.lines[j] = t.lines[j], t.lines[i]
}

// at returns the line of the instruction before a return address, 0 where it is not known.
func (t *lineTable) at(address uint64) int {
	if t == nil || address == 0 {
		return 0
	}
	// The instruction may come from an inlined function of the prelude. The call then stands a little before it.
	const near = 8
	i := sort.Search(len(t.addresses), func(i int) bool { return t.addresses[i] >= address })
	for k := i - 1; k >= max(i-near, 0); k-- {
		if t.lines[k] > 0 {
			return t.lines[k]
		}
	}
	return 0
}
