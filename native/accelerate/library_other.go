//go:build !((darwin || linux) && (amd64 || arm64))

package accelerate

import "errors"

func load() (*library, error) { return nil, errors.New("accelerate: the framework is a part of macOS") }

// invoke is never called, because there is no library to call.
func invoke(uintptr, []uintptr) uintptr { return 0 }
