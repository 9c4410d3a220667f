//go:build !darwin

package signpost

import "errors"

// System fails, because signposts are a part of macOS.
func System() (Symbols, error) { return nil, errors.New("signpost: signposts are a part of macOS") }
