// Package loadable loads shared libraries without danger, and says why one cannot be loaded.
//
// The package knows no library and looks for none. Linux maps a library without looking at the file's length. A process
// that touches a page beyond the end of the file dies. So an incomplete library must be found before it is loaded.
// macOS checks that itself.
package loadable

import "strings"

// Check returns an error of one line where the file at path is not a whole shared library. A bare name, which the loader
// looks for in its own folders, is not checked.
func Check(path string) error {
	if !strings.Contains(path, "/") {
		return nil
	}
	return check(path)
}
