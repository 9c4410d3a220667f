//go:build !((darwin || linux) && (amd64 || arm64))

package signpost

import "errors"

// Library fails, because signposts are a part of macOS.
func Library(folder string, texts ...string) (Texts, error) {
	return nil, errors.New("signpost: signposts are a part of macOS")
}

// invoke is never called, because there are no functions to call.
func invoke(uintptr, []uintptr) uintptr { return 0 }
