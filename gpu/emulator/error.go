package emulator

import "fmt"

// Fault is what a kernel did wrong.
type Fault struct {
	Source  string
	Line    int // 0 where it is not known
	Kernel  string
	Message string
}

func (f *Fault) Error() string {
	place := f.Source
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, f.Line)
	}
	return fmt.Sprintf("%s: kernel %s %s", place, f.Kernel, f.Message)
}
