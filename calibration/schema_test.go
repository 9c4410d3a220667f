package calibration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("calibration.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("calibration.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validateText(t *testing.T, schema *jsonschema.Schema, text []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

func TestSchemaAcceptsTheExample(t *testing.T) {
	schema := compiledSchema(t)
	text := encoded(t, example())
	if err := validateText(t, schema, text); err != nil {
		t.Error(err)
	}
	for old, new := range map[string]string{
		`"2.3"`:                     `"3.0"`,
		`"placement": "caller"`:     `"placement": "resident"`,
		`"kind": "rough"`:           `"kind": "smooth"`,
		`"shapes": [64`:             `"shapes": [0`,
		`"scales": [0.25`:           `"scales": [null`,
		`"within_5_percent": 0.5`:   `"within_5_percent": 50`,
		`"prime": 7`:                `"prime": 1`,
		`"id": "amd-epyc-2"`:        `"id": "AMD"`,
		`"2026-11-01T12:00:00Z"`:    `"2026-11-01T12:00:00+02:00"`,
		`"load": 1.25`:              `"load": -1.25`,
		`"mode": "latency"`:         `"mode": "fast"`,
		`"name": "Super"`:           `"name": ""`,
		`"power_mode": "low"`:       `"power_mode": "turbo"`,
		`"priority": "background"`:  `"priority": ""`,
		`"count": 1`:                `"count": 0`,
		`"processors": 16`:          `"processors": 0`,
		`"readings": 4711`:          `"readings": 47.11`,
		`"epochs": 3`:               `"epochs": -3`,
		`"replaced": 23`:            `"replaced": "23"`,
		`_ratio": 1.75`:             `_ratio": -1.75`,
		`handover_seconds": 4e-8`:   `handover_seconds": "40 ns"`,
		`"baseline": {`:             `"base": {`,
		`"shared cores"`:            `16`,
		`"in_flight": 64`:           `"in_flight": 6400`,
		`"launch_efficiency": 0.4`:  `"launch_efficiency": -0.4`,
		`"gpu_seconds": 0.00006`:    `"gpu_sec": 0.00006`,
		`"unit": "samples"`:         `"unit": "sam\nples"`,
		`"verdict": "always"`:       `"verdict": "crossover"`,
		`"verdict": "crossover"`:    `"verdict": "tie"`,
		`"processor": "gpu"`:        `"processor": "tpu"`,
		`"low": 400`:                `"low": 0`,
		`"slowdown": 1.3`:           `"slowdown": -1`,
		`"blocks": 60`:              `"blocks": 1.5`,
		`"warnings": []`:            `"warnings": null`,
		`"reason": "within 2 %`:     `"Reason": "within 2 %`,
		`"exponent": 1.1`:           `"exponent": "1"`,
		`"error_bound": 0.000001`:   `"error_bound": -1`,
		`"max_error": 0.000001`:     `"max_error": 0`,
		`"revision": 2`:             `"revision": -2`,
		`"implementation": "metal"`: `"implementation": "me tal"`,
	} {
		broken := bytes.Replace(text, []byte(old), []byte(new), 1)
		if bytes.Equal(broken, text) {
			t.Fatalf("the example lacks %s", old)
		}
		if validateText(t, schema, broken) == nil {
			t.Errorf("the schema accepts %s", new)
		}
	}
}

// TestCommittedFiles tests every calibration.json at the root of the repository with the schema and with Validate.
func TestCommittedFiles(t *testing.T) {
	files, err := filepath.Glob("../*calibration*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no calibration.json at the root of the repository yet")
	}
	schema := compiledSchema(t)
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := validateText(t, schema, text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		f, err := Load(path)
		if err != nil {
			t.Error(err)
			continue
		}
		of := fmt.Sprintf(`"schema_version": %q`, f.SchemaVersion) // except for the version, this version writes a file of an older one in the same way
		now := strings.Replace(string(text), of, fmt.Sprintf(`"schema_version": %q`, SchemaVersion), 1)
		if diff := cmp.Diff(now, string(encoded(t, f))); diff != "" {
			t.Errorf("%s is not as Save writes it (-file +saved):\n%s", path, diff)
		}
	}
}

// TestSchemaFields compares the fields of the schema with those of the Go types, both ways.
func TestSchemaFields(t *testing.T) {
	var document map[string]any
	if err := json.Unmarshal(Schema, &document); err != nil {
		t.Fatal(err)
	}
	definitions := document["$defs"].(map[string]any)
	described := map[string]bool{}
	var compare func(place string, schema map[string]any, goType reflect.Type)
	compare = func(place string, schema map[string]any, goType reflect.Type) {
		if reference, found := schema["$ref"].(string); found {
			name := strings.TrimPrefix(reference, "#/$defs/")
			described[name] = true
			schema = definitions[name].(map[string]any)
		}
		switch {
		case goType.Kind() == reflect.Pointer:
			compare(place, schema, goType.Elem())
		case goType.Kind() == reflect.Slice:
			compare(place+"[]", schema["items"].(map[string]any), goType.Elem())
		case goType.Kind() == reflect.Struct && goType.Name() != "Time":
			properties := schema["properties"].(map[string]any)
			var required []string
			for _, name := range schema["required"].([]any) {
				required = append(required, name.(string))
			}
			left := map[string]bool{}
			for name := range properties {
				left[name] = true
			}
			for i := range goType.NumField() {
				name, options, _ := strings.Cut(goType.Field(i).Tag.Get("json"), ",")
				if name == "-" {
					continue
				}
				if !left[name] {
					t.Errorf("%s: field %q is not in the schema", place, name)
					continue
				}
				delete(left, name)
				if slices.Contains(required, name) == (options == "omitempty") {
					t.Errorf("%s: field %q is required in the schema or omitted in Go, not both nor neither", place, name)
				}
				compare(place+"."+name, properties[name].(map[string]any), goType.Field(i).Type)
			}
			switch goType { // only the text has these fields
			case reflect.TypeFor[Host]():
				delete(left, "digest")
			case reflect.TypeFor[File]():
				delete(left, hostBytesKey)
			}
			for name := range left {
				t.Errorf("%s: property %q of the schema is not in Go", place, name)
			}
		}
	}
	compare("file", document, reflect.TypeFor[File]())
	for name := range definitions {
		if !described[name] && !bytes.Contains(Schema, []byte(`"#/$defs/`+name+`"`)) {
			t.Errorf("the schema defines %q and does not use it", name)
		}
	}

}

// TestUnits compares Validate with the schema. A unit is short text in any language.
func TestUnits(t *testing.T) {
	schema := compiledSchema(t)
	for unit, accepted := range map[string]bool{
		"samples": true, "time steps": true, "µs": true, strings.Repeat("é", MostUnit): true,
		"": false, strings.Repeat("é", MostUnit+1): false, "rows\n": false, "a\x00b": false, "\u0085": false,
	} {
		f := example()
		f.Hosts[0].Cases[0].Axis.Unit = unit
		if err := f.Validate(); (err == nil) != accepted {
			t.Errorf("%q: Validate says %v", unit, err)
		}
		quoted, err := json.Marshal(unit)
		if err != nil {
			t.Fatal(err)
		}
		text := bytes.Replace(encoded(t, example()), []byte(`"unit": "samples"`), append([]byte(`"unit": `), quoted...), 1)
		if err := validateText(t, schema, text); (err == nil) != accepted {
			t.Errorf("%q: the schema says %v", unit, err)
		}
	}
}

// encodedAsIs returns the text of a file in its own order, without normalising.
func encodedAsIs(t testing.TB, f *File) string {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// allocatedBy returns the number of bytes that f allocates.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// spaces is endless white space.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
