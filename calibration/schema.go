package calibration

import _ "embed"

// Schema is the JSON Schema of calibration.json, draft 2020-12, for tools in other languages. It says what each field
// is; what holds between fields, such as segments without gaps, only Validate checks.
//
//go:embed calibration.schema.json
var Schema []byte
