package gpu

import (
	"strings"
	"sync/atomic"
)

// Watcher is told when plans hand kernels to their devices and when those are done, as the host sees it. Several goroutines may call
// its methods at a time.
type Watcher interface {
	// Begin is called just before kernels are handed over, with their names joined by " + ". It returns what End is called with.
	Begin(kernels string) (id uint64)
	// End is called when the host knows that they are done or have failed.
	End(id uint64)
}

// watcher is one for all plans, because those who watch do not see which plans there are.
var watcher atomic.Pointer[Watcher]

// Watch makes w watch all plans. A nil w ends that. Without a watcher, a call of a plan loads one word for it.
func Watch(w Watcher) {
	if w == nil {
		watcher.Store(nil)
		return
	}
	watcher.Store(&w)
}

// watched is what a plan in flight tells its watcher at the end; nil stands for nobody.
type watched struct {
	by Watcher
	id uint64
}

// watch tells the watcher that the plan hands over a recording with kernels.
func (p *Plan) watch(r Recording) (w watched) {
	by := watcher.Load()
	if by == nil || r == p.upload || r == p.download {
		return watched{}
	}
	if p.kernels == "" {
		p.kernels = p.kernelNames()
	}
	return watched{*by, (*by).Begin(p.kernels)}
}

func (w *watched) end() {
	if w.by != nil {
		w.by.End(w.id)
	}
}

// kernelNames returns the names of the plan's kernels. Work of a vendor's library has no name.
func (p *Plan) kernelNames() string {
	var names []string
	for _, c := range p.commands {
		switch {
		case c.kernel != nil:
			names = append(names, c.kernel.function.Name)
		case c.encode != nil:
			names = append(names, "library")
		default:
			names = append(names, "copy")
		}
	}
	return strings.Join(names, " + ")
}
