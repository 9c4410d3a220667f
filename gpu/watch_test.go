package gpu

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// listener notes what a watcher is told.
type listener struct {
	told  []string
	begun uint64
	quiet bool
}

func (l *listener) Begin(kernels string) uint64 {
	l.begun++
	if !l.quiet {
		l.told = append(l.told, fmt.Sprintf("%d begins: %s", l.begun, kernels))
	}
	return l.begun
}

func (l *listener) End(id uint64) {
	if !l.quiet {
		l.told = append(l.told, fmt.Sprintf("%d ends", id))
	}
}

func TestWatch(t *testing.T) {
	defer Watch(nil)
	for _, unified := range []bool{false, true} {
		fake, d := newFake(t, unified)
		p, _, _, _, _ := newCopy(t, d)
		defer p.Close()
		data := [][]float32{make([]float32, 3), make([]float32, 5), make([]float32, 7)}
		watched := []string{"1 begins: copy + copy + copy", "1 ends"}
		for what, test := range map[string]struct {
			run  func() error
			want []string
		}{
			"Run":             {p.Run, watched},
			"RunResident":     {p.RunResident, watched},
			"Time":            {func() error { _, err := p.Time(false); return err }, watched},
			"Call":            {func() error { return p.Call(data) }, watched},
			"CallTimed":       {func() error { _, err := p.CallTimed(data); return err }, watched},
			"Submit":          {p.Submit, watched[:1]},
			"Submit and Wait": {func() error { return errors.Join(p.Submit(), p.Wait()) }, watched},
			"Upload":          {p.Upload, nil},
			"Download":        {p.Download, nil},
		} {
			l := &listener{}
			Watch(l)
			err := test.run()
			if err != nil || !slices.Equal(l.told, test.want) {
				t.Errorf("unified %v: %s: told %q, want %q (%v)", unified, what, l.told, test.want, err)
			}
			_ = p.Wait() // for Submit
		}
		for what, fail := range map[string]*error{"a submission": &fake.failSubmit, "a wait": &fake.failWait} {
			l := &listener{}
			Watch(l)
			*fail = errors.New("it fails")
			_, err := p.CallTimed(data)
			if errors.Join(err, p.Run()) == nil || !slices.Equal(l.told, append(watched, "2 begins: copy + copy + copy", "2 ends")) {
				t.Errorf("unified %v: %s that fails: told %q", unified, what, l.told)
			}
			*fail = nil
		}
		l := &listener{quiet: true}
		Watch(l)
		if n := testing.AllocsPerRun(100, func() { _ = p.Run() }); n > 0 {
			t.Errorf("unified %v: a watched run allocates %g times", unified, n)
		}
	}
}

// Who watches last is not told the end of what began before.
func TestWatchersChange(t *testing.T) {
	defer Watch(nil)
	_, d := newFake(t, true)
	p, _, _, _, _ := newCopy(t, d)
	defer p.Close()
	first, second := &listener{}, &listener{}
	Watch(first)
	err := p.Submit()
	Watch(second)
	err = errors.Join(err, p.Wait())
	Watch(nil)
	if err = errors.Join(err, p.Run()); err != nil {
		t.Fatal(err)
	}
	if len(first.told) != 2 || len(second.told) != 0 {
		t.Errorf("the first was told %q, and the second %q", first.told, second.told)
	}
}
