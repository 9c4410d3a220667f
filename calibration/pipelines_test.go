package calibration

import (
	"math"
	"slices"
	"testing"
)

func TestPipelines(t *testing.T) {
	for name, test := range map[string]struct {
		change func(h *Host, p *Pipeline)
		want   string // behind the name of the host; "" for no error
	}{
		"as it is":          {func(*Host, *Pipeline) {}, ""},
		"none":              {func(h *Host, _ *Pipeline) { h.Pipelines = nil }, ""},
		"in disorder":       {func(_ *Host, p *Pipeline) { slices.Reverse(p.Lengths) }, ""},
		"no name":           {func(_ *Host, p *Pipeline) { p.Name = "" }, "pipelines[0]: name is missing"},
		"twins":             {func(h *Host, p *Pipeline) { h.Pipelines = append(h.Pipelines, *p) }, `pipeline "analysis": is there twice`},
		"too many":          {func(h *Host, p *Pipeline) { h.Pipelines = slices.Repeat(h.Pipelines, 65) }, "pipelines has 65 (want at most 64)"},
		"no stages":         {func(_ *Host, p *Pipeline) { p.Stages = nil }, `pipeline "analysis": has 0 stages (want 1 to 256)`},
		"a nameless stage":  {func(_ *Host, p *Pipeline) { p.Stages[1] = "" }, `pipeline "analysis": stages[1]: is missing`},
		"no lengths":        {func(_ *Host, p *Pipeline) { p.Lengths = nil }, `pipeline "analysis": has 0 lengths (want 1 to 64)`},
		"an empty input":    {func(_ *Host, p *Pipeline) { p.Lengths[0].Elements[0] = 0 }, `pipeline "analysis": lengths[0]: elements is [0] (want a number of at least 1 for each input and output)`},
		"no input":          {func(_ *Host, p *Pipeline) { p.Lengths[0].Elements = nil }, `pipeline "analysis": lengths[0]: elements is [] (want a number of at least 1 for each input and output)`},
		"another input":     {func(_ *Host, p *Pipeline) { p.Lengths[1].Elements = []int{1, 2} }, `pipeline "analysis": lengths[1]: elements has 2 values, and those of lengths[0] 1`},
		"a length twice":    {func(_ *Host, p *Pipeline) { p.Lengths[1].Elements[0] = 22050 }, `pipeline "analysis": lengths[1]: elements [22050] are there twice`},
		"no blocks":         {func(_ *Host, p *Pipeline) { p.Lengths[0].Blocks = 0 }, `pipeline "analysis": lengths[0]: blocks is 0 (want at least 1)`},
		"a margin below 0":  {func(_ *Host, p *Pipeline) { p.Lengths[0].Margin = -0.1 }, `pipeline "analysis": lengths[0]: margin is -0.1 (want a finite number, at least 0)`},
		"a margin of NaN":   {func(_ *Host, p *Pipeline) { p.Lengths[0].Margin = math.NaN() }, `pipeline "analysis": lengths[0]: margin is NaN (want a finite number, at least 0)`},
		"no routes":         {func(_ *Host, p *Pipeline) { p.Lengths[0].Routes = nil }, `pipeline "analysis": lengths[0]: has 0 routes (want 1 to 16)`},
		"half a route":      {func(_ *Host, p *Pipeline) { p.Lengths[0].Routes[0].Implementations = []string{"go"} }, `pipeline "analysis": lengths[0]: route "best-1" has 1 implementations (want 2, one for each stage)`},
		"no time":           {func(_ *Host, p *Pipeline) { p.Lengths[0].Routes[0].MedianSeconds = 0 }, `pipeline "analysis": lengths[0]: route "best-1": median_seconds is 0 (want a finite number above 0)`},
		"no forecast":       {func(_ *Host, p *Pipeline) { p.Lengths[0].Routes[0].PredictedSeconds = math.Inf(1) }, `pipeline "analysis": lengths[0]: route "best-1": predicted_seconds is +Inf (want a finite number, at least 0)`},
		"the slowest first": {func(_ *Host, p *Pipeline) { slices.Reverse(p.Lengths[0].Routes) }, `pipeline "analysis": lengths[0]: route "best-1" is faster than the one before (want the fastest first)`},
		"no parts": {func(_ *Host, p *Pipeline) {
			p.Lengths[0].Parts, p.Lengths[0].BetweenSeconds = nil, 0
		}, ""},
		"less than nothing between":  {func(_ *Host, p *Pipeline) { p.Lengths[0].BetweenSeconds = -1 }, `pipeline "analysis": lengths[0]: between_seconds is -1 (want a finite number, at least 0)`},
		"too many parts":             {func(_ *Host, p *Pipeline) { p.Lengths[0].Parts = slices.Repeat(p.Lengths[0].Parts, 600) }, `pipeline "analysis": lengths[0]: has 1200 parts (want at most 1024)`},
		"a part twice":               {func(_ *Host, p *Pipeline) { p.Lengths[0].Parts = slices.Repeat(p.Lengths[0].Parts, 2) }, `pipeline "analysis": lengths[0]: part "stft" is there twice`},
		"a nameless part":            {func(_ *Host, p *Pipeline) { p.Lengths[0].Parts[1].Name = "" }, `pipeline "analysis": lengths[0]: parts[1]: is missing`},
		"a part without time":        {func(_ *Host, p *Pipeline) { p.Lengths[0].Parts[1].MedianSeconds = 0 }, `pipeline "analysis": lengths[0]: part "columns": median_seconds is 0 (want a finite number above 0)`},
		"a stage without prediction": {func(_ *Host, p *Pipeline) { p.Lengths[0].Parts[0].PredictedSeconds = 0 }, `pipeline "analysis": lengths[0]: part "stft": predicted_seconds is 0 and bytes 0 (want a finite number above 0, and no bytes, for a stage)`},
		"a tensor without bytes":     {func(_ *Host, p *Pipeline) { p.Lengths[0].Parts[1].Bytes = 0 }, `pipeline "analysis": lengths[0]: part "columns": predicted_seconds is 0 and bytes 0 (want at least 1 byte, and no prediction, for a tensor)`},
		"no revisions":               {func(_ *Host, p *Pipeline) { p.Lengths[0].Revisions = nil }, ""},
		"revision 0":                 {func(_ *Host, p *Pipeline) { p.Lengths[0].Revisions[1].Revision = 0 }, `pipeline "analysis": lengths[0]: revisions[1]: revision is 0 (want 1 to 2147483647; one of 0 is left out)`},
		"another stage":              {func(_ *Host, p *Pipeline) { p.Lengths[0].Revisions[1].Stage = "mfcc" }, `pipeline "analysis": lengths[0]: revisions[1]: stage "mfcc" is none of the pipeline's`},
		"revised nameless":           {func(_ *Host, p *Pipeline) { p.Lengths[0].Revisions[0].Implementation = "" }, `pipeline "analysis": lengths[0]: revisions[0]: implementation is missing`},
		"a revision twice":           {func(_ *Host, p *Pipeline) { p.Lengths[0].Revisions = slices.Repeat(p.Lengths[0].Revisions, 2) }, `pipeline "analysis": lengths[0]: revisions[2]: "metal" of stage "stft" is there twice`},
		"too many revised":           {func(_ *Host, p *Pipeline) { p.Lengths[0].Revisions = slices.Repeat(p.Lengths[0].Revisions, 513) }, `pipeline "analysis": lengths[0]: has 1026 revisions (want at most 1024)`},
		"a route twice":              {func(_ *Host, p *Pipeline) { p.Lengths[0].Routes[1].Name = "best-1" }, `pipeline "analysis": lengths[0]: route "best-1" is there twice`},
	} {
		f := example()
		h := &f.Hosts[1]
		test.change(h, &h.Pipelines[0])
		want := ""
		if test.want != "" {
			want = `calibration: hosts[1] "apple-m3-max-40": ` + test.want
		}
		got := ""
		if err := f.Validate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", name, got, want)
		}
	}
}

// A pipeline replaces the one of its name, and the file has them sorted.
func TestSetPipeline(t *testing.T) {
	h := example().Hosts[1]
	p := *h.Pipeline("analysis")
	p.Name = "a-first"
	h.SetPipeline(p)
	p.Lengths = p.Lengths[:1]
	h.SetPipeline(p)
	if got := h.Pipeline("a-first"); len(h.Pipelines) != 2 || len(got.Lengths) != 1 {
		t.Fatalf("%d pipelines, %+v", len(h.Pipelines), got)
	}
	h.normalise()
	if h.Pipelines[0].Name != "a-first" || h.Pipeline("none") != nil {
		t.Errorf("%s is first", h.Pipelines[0].Name)
	}
}

func TestForecastError(t *testing.T) {
	route := func(predicted, measured float64) Route {
		return Route{MedianSeconds: measured, PredictedSeconds: predicted}
	}
	for _, test := range []struct {
		routes [2][]Route
		want   float64
	}{
		{[2][]Route{}, 0},
		{[2][]Route{{route(0, 1)}}, 0},
		{[2][]Route{{route(2, 1)}}, 1},
		{[2][]Route{{route(0.5, 1), route(0, 1)}, {route(2.25, 2), route(9, 9)}}, 0.125},
		{[2][]Route{{route(0.5, 1), route(2, 2)}, {route(2.5, 2), route(9, 9)}}, 0.125},
	} {
		p := Pipeline{Lengths: []PipelineLength{{Routes: test.routes[0]}, {Routes: test.routes[1]}}}
		if got := ForecastError(p); got != test.want {
			t.Errorf("%v: %v, want %v", test.routes, got, test.want)
		}
	}
}

func TestTitle(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"best-1", "best-2", "best-3", "stages", "processor", "gpu"} {
		title := (&Route{Name: name}).Title()
		if title == name || seen[title] {
			t.Errorf("%s has the title %q", name, title)
		}
		seen[title] = true
	}
	if got := (&Route{Name: "newer"}).Title(); got != "newer" {
		t.Errorf("an unknown name has the title %q", got)
	}
}
