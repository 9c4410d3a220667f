package dispatch

import (
	"fmt"
	"io"
	"os"
	"sync"
)

var (
	// warnings is where a program is told what has no other way to it: whoever sets an environment variable reads there.
	warnings io.Writer = os.Stderr
	// warned is what has been told already: tables are built again and again.
	warned sync.Map
)

// warn writes a line to standard error, once in a process.
func warn(format string, arguments ...any) {
	warnOf(fmt.Sprintf(format, arguments...), format, arguments...)
}

// warnOf writes a line about a subject to standard error, once for each subject in a process: a program that calls ever new
// shapes meets the same mistake at each of them.
func warnOf(subject, format string, arguments ...any) {
	if _, twice := warned.LoadOrStore(subject, true); !twice {
		fmt.Fprintf(warnings, "dispatch: "+format+"\n", arguments...)
	}
}
