package main

import (
	"os"
	"path/filepath"

	"crossover/gpu"
	"crossover/native/signpost"
	"crossover/songs"
)

// subsystem is the name by which Instruments and log find the signposts of a profile.
const subsystem = "crossover"

// signposts are the intervals of a profile that Apple's Instruments shows. Their categories are tiers: a call of the pipeline in
// program, its stages, lists and moves in engine, and in gpu the kernels of a stage or a list, from when they are handed to the
// device until the host knows that they are done.
//
// A signpost is stamped with the time at which it is emitted. So the device's own times of the kernels cannot be signposts.
type signposts struct{ call, stage, list, move, kernels *signpost.Kind }

// intervals is what signposts need: functions, and the texts of names.
type intervals func(names ...string) (signpost.Symbols, signpost.Texts, error)

// ofMacOS are the intervals of macOS.
func ofMacOS(names ...string) (signpost.Symbols, signpost.Texts, error) {
	find, err := signpost.System()
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return nil, nil, err
	}
	texts, err := signpost.Library(filepath.Join(folder, "crossover"), names...)
	return find, texts, err
}

// newSignposts returns the signposts of a profile.
func newSignposts(of intervals) (*signposts, error) {
	find, texts, err := of("call", "stage", "list", "move", "kernels")
	if err != nil {
		return nil, err
	}
	s := &signposts{}
	for _, of := range []struct {
		kind           **signpost.Kind
		category, name string
	}{
		{&s.call, "program", "call"},
		{&s.stage, "engine", "stage"},
		{&s.list, "engine", "list"},
		{&s.move, "engine", "move"},
		{&s.kernels, "gpu", "kernels"},
	} {
		if *of.kind, err = signpost.New(find, texts, subsystem, of.category, of.name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// watch makes a recorder emit the intervals of later calls, whose text says what a call is, and plans those of their kernels. end ends
// both. A nil s emits nothing.
func (s *signposts) watch(r *songs.Recorder, text string) (end func()) {
	if s == nil {
		return func() {}
	}
	r.Marks = &songs.Marks{Text: text, Calls: s.call, Stages: s.stage, Lists: s.list, Moves: s.move}
	gpu.Watch(s.kernels)
	return func() {
		r.Marks = nil
		gpu.Watch(nil)
	}
}
