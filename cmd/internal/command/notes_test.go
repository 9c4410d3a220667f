package command

import (
	"slices"
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	const restless = "degraded: the machine did not come to rest: "
	for name, c := range map[string]struct {
		notes []Note
		want  []string
	}{
		"none": {},
		"one":  {[]Note{{"sum", restless + "one processor took 1.22 times as long"}}, []string{"sum: " + restless + "one processor took 1.22 times as long"}},
		"the same of many": {
			[]Note{{"a", "degraded: noise"}, {"b", "degraded: noise"}, {"c", "degraded: noise"}, {"d", "degraded: noise"}, {"e", "degraded: noise"}},
			[]string{"5 cases: degraded: noise (a, b, c and 2 more)"},
		},
		"numbers become a range": {
			[]Note{
				{"a", restless + "one processor took 9.5 times as long"}, {"b", restless + "one processor took 1.22 times as long"},
				{"c", restless + "one processor took 10.2 times as long"},
			},
			[]string{"3 cases: " + restless + "one processor took 1.22 to 10.2 times as long (a, b, c)"},
		},
		"each number by itself": {
			[]Note{{"a", "crowded in 12 of 20 blocks (7, so)"}, {"b", "crowded in 8 of 20 blocks (9, so)"}},
			[]string{"2 cases: crowded in 8 to 12 of 20 blocks (7 to 9, so) (a, b)"},
		},
		"other words are another kind": {
			[]Note{{"a", "degraded: noise"}, {"b", "degraded: heat"}, {"c", "degraded: noise"}},
			[]string{"2 cases: degraded: noise (a, c)", "b: degraded: heat"},
		},
		"names with digits are words": {
			[]Note{{"a", "fftw3f is slow"}, {"b", "fftw2f is slow"}}, []string{"a: fftw3f is slow", "b: fftw2f is slow"},
		},
		"many numbers are no range": {
			[]Note{{"a", "1 2 3 4"}, {"b", "5 6 7 8"}}, []string{"a: 1 2 3 4", "b: 5 6 7 8"},
		},
		"twice of one case":  {[]Note{{"a", "x"}, {"a", "x"}}, []string{"a: x"}},
		"unlike in one case": {[]Note{{"a", "failed at 3"}, {"a", "failed at 5"}}, []string{"a: failed at 3", "a: failed at 5"}},
		"left out": {
			[]Note{
				{"a", "go was not timed above 1024 rows: it falls over 4 times behind the best"},
				{"a", "fftw was not timed above 1024 rows: it falls over 4 times behind the best"},
				{"b", "go/direct was not timed above 2 rows: it falls over 4 times behind the best"},
				{"b", "fftw was not timed above n_fft=480,n=48000: it falls over 8 times behind the best"},
				{"c", "fftw was not timed above 512 samples: it would be about 5571 times slower than the best at 4096"},
			},
			[]string{"far behind the best, and so not timed at the largest sizes: fftw in 3 cases, go in a, go/direct in b"},
		},
		"doubts": {
			[]Note{
				{"a", "from 1 to 4 go may be faster than fftw: it depends on the state of the machine"},
				{"b", "from 64 to 4096 cuda may be faster than go: it depends on the state of the machine"},
				{"c", "from 8 to 8 go may be faster than cuda: it depends on the state of the machine"},
			},
			[]string{"it depends on the state of the machine whether another one is faster: a (go from 1 to 4), b (cuda from 64 to 4 096), c (go at 8)"},
		},
		"stopped": {
			[]Note{
				{"a", "stopped at 256 rows: a visit to 1024 would take about 0.79 s (a larger --budget goes further)"},
				{"b", "stopped at 65536 samples: a visit to 131072 samples would take about 1e+02 s (a larger --budget goes further)"},
				{"c", "stopped at n_fft=480,n=48000: a visit to n_fft=512,n=96000 would take about 1 s (a larger --budget goes further)"},
			},
			[]string{"stopped early, because visits to larger sizes would take too long (a larger --budget goes further): " +
				"a (at 256 rows), b (at 65 536 samples), c (at n_fft=480,n=48000)"},
		},
	} {
		if got := Fold(c.notes); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// A line does not name all of many cases.
func TestFoldNamesAFew(t *testing.T) {
	var notes []Note
	for k := range 20 {
		notes = append(notes, Note{string(rune('a' + k)), "stopped at 256 rows: a visit to 1024 would take about 0.79 s (a larger --budget goes further)"})
	}
	if lines := Fold(notes); len(lines) != 1 || !strings.HasSuffix(lines[0], "f (at 256 rows) and 14 more") {
		t.Errorf("%q", lines)
	}
}
