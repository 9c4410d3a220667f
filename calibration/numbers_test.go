package calibration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// slowHost decodes a host by encoding/json alone.
func slowHost(t text) (*Host, error) {
	h := new(Host)
	err := t.decode(span{0, len(t)}, h)
	if err == nil {
		err = t.checkNumbers(0)
	}
	return h, err
}

// TestDecodeHost compares hosts decoded with and without the short cut through the numbers, of damaged texts too.
func TestDecodeHost(t *testing.T) {
	h := m3()
	h.Operations = append(h.Operations, wideOperation("stft", 40, "go", "metal"), Operation{
		Name: "unfitted", Placement: "caller", Axes: h.Operations[0].Axes, Surface: h.Operations[0].Surface,
	})
	h.Operations[2].Surface.Shapes, h.Operations[2].Surface.Scales, h.Operations[2].Surface.Implementations = nil, nil, nil
	h.normalise()
	encoded, err := h.encode()
	if err != nil {
		t.Fatal(err)
	}
	valid := text(encoded)
	n := numbers{from: valid}
	if rest, ok := n.takeHost(span{0, len(valid)}); !ok || !n.read() || len(n.lists) != 7 || bytes.Contains(rest, []byte(`"shapes": [6`)) {
		t.Errorf("%d lists, want 7; without them:\n%s", len(n.lists), rest)
	}
	compare := func(of text) (accepted bool) {
		t.Helper()
		want, wantErr := slowHost(of)
		got := new(Host)
		err := of.decodeHost(span{0, len(of)}, got)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || wantErr == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v, of %s", err, wantErr, of)
		}
		return wantErr == nil
	}
	if !compare(valid) {
		t.Error("the text of this test is not accepted")
	}
	at := bytes.Index(valid, []byte(`"operations"`))
	for _, edit := range [][2]string{
		{`"shapes"`, `"Shapes"`}, {`"shapes": [`, `"shapes": [1], "shapes": [`}, {`"shapes": [`, `"shapes": [], "SHAPES": [`},
		{`"weights": [`, `"weights": null, "x": [`}, {`"weights": [`, `"weights": 7, "x": [`}, {`"surface"`, `"Surface"`},
		{`"surface": {`, `"surface": null, "x": {`}, {`"shapes": [`, `"shapes": [64.5, `}, {`"shapes": [`, `"shapes": [6e1, `},
		{`"shapes": [`, `"shapes": [9007199254740993, `}, {`"shapes": [`, `"shapes": [-0, `}, {`"shapes": [`, `"shapes": [01, `},
		{`"shapes": [`, `"shapes": [null, `}, {`"shapes": [`, `"shapes": ["1", `}, {`"shapes": [`, `"shapes": [9223372036854775808, `},
		{`"operations"`, `"Operations"`}, {`"operations": [`, `"operations": [], "operations": [`}, {`"operations": [`, `"operations": [null, `},
		{`"implementations": [`, `"implementations": [7, `}, {`"shapes": [`, `"sh\u0061pes": [1, `},
	} {
		if !bytes.Contains(valid[at:], []byte(edit[0])) {
			t.Fatalf("the text lacks %s", edit[0])
		}
		compare(append(valid[:at:at], bytes.Replace(valid[at:], []byte(edit[0]), []byte(edit[1]), 1)...))
	}
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 3000 {
		damaged := bytes.Clone(valid)
		for range 1 + random.IntN(2) {
			i := at + random.IntN(len(damaged)-at)
			switch bytes := `0123456789-+.eE,:[]{}" nul`; random.IntN(3) {
			case 0:
				damaged = append(damaged[:i], damaged[i+1:]...)
			case 1:
				damaged[i] = bytes[random.IntN(len(bytes))]
			default:
				damaged = append(damaged[:i], append([]byte{bytes[random.IntN(len(bytes))]}, damaged[i:]...)...)
			}
		}
		if compare(damaged) {
			accepted++
		}
	}
	if accepted < 300 || accepted > 2700 {
		t.Errorf("%d of 3000 texts were accepted: this test tests little", accepted)
	}
}

// TestNumber compares numbers with those that encoding/json reads.
func TestNumber(t *testing.T) {
	texts := []string{"0", "-0", "1", "-1", "00", "01", "-", "", "+1", ".5", "1.", "1.5", "-1.50", "1e3", "1E-3", "1e+3", "1e", "1e-", "0.1",
		"123456789012345", "1234567890123456", "12345678901234567890", "0.000000000000001", "0.00000000000000012345", "1e400", "-1e400", "1e-400",
		"9007199254740993", "0x1p-2", "Inf", "NaN", "1_000", "1.e3", "5e-324", "1.7976931348623157e308"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		v := random.NormFloat64() * math.Pow(10, float64(random.IntN(20)-10))
		texts = append(texts, fmt.Sprintf("%.*f", random.IntN(18), v), fmt.Sprint(v))
	}
	for _, number := range texts {
		var want float64
		wantErr := json.Unmarshal([]byte(number), &want)
		got, behind := text(number + ",").number(0)
		if taken := behind > 0 && behind == len(number); taken != (wantErr == nil) || taken && math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s: %v, %d bytes, want %v, %v", number, got, behind, want, wantErr)
		}
	}
}

func TestCompacted(t *testing.T) {
	h := m3()
	encoded, err := h.encode()
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Compact(&want, encoded); err != nil {
		t.Fatal(err)
	}
	texts := [][]byte{encoded, want.Bytes(), []byte(" \n" + string(encoded) + "\r\n")}
	for _, indent := range []string{"", " ", "\t", "\r"} {
		var indented bytes.Buffer
		if err := json.Indent(&indented, encoded, indent, indent); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, indented.Bytes())
	}
	for _, of := range texts {
		var got bytes.Buffer
		if text(of).compactTo(&got); !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s\nbecame %s", of, &got)
		}
	}
}
