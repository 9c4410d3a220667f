package host

import (
	"os"
	"runtime"
)

func identify() Facts { return linuxFacts(os.DirFS("/"), runtime.GOARCH, runtime.NumCPU()) }

func observe() Condition { return linuxCondition(os.DirFS("/")) }
