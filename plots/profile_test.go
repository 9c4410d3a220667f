package plots

import (
	"strings"
	"testing"
	"time"

	"crossover/profiles"
)

// profiled returns a profile of calls with copies, a list of kernels and a stage on the processor. by multiplies all times.
func profiled(plan string, by float64) *profiles.Profile {
	var b profiles.Builder
	for i := range 20 {
		ms := 1e-3 * by * (1 + 0.01*float64(i%5))
		b.Add([]profiles.Span{
			{Name: "cut parts", Place: profiles.Transfer, Begin: 0, End: ms, Work: profiles.Work{Bytes: 1e6}},
			{Name: "stft + mel", Stages: []string{"stft", "mel"}, Place: profiles.GPU, Implementation: "metal", Begin: ms, End: 5 * ms,
				Device: &profiles.Device{In: 0.5 * ms, Launch: 0.2 * ms, Wait: 2.8 * ms, Out: 0.4 * ms, Span: 2.5 * ms, Busy: 1.8 * ms, Gaps: 0.2 * ms, Kernels: 3},
				Work:   profiles.Work{Bytes: 4e6, Operations: 1e8}},
			{Name: "tempogram", Stages: []string{"tempogram"}, Place: profiles.Processor, Implementation: "go-parallel", Begin: 5 * ms, End: 9 * ms,
				Work: profiles.Work{Bytes: 1e6, Operations: 4e7}},
		}, 9.2*ms)
	}
	p := b.Profile()
	p.Pipeline, p.Plan, p.Host, p.Recording, p.Samples, p.SampleRate = "analysis", plan, "apple-m3-max-40", "song.wav", 240*22050, 22050
	p.Created = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	p.Roofs = []profiles.Roof{{Place: profiles.Processor, Copies: []profiles.CopyRate{{Bytes: 1e6, Rate: 1e10}}, Operations: 4e10}}
	return p
}

func ganttChart() *Chart {
	return Gantt(profiled("best", 1), []Planned{{"processor", profiled("processor", 1.7)}})
}

func stageChart() *Chart {
	before := profiled("best", 1.5)
	before.Stages[2].Name = "tempo"
	return StageBars(profiled("best", 1), before)
}

// wordsOn returns what a chart says.
func wordsOn(c *Chart) string {
	var all []string
	for _, t := range list(c).texts {
		all = append(all, t.text)
	}
	return strings.Join(all, "|")
}

func TestWordsOfAGantt(t *testing.T) {
	said := wordsOn(ganttChart())
	for _, want := range []string{"Where the time of analysis goes, by plan", "best: 9.38\u202fms a call (profiled)", "processor: 16\u202fms a call",
		"processor", "GPU", "copies", "stft + mel", "tempogram", "launch", "wait", "song.wav, 240 s at 22050 Hz · 20 calls"} {
		if !strings.Contains(said, want) {
			t.Errorf("the chart lacks %q: %s", want, said)
		}
	}
}

// A stage alone on a GPU is drawn as a list is: launch, wait and kernels, and copies in a lane of their own.
func TestWordsOfAStageAlone(t *testing.T) {
	p := profiled("stages", 1)
	p.Median = p.Median[1:] // without the move
	p.Median[0].Name, p.Median[0].Stages = "stft", []string{"stft"}
	said := wordsOn(Gantt(p, nil))
	for _, want := range []string{"processor|", "GPU|", "copies|", "|stft|", "|launch|", "|wait|"} {
		if !strings.Contains(said, want) {
			t.Errorf("the chart lacks %q: %s", want, said)
		}
	}
}

func TestWordsOfStageBars(t *testing.T) {
	said := wordsOn(stageChart())
	for _, want := range []string{"What the stages of analysis take, before and after", "before", "6.12 ms → 4.08 ms, 0.67×",
		"tempogram|4.08 ms", "tempo|6.12 ms before, then gone", "between the stages", "least time by the roof"} {
		if !strings.Contains(said, want) {
			t.Errorf("the chart lacks %q: %s", want, said)
		}
	}
	if said := wordsOn(StageBars(profiled("best", 1), nil)); strings.Contains(said, "before") || strings.Contains(said, "→") {
		t.Errorf("a chart without an earlier profile speaks of one: %s", said)
	}
}

// Nothing of a chart lies outside of it, whatever the stages are called and however many there are.
func TestProfileChartsHoldEverything(t *testing.T) {
	p := profiled("best", 1)
	for range 30 {
		s := p.Stages[2]
		s.Name = strings.Repeat("long name ", 12)
		p.Stages = append(p.Stages, s)
	}
	p.Recording = strings.Repeat("a recording ", 40) + "\n"
	p.Median = append(p.Median, profiles.Span{Name: strings.Repeat("x", 200), Place: profiles.Processor, Begin: 1, End: 1})
	for name, chart := range map[string]*Chart{"gantt": Gantt(p, nil), "stages": StageBars(p, p)} {
		for _, text := range list(chart).texts {
			if b := text.box; b.Min.X < 0 || b.Min.Y < 0 || b.Max.X > chart.width+1 || b.Max.Y > chart.height {
				t.Errorf("%s: %q lies at %v, on a chart of %v×%v", name, text.text, b, chart.width, chart.height)
			}
		}
	}
}
