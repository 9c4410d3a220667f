package main

import (
	"runtime"
	"time"

	"crossover/gpu"
)

// nothing is a kernel that does nothing.
var nothing = gpu.Source{Name: "nothing.metal", Text: `#include <metal_stdlib>
using namespace metal;

kernel void nothing(device uint* y [[buffer(0)]]) {}
`}

const launchName = "launch+wait"

// shortRuns is the factor by which a row of microseconds has more runs.
const shortRuns = 100

// measureLaunch measures submitting and waiting for a plan of one kernel that does nothing. If the driver has them, it
// measures the bare calls of the system beside it. The times are the host's.
func measureLaunch(d *gpu.Device, runs int) ([]result, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	one := gpu.Size{X: 1, Y: 1, Z: 1}
	b := d.NewPlan()
	b.Dispatch(b.Kernel(nothing, "nothing"), one, gpu.Size{X: 32, Y: 1, Z: 1}, b.Scratch(gpu.Uint, 1))
	p, err := b.Build()
	if err != nil {
		return nil, err
	}
	defer p.Close()
	ours := &side{name: d.Facts().API, run: wall(p.RunResident), call: p.RunResident}

	var peers []*side
	if driver, ok := d.Driver().(gpu.Floor); ok {
		floors, release, err := driver.NewFloors()
		if err != nil {
			return nil, err
		}
		defer release()
		for _, floor := range floors {
			peers = append(peers, &side{name: floor.Name, run: wall(floor.LaunchAndWait)})
		}
	}
	if len(peers) == 0 {
		peers = []*side{nil}
	}
	var results []result
	for _, peer := range peers {
		r, err := measure(d, ours, peer, shortRuns*runs)
		if err != nil {
			return results, err
		}
		r.Name, r.Bound = launchName, "launch"
		results = append(results, r)
	}
	return results, nil
}

// wall times a call on the host.
func wall(call func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		begin := time.Now()
		err := call()
		return time.Since(begin), err
	}
}

// allocations returns the mean number of Go allocations of a warm call, and the mean number of bytes by which a call makes
// the device's memory grow.
func allocations(d *gpu.Device, call func() error, calls int) (count float64, deviceBytes float64, err error) {
	if err := call(); err != nil {
		return 0, 0, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no other goroutine allocates meanwhile
	held := func() int64 { use := d.Memory(); return use.Used + use.Cached }
	var before, after runtime.MemStats
	heldBefore := held()
	runtime.ReadMemStats(&before)
	for range calls {
		if err := call(); err != nil {
			return 0, 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64((after.Mallocs - before.Mallocs) / uint64(calls)), float64(held()-heldBefore) / float64(calls), nil
}
