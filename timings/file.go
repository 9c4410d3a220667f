package timings

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// extension is the end of a sample file's name.
const extension = ".bench"

// fileName returns the name of a case's sample file: the name of the case with "_" in place of "/", and extension.
func fileName(caseName string) string { return strings.ReplaceAll(caseName, "/", "_") + extension }

// The units of values in the file. unitSeconds is that of a time. unitBlock and unitVisit are those of the numbers of the
// block and the visit to which a line belongs. benchstat reads the times by: benchstat -filter '.unit:sec/op' -col /impl
// -row /size FILE.
const (
	unitSeconds = "sec/op"
	unitBlock   = "block"
	unitVisit   = "visit"
	// unitPosition is the place of the line's batch in the order of the block.
	unitPosition = "position"
	unitElapsed  = "elapsed-sec"
)

// blockUnits are the units of properties of a whole block. The first line of the block ends with them. Values of 0 are left
// out. Older files have none of them.
var blockUnits = []struct {
	name string
	get  func(*Block) float64
	set  func(*Block, float64)
	most float64
}{
	{unitElapsed, func(b *Block) float64 { return b.Elapsed }, func(b *Block, v float64) { b.Elapsed = v }, math.MaxFloat64},
	{"epoch", func(b *Block) float64 { return float64(b.Epoch) }, func(b *Block, v float64) { b.Epoch = int(v) }, math.MaxInt32},
	{"disturbed", func(b *Block) float64 { return number(b.Disturbed) }, func(b *Block, v float64) { b.Disturbed = v == 1 }, 1},
	{"crowded", func(b *Block) float64 { return number(b.Crowded) }, func(b *Block, v float64) { b.Crowded = v == 1 }, 1},
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// gpuUnits are the units of a GPU's times. A line has them if a GPU measured its call. Values of 0 are left out.
var gpuUnits = []struct {
	name  string
	field func(*GPUTimes) *float64
}{
	{"gpu-sec/op", func(g *GPUTimes) *float64 { return &g.Busy }},
	{"span-sec/op", func(g *GPUTimes) *float64 { return &g.Span }},
	{"encode-sec/op", func(g *GPUTimes) *float64 { return &g.Encode }},
	{"gap-sec/op", func(g *GPUTimes) *float64 { return &g.Gap }},
}

// Write writes the set in the Go benchmark format, with one line for each timed batch:
//
//	case: fft/batch=1
//	implementations: go fftw
//
//	BenchmarkSweep/impl=go/size=1024 210 4.81e-06 sec/op 0 block 0 visit 2 position 12.345 elapsed-sec 1 epoch
//	BenchmarkSweep/impl=go/size=1024/arm=twin 210 4.83e-06 sec/op 1 position
//
// The first line of a block says the numbers of block and visit, when the block began, and its epoch. With "1 disturbed" or "1 crowded" it says that
// the machine was not quiet: see Block. The line of a call on a GPU also has the GPU's times, see GPUTimes:
//
//	… 4.81e-06 sec/op 3 position 3.1e-06 gpu-sec/op 9.8e-06 span-sec/op 4.2e-06 encode-sec/op 1.1e-06 gap-sec/op
//
// In a set over the shapes of an operation the values of the shape follow the size that stands for it:
//
//	BenchmarkSweep/impl=go/size=1065/n_fft=480/hop=160/n=48000 210 4.81e-06 sec/op 0 block 0 visit 2 position
//
// If implementations have revisions other than 0, the next line at the top is such as "revisions: go=1 fftw=2". The line
// "divides: go-parallel=4096" has the sizes of Set.Divides. If the times
// are those of a model, the last one there is "simulated: true". The last line of the file is the digest of the set.
//
// In older files, all lines of a block say its number and that of the visit. These are the lines of which the digest is one.
//
// Format: https://go.dev/design/14313-benchmark-format.
func (s *Set) Write(w io.Writer) error {
	hash := sha256.New()
	if err := s.writeBlocks(w, hash); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s%s\n", digestKey, digest(hash))
	return err
}

// Digest returns the digest of the set: "sha256:" and hexadecimal digits. The last line of the set's file has the digest.
// Digest returns "" for a set without blocks, which has no file.
func (s *Set) Digest() string {
	if len(s.Blocks) == 0 {
		return ""
	}
	return s.digest()
}

func (s *Set) digest() string {
	hash := sha256.New()
	_ = s.writeBlocks(io.Discard, hash) // writing to a hash never fails
	return digest(hash)
}

// digestKey begins the last line of a file. Tools that read the format take the line for a configuration line without
// results.
const digestKey = "digest: "

func digest(h hash.Hash) string { return fmt.Sprintf("sha256:%x", h.Sum(nil)) }

// writeBlocks writes the file without its last line, in two forms. In numbered, all lines of a block say its number and that of
// the visit, as in older files. In plain, only the first one does, which makes the compressed file 8 % smaller.
//
// It writes the lines itself. benchfmt.Writer writes the same bytes and takes eighteen times as long, which was a quarter of a
// short calibration.
func (s *Set) writeBlocks(plain, numbered io.Writer) error {
	l := lines{plain: plain, numbered: numbered}
	prefixes := make([]string, len(s.Implementations))
	for i, name := range s.Implementations {
		prefixes[i] = "BenchmarkSweep/impl=" + escape(name) + "/size="
	}
	l.text = s.appendHead(l.text)
	for n := range s.Blocks {
		b := &s.Blocks[n]
		first := true // of the lines of the block
		line := func(i int, suffix string, seconds float64, position int, account GPUTimes) error {
			l.text = strconv.AppendInt(append(l.text, prefixes[i]...), int64(b.Size), 10)
			l.text = append(s.appendShape(l.text, b.Size), suffix...)
			l.text = strconv.AppendInt(append(l.text, ' '), int64(b.Iterations[i]), 10)
			l.value(seconds, unitSeconds)
			l.begin = len(l.text)
			l.value(float64(n), unitBlock)
			l.value(float64(b.Visit), unitVisit)
			if l.end = len(l.text); first {
				l.end = l.begin
			}
			l.some(float64(position), unitPosition)
			for _, unit := range gpuUnits {
				l.some(*unit.field(&account), unit.name)
			}
			if first {
				for _, unit := range blockUnits {
					l.some(unit.get(b), unit.name)
				}
			}
			first = false
			return l.write()
		}
		for i := range s.Implementations {
			if !b.Timed(i) {
				continue
			}
			account, _ := b.TimesOnGPU(i)
			if err := line(i, "", b.Seconds[i], b.Position(i), account); err != nil {
				return err
			}
		}
		if b.Twin >= 0 {
			if err := line(b.Twin, "/arm=twin", b.TwinSeconds, b.TwinPosition, GPUTimes{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// lines writes lines of results in the two forms of writeBlocks.
type lines struct {
	plain, numbered io.Writer
	text            []byte // what is to be written
	begin, end      int    // of what plain leaves out of text
}

// value appends a value with its unit.
func (l *lines) value(value float64, unit string) {
	l.text = strconv.AppendFloat(append(l.text, ' '), value, 'g', -1, 64)
	l.text = append(append(l.text, ' '), unit...)
}

// some appends a value that is not 0.
func (l *lines) some(value float64, unit string) {
	if value != 0 {
		l.value(value, unit)
	}
}

// write ends the line.
func (l *lines) write() error {
	l.text = append(l.text, '\n')
	if _, err := l.numbered.Write(l.text); err != nil {
		return err
	}
	_, err := l.plain.Write(slices.Delete(l.text, l.begin, l.end))
	l.text = l.text[:0]
	return err
}

// appendHead appends the lines above the first result.
func (s *Set) appendHead(text []byte) []byte {
	text = fmt.Appendf(text, "case: %s\nimplementations: %s\n", s.Case, strings.Join(s.Implementations, " "))
	if revisions := s.revisions(); revisions != "" {
		text = fmt.Appendf(text, "revisions: %s\n", revisions)
	}
	if divides := s.numbers(s.Divides); divides != "" {
		text = fmt.Appendf(text, "divides: %s\n", divides)
	}
	if s.Simulated {
		text = append(text, "simulated: true\n"...)
	}
	return append(text, '\n')
}

// appendShape appends the values of the shape that a size stands for, and nothing in a set of a case.
func (s *Set) appendShape(text []byte, size int) []byte {
	for i, value := range s.Shapes[size] {
		text = append(append(append(text, '/'), s.Axes[i]...), '=')
		text = strconv.AppendInt(text, int64(value), 10)
	}
	return text
}

// Read reads what Write wrote. It fails if the file was cut short or changed in any byte. Errors begin with name, the name
// of the file.
func Read(r io.Reader, name string) (*Set, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return parse(data, name)
}

// parse reads what Write wrote from memory.
func parse(data []byte, name string) (*Set, error) {
	set, err := readBlocks(bytes.NewReader(data), name)
	if err != nil {
		return nil, err
	}
	lines := bytes.Count(data, []byte("\n"))
	blocks, last := data, ""
	if at := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1; bytes.HasSuffix(data, []byte("\n")) {
		blocks, last = data[:at], string(data[at:len(data)-1])
	}
	hash := sha256.New()
	hash.Write(blocks)
	switch said, found := strings.CutPrefix(last, digestKey); {
	case !found:
		return nil, fmt.Errorf("%s:%d: the last line is not the digest of the samples: the file was cut short", name, lines)
	case said != digest(hash) && !set.isWritten(blocks, said):
		return nil, fmt.Errorf("%s:%d: the digest is not that of the samples above it: the file was changed", name, lines)
	}
	return set, nil
}

// isWritten reports whether Write writes the set with these lines and this digest.
func (s *Set) isWritten(lines []byte, said string) bool {
	same, hash := comparison{want: lines}, sha256.New()
	return s.writeBlocks(&same, hash) == nil && len(same.want) == 0 && said == digest(hash)
}

// comparison is a writer that refuses what differs from the bytes that it wants.
type comparison struct{ want []byte }

func (c *comparison) Write(p []byte) (int, error) {
	rest, same := bytes.CutPrefix(c.want, p)
	if !same {
		return 0, errors.New("timings: other bytes")
	}
	c.want = rest
	return len(p), nil
}

// readBlocks reads what writeBlocks wrote.
func readBlocks(r io.Reader, name string) (*Set, error) {
	reader := benchfmt.NewReader(r, name)
	set := &Set{}
	index := map[string]int{}
	block := -1
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, record
		case *benchfmt.Result:
			var err error
			if len(set.Blocks) == 0 {
				err = set.begin(record, index)
			}
			if err == nil {
				err = set.add(record, index, &block)
			}
			if err != nil {
				file, line := record.Pos()
				return nil, fmt.Errorf("%s:%d: %w", file, line, err)
			}
		}
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	if len(set.Blocks) == 0 {
		return nil, fmt.Errorf("%s: no samples in it (want lines such as BenchmarkSweep/impl=go/size=64 100 1e-06 sec/op 0 block 0 visit)", name)
	}
	return set, nil
}

// mostImplementations is the greatest number of implementations that a file may list. Each block has room for all of them,
// so without a limit a small file could take much memory.
const mostImplementations = 256

// begin reads the lines above the first result. It sets the places of the implementations in index.
func (s *Set) begin(record *benchfmt.Result, index map[string]int) error {
	s.Case = record.GetConfig("case")
	s.Implementations = strings.Fields(record.GetConfig("implementations"))
	s.Simulated = record.GetConfig("simulated") == "true"
	switch {
	case s.Case == "":
		return errors.New(`no "case:" stands above it`)
	case len(s.Implementations) > mostImplementations:
		return fmt.Errorf("%d implementations are listed above it (want at most %d)", len(s.Implementations), mostImplementations)
	}
	for i, impl := range s.Implementations {
		index[impl] = i
	}
	return cmp.Or(s.readNumbers("revision", record.GetConfig("revisions"), s.SetRevision),
		s.readNumbers("divided size", record.GetConfig("divides"), s.SetDivides))
}

// add adds one line to the set. block is the number of the last line's block. add updates it.
func (s *Set) add(record *benchfmt.Result, index map[string]int, block *int) error {
	impl, size, twin, err := parseName(record.Name)
	if err == nil {
		err = s.addShape(size, record.Name)
	}
	if err != nil {
		return err
	}
	i, ok := index[impl]
	if !ok {
		return fmt.Errorf("implementation %q is not listed in the file's implementations", impl)
	}
	var seconds float64
	number, visit, position := *block, 0, 0 // a line without a number is of the same block as the line before it
	var account GPUTimes
	var whole Block
	for _, v := range record.Values {
		switch v.Unit {
		case unitSeconds:
			seconds = v.Value
		case unitBlock:
			number = int(v.Value)
		case unitVisit:
			visit = int(v.Value)
		case unitPosition:
			if !(v.Value >= 1 && v.Value <= math.MaxInt32) || v.Value != math.Trunc(v.Value) {
				return fmt.Errorf("%v %s is no place in a block", v.Value, v.Unit)
			}
			position = int(v.Value)
		}
		for _, unit := range blockUnits {
			if v.Unit != unit.name {
				continue
			}
			if !(v.Value >= 0 && v.Value <= unit.most) || unit.name != unitElapsed && v.Value != math.Trunc(v.Value) {
				return fmt.Errorf("%v %s is out of range", v.Value, v.Unit)
			}
			unit.set(&whole, v.Value)
		}
		for _, unit := range gpuUnits {
			if v.Unit != unit.name {
				continue
			}
			if !(v.Value >= 0) || math.IsInf(v.Value, 1) {
				return fmt.Errorf("%v %s is no number of seconds", v.Value, v.Unit)
			}
			*unit.field(&account) = v.Value
		}
	}
	if !(seconds > 0) || math.IsInf(seconds, 1) {
		return fmt.Errorf("time %v is not a positive number of seconds", seconds)
	}
	if number < 0 {
		return fmt.Errorf("line has no block number")
	}
	if number != *block {
		*block = number
		b := Block{
			Size: size, Visit: visit, Twin: -1,
			Seconds:    make([]float64, len(s.Implementations)),
			Iterations: make([]int, len(s.Implementations)),
			Elapsed:    whole.Elapsed, Epoch: whole.Epoch, Disturbed: whole.Disturbed, Crowded: whole.Crowded,
		}
		for k := range b.Seconds {
			b.Seconds[k] = math.NaN()
		}
		s.Blocks = append(s.Blocks, b)
	}
	b := &s.Blocks[len(s.Blocks)-1]
	if b.Size != size {
		return fmt.Errorf("block %d holds sizes %d and %d (want one size a block)", number, b.Size, size)
	}
	if twin {
		b.Twin, b.TwinSeconds, b.TwinPosition = i, seconds, position
		return nil
	}
	b.Seconds[i], b.Iterations[i] = seconds, record.Iters
	b.SetPosition(i, position)
	b.SetTimesOnGPU(i, account)
	return nil
}

// addShape notes the shape that a line names beside the size, if it names one.
func (s *Set) addShape(size int, name benchfmt.Name) error {
	_, parts := name.Parts()
	var axes []string
	var shape []int
	for _, part := range parts {
		key, value, _ := bytes.Cut(bytes.TrimPrefix(part, []byte("/")), []byte("="))
		switch string(key) {
		case "impl", "size", "arm":
			continue
		}
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 1 {
			continue // what other tools put into a name
		}
		axes, shape = append(axes, string(key)), append(shape, n)
	}
	switch known := s.Shapes[size]; {
	case len(axes) == 0 && s.Axes == nil:
		return nil
	case s.Axes == nil && len(s.Blocks) == 0:
		s.Axes, s.Shapes = axes, map[int][]int{}
	case !slices.Equal(axes, s.Axes):
		return fmt.Errorf("%q names axes %v, lines before it %v", name, axes, s.Axes)
	case known != nil && !slices.Equal(known, shape):
		return fmt.Errorf("size %d stands for the shapes %v and %v", size, known, shape)
	}
	s.Shapes[size] = shape
	return nil
}

func parseName(name benchfmt.Name) (impl string, size int, twin bool, err error) {
	_, parts := name.Parts()
	for _, part := range parts {
		key, value, _ := bytes.Cut(bytes.TrimPrefix(part, []byte("/")), []byte("="))
		switch string(key) {
		case "impl":
			impl = unescape(string(value))
		case "size":
			if size, err = strconv.Atoi(string(value)); err != nil || size < 1 {
				return "", 0, false, fmt.Errorf("size %q is not a positive whole number", value)
			}
		case "arm":
			twin = string(value) == "twin"
		}
	}
	if impl == "" || size == 0 {
		return "", 0, false, fmt.Errorf("%q names no impl and size", name)
	}
	return impl, size, twin, nil
}

// A variant's slash would read as the start of the next name part.
func escape(impl string) string   { return strings.ReplaceAll(impl, "/", ":") }
func unescape(impl string) string { return strings.ReplaceAll(impl, ":", "/") }

// SaveCompressed writes the set to its compressed file in dir. The same set gives the same bytes. It writes a temporary file
// first, so that an interrupted SaveCompressed leaves the old file. If the set has no blocks, SaveCompressed removes its file.
func (s *Set) SaveCompressed(dir string) error {
	path := filepath.Join(dir, CompressedName(s.Case))
	if len(s.Blocks) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return replace(path, func(w io.Writer) error { return writeCompressed(w, s) })
}

// replace writes a temporary file beside path, and then puts it in the place of path.
func replace(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".samples-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	buffered := bufio.NewWriter(f)
	if err = cmp.Or(write(buffered), buffered.Flush(), f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Load reads the sample file at path, as SaveCompressed wrote it. It may also be plain text, as Write writes it.
func Load(path string) (*Set, error) {
	f, err := openSamples(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	name := filepath.Base(path)
	if !strings.HasSuffix(name, compressedExtension) {
		return Read(f, name)
	}
	data, err := decompress(f, name, mostBytes)
	if err != nil {
		return nil, err
	}
	return parse(data, name)
}

// openSamples opens a regular file.
func openSamples(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // checked before opening, because opening a pipe waits for a writer
		return nil, fmt.Errorf("%s: not a regular file (want samples that calibrate saved)", path)
	}
	return os.Open(path)
}
