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
	// warned are the lines that are written already: tables are built again and again.
	warned sync.Map
)

// warn writes a line to standard error, once in a process.
func warn(format string, arguments ...any) {
	line := "dispatch: " + fmt.Sprintf(format, arguments...)
	if _, twice := warned.LoadOrStore(line, true); !twice {
		fmt.Fprintln(warnings, line)
	}
}
