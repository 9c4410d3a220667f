package calibration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestLayOut(t *testing.T) {
	long := strings.Repeat("x", mostColumns-20)
	fits := strings.Repeat("x", mostColumns-len(`     "key": [""],`))            // its line is full
	both := strings.Repeat("x", mostColumns-len(`     "key": [""],"other": 1,`)) // so is that of two fields
	for compact, want := range map[string]string{
		`{}`:                        `{}`,
		`{"a":1,"b":[1,-2.5e-7]}`:   `{"a": 1,"b": [1,-2.5e-7]}`,
		`{"a":"]},:\\\"","b":null}`: `{"a": "]},:\\\"","b": null}`,
		`[["` + long + `"],{"a":[true,{}]},[]]`: `[
     ["` + long + `"],
     {"a": [true,{}]},
     []
    ]`,
		`{"key":["` + fits + `"],"other":1,"a":2}`: `{
     "key": ["` + fits + `"],
     "other": 1,"a": 2
    }`,
		`{"key":["` + both + `"],"other":1,"a":2}`: `{
     "key": ["` + both + `"],"other": 1,
     "a": 2
    }`,
		`{"key":["` + both + `x"],"other":1,"a":2}`: `{
     "key": ["` + both + `x"],
     "other": 1,"a": 2
    }`,
		`{"a":1,"key":["` + fits + `x"],"other":1,"b":2}`: `{
     "a": 1,
     "key": [
      "` + fits + `x"
     ],
     "other": 1,"b": 2
    }`,
	} {
		if got := string(layOut([]byte(compact), 4)); got != want {
			t.Errorf("%s is laid out as\n%s\nwant\n%s", compact, got, want)
		}
	}
}

// TestLayOutNumbers tests that lists of numbers fill their lines, and that no line is too long.
func TestLayOutNumbers(t *testing.T) {
	for n := range 300 {
		var list []float64
		for i := range n {
			list = append(list, float64(i*i)/float64(n))
		}
		compact, err := json.Marshal(map[string]any{"numbers": list, "behind": n})
		if err != nil {
			t.Fatal(err)
		}
		text := layOut(compact, 4)
		lines := bytes.Split(text, []byte("\n"))
		for i, line := range lines {
			if len(line) > mostColumns {
				t.Errorf("%d numbers: line %d has %d bytes", n, i, len(line))
			}
			if i > 2 && i < len(lines)-3 && len(line) < mostColumns-len(fmt.Sprint(list[n-1]))-20 {
				t.Errorf("%d numbers: line %d has %d bytes only", n, i, len(line))
			}
		}
		var again bytes.Buffer
		if err := json.Compact(&again, text); err != nil || !bytes.Equal(again.Bytes(), compact) {
			t.Fatalf("%v: %s became %s", err, compact, text)
		}
	}
}
