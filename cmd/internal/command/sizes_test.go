package command

import (
	"errors"
	"strings"
	"testing"
)

func TestParseSizes(t *testing.T) {
	for text, want := range map[string]SizeRange{
		"64:1Mi:x2":     {64, 1 << 20, 2},
		"1:1":           {1, 1, 0},
		"1000:3000":     {1000, 3000, 0},
		"1Ki:2Gi:x1.5":  {1 << 10, 2 << 30, 1.5},
		"512:1024Gi:x4": {512, 1 << 40, 4},
	} {
		got, err := ParseSizes(text)
		if err != nil || got != want {
			t.Errorf("ParseSizes(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseSizesRefusesNonsense(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "1 part",
		"64":                      "1 part",
		"1:2:x2:x3":               "4 parts",
		"2:1":                     "upper bound 1 is below lower bound 2",
		"0:64":                    "lower bound is 0",
		"-1:64":                   `lower bound "-1" is not a whole number`,
		"a:b":                     `lower bound "a" is not a whole number`,
		"1.5:64":                  "not a whole number",
		"64:1M":                   `upper bound "1M" is not a whole number`,
		"64:99999999999999999999": "not a whole number",
		"64:9223372036854775807":  "is more than 1024Gi",
		"64:9007199254740993Ki":   "is more than 1024Gi",
		"64:1025Gi":               "is more than 1024Gi",
		"1:64:2":                  `step "2" is not x and a number above 1`,
		"1:64:x1":                 `step "x1"`,
		"1:64:xNaN":               `step "xNaN"`,
		"1:64:xInf":               `step "xInf"`,
		"1:64:x-2":                `step "x-2"`,
		"1:64:x":                  `step "x"`,
		"Ki:64":                   `lower bound "Ki"`,
	} {
		_, err := ParseSizes(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "e.g. 64:1Mi:x2") {
			t.Errorf("ParseSizes(%q): error %v, want one that holds %q and an example", text, err, want)
			continue
		}
		var coded *Error
		if !errors.As(err, &coded) || coded.Code != ExitUsage {
			t.Errorf("ParseSizes(%q): %v is not a usage error", text, err)
		}
	}
}

func FuzzParseSizes(f *testing.F) {
	for _, text := range []string{"64:1Mi:x2", "1:1", "2:1", "64:9007199254740993Ki", "::", "1Ki:2Gi:x1e300"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseSizes(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: error of several lines: %v", text, err)
			}
			return
		}
		if r.Low < 1 || r.High < r.Low || r.High > maxSize || r.Ratio != 0 && !(r.Ratio > 1) {
			t.Errorf("%q: accepted as %+v", text, r)
		}
	})
}
