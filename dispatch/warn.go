package dispatch

import (
	"fmt"
	"io"
	"os"
	"sync"
)

var (
	// warnings receives warnings about environment variables.
	warnings io.Writer = os.Stderr
	// warned holds the warnings that were already written, because tables are built again and again.
	warned sync.Map
)

// warn writes a line to standard error, once in a process.
func warn(format string, arguments ...any) {
	warnOf(fmt.Sprintf(format, arguments...), format, arguments...)
}

// warnOf writes a line about a subject to standard error, once for each subject in a process. Without that, a program that
// always calls new shapes would cause a line for each.
func warnOf(subject, format string, arguments ...any) {
	if _, twice := warned.LoadOrStore(subject, true); !twice {
		fmt.Fprintf(warnings, "dispatch: "+format+"\n", arguments...)
	}
}
