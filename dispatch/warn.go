package dispatch

import (
	"fmt"
	"io"
	"os"
	"sync"
)

var (
	// warnings is where a program gets warnings about its environment variables.
	warnings io.Writer = os.Stderr
	// warned holds the warnings that were written already, because tables are built again and again.
	warned sync.Map
)

// warn writes a line to standard error, once in a process.
func warn(format string, arguments ...any) {
	warnOf(fmt.Sprintf(format, arguments...), format, arguments...)
}

// warnOf writes a line about a subject to standard error, once for each subject in a process. A program that calls ever
// new shapes meets the same mistake at each of them.
func warnOf(subject, format string, arguments ...any) {
	if _, twice := warned.LoadOrStore(subject, true); !twice {
		fmt.Fprintf(warnings, "dispatch: "+format+"\n", arguments...)
	}
}
