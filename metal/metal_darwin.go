//go:build amd64 || arm64

package metal

import (
	"fmt"

	"github.com/ebitengine/purego"

	"crossover/gpu"
	"crossover/host"
	"crossover/native/loadable"
)

// backend is Metal on this system.
var backend = gpu.NewBackend("metal", func() (gpu.Driver, error) {
	libraries, err := loadFrameworks()
	if err != nil {
		return nil, err
	}
	d, err := open(libraries.find, host.Identify().GPUCores)
	if err != nil {
		return nil, err
	}
	return d, nil
})

// Backends returns Metal, which is not opened yet.
func Backends() []*gpu.Backend { return []*gpu.Backend{backend} }

// frameworks are loaded so that their classes exist. Metal finds no GPU in a program without CoreGraphics. Metal works
// without the last two.
var frameworks = []struct {
	path     string
	optional bool
}{
	{path: "/usr/lib/libobjc.A.dylib"},
	{path: "/System/Library/Frameworks/Foundation.framework/Foundation"},
	{path: "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics"},
	{path: "/System/Library/Frameworks/Metal.framework/Metal"},
	{path: "/System/Library/Frameworks/MetalPerformanceShaders.framework/MetalPerformanceShaders", optional: true},
	{path: "/System/Library/Frameworks/MetalPerformanceShadersGraph.framework/MetalPerformanceShadersGraph", optional: true},
}

// libraries are handles of loaded libraries.
type libraries []uintptr

func loadFrameworks() (libraries, error) {
	var loaded libraries
	for _, f := range frameworks {
		handle, err := loadable.Open(f.path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			loaded = append(loaded, handle)
		} else if !f.optional {
			return nil, fmt.Errorf("metal: %w", err)
		}
	}
	return loaded, nil
}

// find returns the address of a C function in the first library that has it.
func (l libraries) find(name string) (address uintptr, err error) {
	for _, handle := range l {
		if address, err = loadable.Symbol(handle, name); err == nil {
			return address, nil
		}
	}
	return 0, err
}
