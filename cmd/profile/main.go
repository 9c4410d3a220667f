// Profile says where the time of a pipeline goes: by stage and by list of kernels, on the processor, on a GPU and between them.
//
// Usage: go run ./cmd/profile --audio song.wav [flags]; --help lists them. The exit code is 0 if it profiled, 1 if it could
// not, and 2 for a wrong command line.
package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"crossover/cmd/internal/command"
)

func main() { command.Main("profile", run) }

// options holds the command line.
type options struct {
	audio       string
	pipeline    string
	plan        string
	calibration string
	calls       int
	stream      bool
}

// leastCalls is the least number of calls for a median and a spread.
const leastCalls = 5

var pipelines = []string{"analysis"}

func parse(args []string, stdout io.Writer) (o *options, done bool, err error) {
	o = &options{}
	flags := pflag.NewFlagSet("profile", pflag.ContinueOnError)
	flags.StringVar(&o.audio, "audio", "", "the recording, a PCM WAV `file`")
	flags.StringVar(&o.pipeline, "pipeline", "analysis", "the pipeline: "+strings.Join(pipelines, ", "))
	flags.StringVar(&o.plan, "plan", "best", "where stages are computed: "+strings.Join(plans, ", "))
	flags.StringVar(&o.calibration, "calibration", "calibration.json", "the `file` that the stages are chosen by; without it they are computed in Go on one core")
	flags.IntVar(&o.calls, "calls", 20, "timed calls of the pipeline")
	flags.BoolVar(&o.stream, "stream", false, "profile the pipeline over a stream")
	done, err = command.Parse(flags, args, stdout,
		"Profile runs a pipeline over a recording again and again, and says where the time goes.")
	if done || err != nil {
		return nil, done, err
	}
	switch {
	case !slices.Contains(pipelines, o.pipeline):
		err = command.Usage("--pipeline %q: no such pipeline (want %s)", o.pipeline, strings.Join(pipelines, ", "))
	case !slices.Contains(plans, o.plan):
		err = command.Usage("--plan %q: no such plan (want %s)", o.plan, strings.Join(plans, ", "))
	case o.calls < leastCalls:
		err = command.Usage("--calls %d: want at least %d", o.calls, leastCalls)
	case o.stream:
		err = command.Usage("--stream: streams cannot be profiled yet (leave the flag out to profile whole recordings)")
	case o.audio == "":
		err = command.Usage("--audio: no recording is named (want a PCM WAV file, such as --audio song.wav)")
	}
	return o, false, err
}

// run runs the command.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	o, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	return profile(ctx, o, stdout, stderr)
}
