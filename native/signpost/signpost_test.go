//go:build linux && (amd64 || arm64)

package signpost_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ebitengine/purego"

	"crossover/native/signpost"
	"crossover/native/signpost/standin"
)

// kinds returns kinds of intervals on the stand-in, as a profile has them.
func kinds(t *testing.T, f *standin.Functions) (calls, stages, lists *signpost.Kind) {
	t.Helper()
	var all []*signpost.Kind
	for _, of := range [][2]string{{"program", "call"}, {"engine", "stage"}, {"gpu", "kernels"}} {
		k, err := signpost.New(f.Find, f.Text, "test", of[0], of[1])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, k)
	}
	return all[0], all[1], all[2]
}

func TestIntervalsAreWhatMacOSTakes(t *testing.T) {
	f := standin.New()
	calls, stages, lists := kinds(t, f)
	call := calls.Begin("a call")
	stage := stages.Begin("stft + power")
	list := lists.Begin("")
	lists.End(list)
	stages.End(stage)
	calls.End(call)

	var got []string
	for _, s := range f.Signposts() {
		if s.Image != standin.Image || s.Subsystem != "test" {
			t.Errorf("%+v, want the image %#x and the subsystem test", s, standin.Image)
		}
		got = append(got, fmt.Sprintf("%s %s %d %d %q %q %d", s.Category, s.Name, s.Type, s.ID, s.Format, s.Text, len(s.Arguments)))
	}
	want := []string{
		fmt.Sprintf(`program call 1 %d "%%{public}s" "a call" 12`, call),
		fmt.Sprintf(`engine stage 1 %d "%%{public}s" "stft + power" 12`, stage),
		fmt.Sprintf(`gpu kernels 1 %d "%%{public}s" "" 12`, list),
		fmt.Sprintf(`gpu kernels 2 %d "" "" 2`, list),
		fmt.Sprintf(`engine stage 2 %d "" "" 2`, stage),
		fmt.Sprintf(`program call 2 %d "" "" 2`, call),
	}
	if !slices.Equal(got, want) {
		t.Errorf("signposts\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if call == stage || stage == list || call == 0 {
		t.Errorf("the identifiers %d, %d and %d are not three", call, stage, list)
	}
	all := f.Signposts()
	if got := all[0].Arguments[:4]; !slices.Equal(got, []byte{2, 1, 0x22, 8}) {
		t.Errorf("the arguments begin with % x", got)
	}
	if got := all[5].Arguments; !slices.Equal(got, []byte{0, 0}) {
		t.Errorf("no arguments are % x", got)
	}
}

// What a longer text was must not follow a shorter one, and a text ends where C says.
func TestTextsEndWithAZeroByte(t *testing.T) {
	f := standin.New()
	calls, _, _ := kinds(t, f)
	long := strings.Repeat("x", signpost.MostText)
	for text, want := range map[string]string{"": "", "a\x00b": "a", "short": "short", long + "y": long, long: long} {
		calls.End(calls.Begin(long))
		calls.End(calls.Begin(text))
		all := f.Signposts()
		if got := all[len(all)-2].Text; got != want {
			t.Errorf("%.20q is emitted as %.20q of %d bytes, want %d", text, got, len(got), len(want))
		}
	}
}

func TestNothingIsEmittedIfNobodyWantsIt(t *testing.T) {
	f := standin.New()
	calls, stages, _ := kinds(t, f)
	f.Disable()
	if id := calls.Begin("a call"); id != 0 {
		t.Errorf("an interval that nobody wants has the identifier %d", id)
	}
	calls.End(stages.Begin("stage"))
	if all := f.Signposts(); len(all) > 0 || f.Asked() != 2 {
		t.Errorf("%d signposts after %d questions, want none after 2", len(all), f.Asked())
	}
	var none *signpost.Kind
	none.End(none.Begin("nothing"))
}

func TestKindsThatCannotBe(t *testing.T) {
	f := standin.New()
	for name := range map[string]bool{"os_log_create": true, "os_signpost_enabled": true, "os_signpost_id_generate": true,
		"_os_signpost_emit_with_name_impl": true, "dladdr": true} {
		_, err := signpost.New(func(of string) (uintptr, error) {
			if of == name {
				return 0, errors.New("missing")
			}
			return f.Find(of)
		}, f.Text, "test", "program", "call")
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("without %s: %v", name, err)
		}
	}
	if _, err := signpost.New(f.Find, f.Text, "test", strings.Repeat("x", 600), "call"); err == nil {
		t.Error("a long category is accepted")
	}
	f.Outside()
	if _, err := signpost.New(f.Find, f.Text, "test", "program", "call"); err == nil || !strings.Contains(err.Error(), `"call"`) {
		t.Errorf("a name outside of the binaries: %v", err)
	}
}

func TestManyGoroutines(t *testing.T) {
	f := standin.New()
	calls, _, _ := kinds(t, f)
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Go(func() {
			for range 100 {
				calls.End(calls.Begin(strings.Repeat(string(rune('a'+g)), 10+g)))
			}
		})
	}
	wait.Wait()
	began := map[uint64]string{}
	for _, s := range f.Signposts() {
		switch text, known := began[s.ID]; {
		case s.Type == 1 && !known:
			if s.Text == "" || strings.Trim(s.Text, s.Text[:1]) != "" || len(s.Text) != 10+int(s.Text[0]-'a') {
				t.Fatalf("an interval has the text %q", s.Text)
			}
			began[s.ID] = s.Text
		case s.Type == 2 && known && text != "":
			began[s.ID] = ""
		default:
			t.Fatalf("%+v after %q", s, text)
		}
	}
	if len(began) != 800 {
		t.Errorf("%d intervals, want 800", len(began))
	}
}

// library returns texts from a library that this system's compiler has made.
func library(t *testing.T, texts ...string) signpost.Texts {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		if _, err := exec.LookPath("clang"); err != nil {
			t.Skip("there is no C compiler")
		}
	}
	of, err := signpost.Library(filepath.Join(t.TempDir(), "new"), texts...)
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// The functions are those of C that take and return a word. The stand-in's own allocate. dladdr is the real one: it finds the library
// of the texts.
func TestIntervalsDoNotAllocate(t *testing.T) {
	if info, _ := debug.ReadBuildInfo(); slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("a call of a C function allocates under the race detector")
	}
	texts := library(t, "call")
	k, err := signpost.New(func(name string) (uintptr, error) {
		switch name {
		case "dladdr":
		case "os_log_create":
			name = "atol" // the handle is the number in the subsystem
		default:
			name = "labs" // so signposts are enabled, and an identifier is the handle
		}
		return purego.Dlsym(purego.RTLD_DEFAULT, name)
	}, texts, "33", "program", "call")
	if err != nil {
		t.Fatal(err)
	}
	if id := k.Begin("a call"); id != 33 {
		t.Fatalf("the identifier is %d, want 33", id)
	}
	if n := testing.AllocsPerRun(100, func() { k.End(k.Begin("a call")) }); n > 0 {
		t.Errorf("an interval allocates %g times", n)
	}
}

func TestLibrary(t *testing.T) {
	odd := "\"%s\" \\ ü ??/"
	texts := library(t, "call", odd)
	for _, text := range []string{"call", odd, "", "%{public}s"} {
		address, err := texts(text)
		if err != nil || standin.CString(address) != text {
			t.Errorf("%q is %q (%v)", text, standin.CString(address), err)
		}
	}
	if _, err := texts("missing"); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a missing text: %v", err)
	}
	dir := t.TempDir()
	for range 2 { // the second one finds the library
		if _, err := signpost.Library(dir, "stage"); err != nil {
			t.Fatal(err)
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
			t.Errorf("the folder has %v (%v), want one library", all, err)
		}
		t.Setenv("PATH", "")
	}
	if _, err := signpost.Library(dir, "move"); err == nil || !strings.Contains(err.Error(), "xcode-select --install") {
		t.Errorf("without a compiler: %v", err)
	}
}
