//go:build amd64 || arm64

package cuda

import (
	"runtime"

	"github.com/ebitengine/purego"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// nothing is a kernel that does nothing.
var nothing = gpu.Source{Name: "nothing.metal", Text: `#include <metal_stdlib>
using namespace metal;

kernel void nothing(device uint* y [[buffer(0)]]) {}
`}

// launchNothing readies a launch of one threadgroup of that kernel. What the launch points to lives as long as the
// step.
func (d *driver) launchNothing(stream uintptr) (step, error) {
	functions, err := msl.Parse(nothing.Text)
	if err != nil {
		return step{}, err
	}
	l, err := d.compile(nothing, functions, false)
	if err != nil {
		return step{}, err
	}
	p, err := l.pipeline(&functions[0])
	if err != nil {
		return step{}, err
	}
	one := gpu.Size{X: 1, Y: 1, Z: 1}
	noBuffer := gpu.Binding{Value: make([]byte, 8)} // a null pointer, which the kernel does not follow
	return d.launch(&gpu.Command{Pipeline: p, Groups: one, Threads: gpu.Size{X: 32, Y: 1, Z: 1},
		Arguments: []gpu.Binding{noBuffer}}, stream)
}

// NewFloors readies two ways to launch a kernel and wait for it: as a launch, and as a graph. The context stays current
// on the calling thread, so the launches do not pay for making it current.
func (d *driver) NewFloors() (floors []gpu.LaunchFloor, release func(), err error) {
	stream, err := d.takeStream()
	if err != nil {
		return nil, nil, err
	}
	launch, err := d.launchNothing(stream)
	if err != nil {
		d.giveStream(stream)
		return nil, nil, err
	}
	g, err := d.capture(stream, func() error { return d.check(&d.launchKernel, d.launchKernel.call(launch.arguments...)) })
	if err != nil {
		d.giveStream(stream)
		return nil, nil, err
	}
	release = func() {
		_ = d.do(&d.graphExecDestroy, g[0])
		runtime.KeepAlive(launch) // its code, as long as the graph
		d.giveStream(stream)
	}
	synchronize := []uintptr{stream}
	then := func(f *function, arguments []uintptr) func() error {
		return func() error {
			if status, _, _ := purego.SyscallN(f.address, arguments...); int32(status) != 0 {
				return d.check(f, int32(status))
			}
			status, _, _ := purego.SyscallN(d.streamSynchronize.address, synchronize...)
			runtime.KeepAlive(launch)
			return d.vital(&d.streamSynchronize, int32(status))
		}
	}
	return []gpu.LaunchFloor{
		{Name: "cuLaunchKernel", LaunchAndWait: then(&d.launchKernel, launch.arguments)},
		{Name: "cuGraphLaunch", LaunchAndWait: then(&d.graphLaunch, g[:])},
	}, release, nil
}
