package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestWhatABuildSaysOfItsCommit(t *testing.T) {
	revision, clean, modified := debug.BuildSetting{Key: "vcs.revision", Value: "abc"},
		debug.BuildSetting{Key: "vcs.modified", Value: "false"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for want, settings := range map[string][]debug.BuildSetting{
		"": {clean}, "abc": {revision, clean}, "abc+dirty": {{Key: "vcs", Value: "git"}, revision, modified},
	} {
		if got := stamped(&debug.BuildInfo{Settings: settings}); got != want {
			t.Errorf("%v: %q, want %q", settings, got, want)
		}
	}
	if got := stamped(&debug.BuildInfo{Settings: []debug.BuildSetting{modified}}); got != "" {
		t.Errorf("a build without a commit: %q", got)
	}
}

func TestWhoMadeAProgram(t *testing.T) {
	hash := strings.Repeat("5b", 32)
	for path, want := range map[string]bool{
		"/tmp/go-build1746922373/b001/exe/calibrate":         true,
		"/root/.cache/go-build/5b/" + hash + "-d/calibrate":  true,
		"/elsewhere/5b/" + hash + "-d/calibrate":             true,
		"/tmp/go-build1746922373/b001/command.test":          false,
		"/home/me/go/bin/calibrate":                          false,
		"/home/me/go-build/exe/calibrate":                    false,
		"/home/me/" + hash + "/calibrate":                    false,
		"/tmp/go-build1746922373/b001/exe/another/calibrate": false,
	} {
		if got := madeByGoRun(path); got != want {
			t.Errorf("%s was made by go run: %v, want %v", path, got, want)
		}
	}
}

// A test is a program without a stamp that "go run" did not compile. It runs inside a checkout.
func TestTheCommitOfATest(t *testing.T) {
	if got := Commit(); got != "" {
		t.Errorf("commit %q, want none", got)
	}
}

func TestTheCommitOfACheckout(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-C", root}, args...)
		out, err := exec.Command("git", args...).Output()
		if err != nil {
			t.Skipf("git %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := func(folder, want string) {
		t.Helper()
		if got := checkedOut(filepath.Join(root, folder)); got != want {
			t.Errorf("commit of %q: %q, want %q", folder, got, want)
		}
	}
	write("go.mod", "module crossover\n\ngo 1.26\n")
	write("cmd/calibrate/main.go", "package main\n")
	write("other/go.mod", "module other\n")
	write("inner/go.mod", "module crossover\n")
	want("", "") // no repository
	run("init", "-q")
	want("", "") // no commit
	run("add", ".")
	run("commit", "-qm", "first")
	commit := run("rev-parse", "HEAD")
	want("", commit)
	want("cmd/calibrate", commit)
	want("other", "") // another module
	want("inner", "") // in the repository of another module
	write("calibration.json", "{}\n")
	want("", commit)
	write("cmd/calibrate/other.go", "package main\n")
	want("", commit+dirty)
	run("add", ".")
	want("cmd", commit+dirty)
	run("commit", "-qm", "second")
	want("", run("rev-parse", "HEAD"))
	write("cmd/calibrate/main.go", "package main\n\nfunc main() {}\n")
	want("", run("rev-parse", "HEAD")+dirty)
	write("go.mod", "module another\n")
	want("cmd", "")
}
