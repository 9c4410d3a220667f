package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"crossover/audio"
	"crossover/cmd/internal/command"
	"crossover/dispatch"
	"crossover/songs"
)

var plans = songs.PlanNames

// profile times calls of a pipeline over a recording, and prints what it found.
func profile(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	recording, err := audio.ReadWAV(o.audio)
	if err != nil {
		return err
	}
	d, err := load(o.calibration, stderr)
	if err != nil {
		return err
	}
	analysis, err := songs.NewAnalysis(d, songs.AnalysisParams{SampleRate: recording.SampleRate})
	if err != nil {
		return err
	}
	defer analysis.Close()
	if err := analysis.Follow(o.plan, len(recording.Samples)); err != nil {
		return err
	}
	times := make([]time.Duration, o.calls)
	for i := range times {
		if ctx.Err() != nil {
			return command.Interrupted(errors.New("interrupted"))
		}
		begin := time.Now()
		if _, err := analysis.Run(recording.Samples); err != nil {
			return err
		}
		times[i] = time.Since(begin)
	}
	slices.Sort(times)
	_, err = fmt.Fprintf(stdout, "%s of %s: median %v of %s\n", o.pipeline, recording.Name, times[len(times)/2], command.Plural(o.calls, "call"))
	return err
}

// load returns the dispatcher of a calibration. Without a file it is nil, and a warning says so.
func load(path string, stderr io.Writer) (*dispatch.Dispatcher, error) {
	d, err := dispatch.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(stderr, "profile: %s does not exist: every stage is computed in Go on one core\n", path)
		return nil, nil
	}
	return d, err
}
