//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package calibration

import (
	"context"
	"io/fs"
	"os"
)

// lock keeps no other process out. On this system we know no lock that ends with its process. So one of two concurrent
// updates may be lost.
func lock(ctx context.Context, _ string) (unlock func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return func() {}, nil
}

func keepOwner(*os.File, fs.FileInfo) {}
