package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"crossover/kernels"
)

func TestExitPrintsOneLineAndReturnsTheCode(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code int
		want string
	}{
		"nothing":        {nil, ExitOK, ""},
		"failure":        {errors.New("disk\n  full"), ExitFailed, "calibrate: disk full\n"},
		"usage":          {Usage("--seed: what"), ExitUsage, "calibrate: --seed: what\n"},
		"wrapped":        {fmt.Errorf("x: %w", &Error{Code: ExitDrifted, Err: errors.New("y")}), ExitDrifted, "calibrate: x: y\n"},
		"no double name": {errors.New("calibrate: once"), ExitFailed, "calibrate: once\n"},
		"interrupted":    {&Error{Code: ExitInterrupted, Err: errors.New("stop")}, ExitInterrupted, "calibrate: stop\n"},
	} {
		var out strings.Builder
		if code := Exit(&out, "calibrate", c.err); code != c.code || out.String() != c.want {
			t.Errorf("%s: exit %d with %q, want %d with %q", name, code, out.String(), c.code, c.want)
		}
	}
}

// TestParseSaysWhatIsWanted parses values that flags do not take.
func TestParseSaysWhatIsWanted(t *testing.T) {
	for _, c := range []struct{ arguments, want string }{
		{"--calls x", `--calls "x": want a whole number of 64 bits (see test --help)`},
		{"--calls 99999999999999999999", `--calls "99999999999999999999": want a whole number of 64 bits`},
		{"--seed -1", `--seed "-1": want a whole number of 64 bits, at least 0`},
		{"--ratio 2x", `--ratio "2x": want a number`},
		{"--budget 7", `--budget "7": want a duration with its unit, e.g. 2m`},
		{"--quick=yes", `--quick "yes": want true or false`},
		{"--to=", "--to is empty: want the name of a file (see test --help)"},
		{"--data=", "--data is empty: want the name of a folder"},
		{"--name=", ""}, {"--calls 3 --to x", ""}, {"", ""},
	} {
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		flags.Int("calls", 0, "")
		flags.Uint64("seed", 0, "")
		flags.Float64("ratio", 0, "")
		flags.Duration("budget", 0, "")
		flags.Bool("quick", false, "")
		flags.String("to", "", "the `file` to write")
		flags.String("data", "", "`folder` of data")
		flags.String("name", "", "")
		done, err := Parse(flags, strings.Fields(c.arguments), io.Discard, "")
		var coded *Error
		switch {
		case c.want == "" && (done || err != nil):
			t.Errorf("%q: %v, %v", c.arguments, done, err)
		case c.want != "" && (!errors.As(err, &coded) || coded.Code != ExitUsage || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%q: %v, want %q", c.arguments, err, c.want)
		}
	}
}

func TestWritableSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	if err := Writable(filepath.Join(dir, "a", "b")); err != nil {
		t.Errorf("a folder that can be made: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := Writable(filepath.Join(file, "below"))
	if err == nil || !strings.Contains(err.Error(), "cannot write to") {
		t.Errorf("a folder below a file: %v", err)
	}
}

func TestCause(t *testing.T) {
	folder := t.TempDir()
	_, opening := os.Open(filepath.Join(folder, "none"))
	for _, err := range []error{opening, os.Rename(filepath.Join(folder, "none"), filepath.Join(folder, "other"))} {
		if got := Cause(fmt.Errorf("a test: %w", err)); strings.Contains(got.Error(), folder) || !errors.Is(got, os.ErrNotExist) {
			t.Errorf("the cause of %q is %q, want it without paths", err, got)
		}
	}
}

func TestFew(t *testing.T) {
	for want, words := range map[string][]string{
		"": nil, "a": {"a"}, "a, b, c": {"a", "b", "c"}, "a, b, c and 1 more": {"a", "b", "c", "d"},
	} {
		if got := Few(words, ", "); got != want {
			t.Errorf("Few(%q) = %q, want %q", words, got, want)
		}
	}
}

// A process that was killed in Writable leaves a file behind, and the next one removes it.
func TestWritableTidiesUp(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, process := range []int{ended.Process.Pid, os.Getpid()} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s%d-1", probe, process)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Writable(dir); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(dir)
	if want := fmt.Sprintf("%s%d-1", probe, os.Getpid()); len(left) != 1 || left[0].Name() != want {
		t.Errorf("%v is there, want %s of a process that runs", left, want)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 64: "64", 999: "999", 1000: "1 000", 1048576: "1 048 576"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSelectCases(t *testing.T) {
	all := []kernels.Case{{Name: "fft/batch=1"}, {Name: "sum"}}
	for pattern, want := range map[string]int{"": 2, "^fft": 1, "batch|sum": 2} {
		if got, err := SelectCases(all, pattern); err != nil || len(got) != want {
			t.Errorf("pattern %q: %d cases, %v; want %d", pattern, len(got), err, want)
		}
	}
	for _, pattern := range []string{"(", "^nothing$"} {
		if _, err := SelectCases(all, pattern); err == nil || !strings.Contains(err.Error(), "--ops") {
			t.Errorf("pattern %q: error %v, want one that names the flag", pattern, err)
		}
	}
	// A pattern of an operation's whole name matches no case with parameters. The error names the cases of the operation only.
	all = append(all, kernels.Case{Name: "biquad/n=512", Operation: "biquad"})
	_, err := SelectCases(all, "^(biquad|stft)$")
	if err == nil || !strings.HasSuffix(err.Error(), "such as biquad/n=512") {
		t.Errorf("error %v, want one that names biquad/n=512", err)
	}
}

// Paths are compared by what they name, also if that does not exist yet or lies behind a link.
func TestSamePlace(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a"), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o644), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{file, file, true}, {file, dir + "/x/../a", true}, {file, link + "/a", true}, {file, dir, false},
		{dir + "/new", link + "/new", true}, {dir + "/new", dir + "/./new", true}, {dir + "/new", link + "/other", false},
		{dir + "/no/new", dir + "/yes/new", false}, {"", "", false}, {"", file, false}, {"/", "/", true},
	} {
		if got := SamePlace(c.a, c.b); got != c.same {
			t.Errorf("%q and %q: %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

// A link stays a link, also if the file to which it points does not exist yet.
func TestReplaceFollowsLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	file, link := filepath.Join(other, "file"), filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	for _, text := range []string{"first", "second"} {
		if err := WritableFile(link); err != nil {
			t.Error(err)
		}
		if err := Replace(link, func(w io.Writer) error { _, err := fmt.Fprint(w, text); return err }); err != nil {
			t.Fatal(err)
		}
		if to, err := os.Readlink(link); err != nil || to != file {
			t.Errorf("the link leads to %q: %v", to, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("the file holds %q: %v", got, err)
		}
	}
	if err := WritableFile(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Error(err)
	}
}

// What a command has printed into a file stays there if a flag names the standard output.
func TestReplaceAddsToTheStandardOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "printed")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	defer func(usual *os.File) { os.Stdout = usual }(os.Stdout)
	os.Stdout = file
	fmt.Print("printed before, ")
	if err := Replace(path, func(w io.Writer) error { _, err := fmt.Fprint(w, "written, "); return err }); err != nil {
		t.Fatal(err)
	}
	fmt.Print("printed after")
	if got, err := os.ReadFile(path); err != nil || string(got) != "printed before, written, printed after" {
		t.Errorf("the file holds %q: %v", got, err)
	}
}

// A failed write leaves the old file and nothing beside it.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	write := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			fmt.Fprint(w, text)
			return err
		}
	}
	if err := Replace(path, write("old", nil)); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, write("ne", errors.New("disk full"))); err == nil || !strings.Contains(err.Error(), "cannot write "+path+": disk full") {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "old" {
		t.Errorf("after a failed write it holds %q: %v", text, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	if err := Replace(filepath.Join(dir, "none", "a"), write("", nil)); err == nil || strings.Count(err.Error(), "\n") > 0 {
		t.Error(err)
	}
}
