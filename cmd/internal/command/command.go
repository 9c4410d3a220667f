// Package command holds what Crossover's commands share: exit codes, errors of one line, the choice of cases, the
// description of this host, and the progress bar. It does not measure and does not decide anything.
package command

import (
	"cmp"

	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"crossover/calibration"
	"crossover/harness"
	"crossover/host"
	"crossover/kernels"
)

// Version is the version of Crossover's commands.
const Version = "0.1.0"

// Exit codes of the commands.
const (
	ExitOK          = 0
	ExitFailed      = 1   // could not run
	ExitUsage       = 2   // the command line is wrong
	ExitDrifted     = 3   // verify: a choice no longer holds, or typed plans take another time
	ExitNoEntry     = 4   // verify: no entry for this host, or a near match that does not hold
	ExitWrong       = 5   // verify: an implementation computes wrong values
	ExitTooLittle   = 6   // verify, calibrate --pipelines: too little could be measured to say anything
	ExitInterrupted = 130 // stopped by a signal
)

// Error is an error with the exit code of the program.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Usage returns a usage error. It takes the arguments of fmt.Errorf.
func Usage(format string, args ...any) error {
	return &Error{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Exit prints an error in one line that begins with the program's name. It returns the error's exit code.
func Exit(stderr io.Writer, program string, err error) int {
	if err == nil {
		return ExitOK
	}
	line := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), program+": ")
	fmt.Fprintf(printable{stderr}, "%s: %s\n", program, bounded(line, longestError))
	var coded *Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return ExitFailed
}

// Parse parses the arguments. done reports that the user asked for --help or --version and that stdout has the answer.
//
// The command accepts arguments that are no flags only if one of takes returns true.
func Parse(flags *pflag.FlagSet, args []string, stdout io.Writer, purpose string, takes ...func() bool) (done bool, err error) {
	flags.SetOutput(io.Discard)
	flags.SortFlags = false
	version := flags.Bool("version", false, "print the version and stop")
	err = flags.Parse(args)
	var invalid *pflag.InvalidValueError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(stdout, "%s\n\nUsage: %s [flags]\n\n%s", purpose, flags.Name(), flags.FlagUsages())
		return true, nil
	case errors.As(err, &invalid):
		return false, Usage("--%s %q: want %s (see %s --help)", invalid.GetFlag().Name, invalid.GetValue(),
			wants[invalid.GetFlag().Value.Type()], flags.Name())
	case err != nil:
		return false, Usage("%w (see %s --help)", err, flags.Name())
	case flags.NArg() > 0 && !slices.ContainsFunc(takes, func(does func() bool) bool { return does() }):
		return false, Usage("unexpected argument %q (see %s --help)", flags.Arg(0), flags.Name())
	case *version:
		fmt.Fprintf(stdout, "%s %s (%s)\n", flags.Name(), Version, runtime.Version())
		return true, nil
	}
	flags.Visit(func(f *pflag.Flag) {
		// An empty name is that of a variable which a script has not set. It would count as no flag at all.
		if of, _ := pflag.UnquoteUsage(f); f.Value.String() == "" && (of == "file" || of == "folder") && err == nil {
			err = Usage("--%s is empty: want the name of a %s (see %s --help)", f.Name, of, flags.Name())
		}
	})
	return false, err
}

// wants says what a flag of a type takes.
var wants = map[string]string{
	"bool": "true or false", "int": "a whole number of 64 bits", "uint64": "a whole number of 64 bits, at least 0", "float64": "a number",
	"duration": "a duration with its unit, e.g. 2m",
}

// Pattern compiles the regular expression of --ops.
func Pattern(pattern string) (*regexp.Regexp, error) {
	matches, err := regexp.Compile(pattern)
	if err != nil {
		return nil, Usage("--ops %q: %v (want a regular expression such as '^fft/')", pattern, err)
	}
	return matches, nil
}

// SelectCases returns the cases whose names match the regular expression.
func SelectCases(all []kernels.Case, pattern string) ([]kernels.Case, error) {
	matches, err := Pattern(pattern)
	if err != nil {
		return nil, err
	}
	var chosen []kernels.Case
	var names, near []string // near are the cases of operations that match
	for _, c := range all {
		if matches.MatchString(c.Name) {
			chosen = append(chosen, c)
		}
		if matches.MatchString(c.Operation) {
			near = append(near, c.Name)
		}
		names = append(names, c.Name)
	}
	switch {
	case len(chosen) > 0:
		return chosen, nil
	case len(near) > 0:
		return nil, Usage("--ops %q matches operations and no case: names of cases go on, such as %s", pattern, strings.Join(near, ", "))
	}
	return nil, Usage("--ops %q matches no case (there are %s)", pattern, strings.Join(names, ", "))
}

// Environment describes the software of this machine and its present condition.
func Environment(condition host.Condition) calibration.Environment {
	return calibration.Environment{
		OS:          runtime.GOOS,
		OSVersion:   condition.OSVersion,
		UndrivenGPU: host.UndrivenGPU(),
		Go:          runtime.Version(),
		ToolVersion: Version,
		ToolCommit:  Commit(),
		Power:       condition.Power,
		PowerMode:   condition.PowerMode,
		Priority:    condition.Priority,
		Thermal:     condition.Thermal,
		Load:        condition.Load,
	}
}

// probe is the prefix of the files that Writable makes. The number of the process follows.
const probe = ".writable-"

// Writable makes the folder and reports whether a file can be written into it. Commands call it before they spend time. It
// removes files of processes that were killed in Writable.
func Writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot write to %s: %w", dir, Cause(err))
	}
	removeProbes(dir)
	f, err := os.CreateTemp(dir, fmt.Sprintf("%s%d-*", probe, os.Getpid()))
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", dir, Cause(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func removeProbes(dir string) {
	all, _ := os.ReadDir(dir)
	for _, entry := range all {
		rest, found := strings.CutPrefix(entry.Name(), probe)
		if process, _, _ := strings.Cut(rest, "-"); found && harness.Ended(process) {
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// WritableFile reports whether Replace can write a file. Commands call it before they spend time. Like Writable, it makes the
// folder.
func WritableFile(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("cannot write %s: it is a folder (want a file)", path)
	}
	target, replaceable := replaced(path)
	if !replaceable || isStdout(path) {
		return nil // opening a pipe waits for its reader
	}
	return Writable(filepath.Dir(target))
}

// Replace writes a file through a temporary one in its folder, so that an interrupted or failed write leaves the old file. If
// path is a symbolic link, Replace replaces the file to which it points. A device or a pipe is no file to replace, so Replace
// writes into it. Nor is the file that gets the standard output, as in --json /dev/stdout > FILE: Replace adds to it.
func Replace(path string, write func(io.Writer) error) error {
	by := replace
	target, replaceable := replaced(path)
	switch {
	case isStdout(path):
		by = func(string, func(io.Writer) error) error { return write(os.Stdout) }
	case !replaceable:
		by = writeInto
	}
	if err := by(target, write); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, Cause(err))
	}
	return nil
}

func isStdout(path string) bool {
	named, err := os.Stat(path)
	if err != nil {
		return false
	}
	stdout, err := os.Stdout.Stat()
	return err == nil && os.SameFile(named, stdout)
}

// replaced follows symbolic links to the file that Replace writes. It reports whether a new file may take its place. A link
// that leads to no file yet must not be replaced either.
func replaced(path string) (target string, replaceable bool) {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	info, err := os.Lstat(path)
	return path, err != nil || info.Mode().IsRegular()
}

func replace(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".crossover-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := cmp.Or(write(f), f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func writeInto(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return cmp.Or(write(f), f.Close())
}

// SamePlace reports whether two paths name the same file or folder, which need not exist. An empty path names none.
func SamePlace(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(infoA, infoB)
	}
	absoluteA, errA := filepath.Abs(a)
	absoluteB, errB := filepath.Abs(b)
	if errA != nil || errB != nil || filepath.Base(absoluteA) != filepath.Base(absoluteB) {
		return false
	}
	// A folder of what does not exist yet may be a link to the other one.
	folderA, folderB := filepath.Dir(absoluteA), filepath.Dir(absoluteB)
	return folderA == folderB || folderA != absoluteA && folderB != absoluteB && SamePlace(folderA, folderB)
}

// Cause returns the cause of an os error, without the paths.
func Cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

// Plural returns the number with the noun: "1 case", "17 cases".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Few joins the first three words and says how many more there are: "a, b, c and 4 more".
func Few(words []string, separator string) string { return fewOf(3, words, separator) }

// fewOf joins the first most words and says how many more there are.
func fewOf(most int, words []string, separator string) string {
	if len(words) <= most {
		return strings.Join(words, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], separator), len(words)-most)
}

// Thousands writes a whole number with its digits in groups of three: 1 048 576.
func Thousands(n int) string {
	digits := fmt.Sprint(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// HostFacts returns this machine's facts, as far as the system reports them, and its id. The id follows from these facts. So
// a dispatcher, which opens no GPU, finds the same id.
func HostFacts() (calibration.Facts, string) {
	facts := host.Identify()
	return calibration.Facts(facts), facts.ID()
}

// Folder returns the folder of a host under a root, such as sweeps/data/amd-epyc-f25m17s1-2.
func Folder(root, hostID string) string { return filepath.Join(root, hostID) }
