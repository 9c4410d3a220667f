package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// dirty follows a commit if the files that the program was built from differ from it.
const dirty = "+dirty"

// Commit returns the commit that the program was built from, or "" if that is not known. It ends with "+dirty" if files differed
// from the commit. The build says which commit it was. "go run" does not stamp it, but compiles the files of the module
// around the working folder. So Commit asks git there, if the module is a checkout of its own. A program that was built
// before may be of any commit.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if commit := stamped(info); commit != "" {
		return commit
	}
	executable, err := os.Executable()
	if err != nil || !madeByGoRun(executable) || info.Main.Path != modulePath || info.Main.Version != "(devel)" {
		return ""
	}
	folder, err := os.Getwd()
	if err != nil {
		return ""
	}
	return checkedOut(folder)
}

// stamped returns the commit that "go build" wrote into a program, or "".
func stamped(info *debug.BuildInfo) string {
	var commit, suffix string
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			commit = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			suffix = dirty
		}
	}
	if commit == "" {
		return ""
	}
	return commit + suffix
}

// modulePath is the path of this module.
const modulePath = "crossover"

// ranFrom matches the paths at which "go run" puts a program: first into a temporary folder, and from the second time on into
// the build cache, in a folder that is named after a hash.
var ranFrom = regexp.MustCompile(`(^|/)(go-build[0-9]+/b[0-9]+/exe|[0-9a-f]{2}/[0-9a-f]{64}-d)/[^/]+$`)

// madeByGoRun reports whether "go run" compiled the program at a path.
func madeByGoRun(executable string) bool { return ranFrom.MatchString(filepath.ToSlash(executable)) }

// checkedOut returns the commit of the checkout of this module around a folder, or "" if there is none.
func checkedOut(folder string) string {
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return ""
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	for ; err != nil; module, err = os.ReadFile(filepath.Join(root, "go.mod")) {
		above := filepath.Dir(root)
		if above == root {
			return ""
		}
		root = above
	}
	if first, _, _ := strings.Cut(string(module), "\n"); strings.TrimSpace(first) != "module "+modulePath {
		return ""
	}
	if top, err := git(root, "rev-parse", "--show-toplevel"); err != nil || filepath.Clean(filepath.FromSlash(top)) != root {
		return "" // the module is a part of another repository
	}
	commit, err := git(root, "rev-parse", "HEAD")
	if err != nil {
		return ""
	}
	if changed, err := git(root, append([]string{"status", "--porcelain", "--"}, sources...)...); err != nil {
		return ""
	} else if changed != "" {
		commit += dirty
	}
	return commit
}

// sources are the files of which programs are made. A calibration changes other files of a checkout.
var sources = []string{"*.go", "*.s", "*.h", "*.metal", "go.mod", "go.sum"}

// git returns what git prints in a folder.
func git(folder string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", folder}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}
