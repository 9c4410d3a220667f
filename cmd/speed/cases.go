package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"crossover/gpu"
	"crossover/kernels"
)

// rowName returns the name of a case at one size.
func rowName(c kernels.Case, size int) string {
	separator := ","
	if !strings.Contains(c.Name, "/") {
		separator = "/"
	}
	return fmt.Sprintf("%s%s%s=%d", c.Name, separator, c.Axis.Name, size)
}

// againstCopy compares a case of the catalogue with a copy on the device that moves as many bytes.
func againstCopy(c kernels.Case, size int) row {
	w := traffic(c.Bytes(size))
	return againstRoof(c, size, "memory", w, func(d *gpu.Device) (*side, error) { return copySide(d, w.amount) })
}

// againstArithmetic compares a case with multiply-adds of as many floating-point operations.
func againstArithmetic(c kernels.Case, size int, flops float64) row {
	return againstRoof(c, size, "arithmetic", arithmetic(flops), func(d *gpu.Device) (*side, error) {
		return multiplyAddSide(d, flops)
	})
}

// againstRoof compares a case with a limit of the device.
func againstRoof(c kernels.Case, size int, bound string, w work, roof func(d *gpu.Device) (*side, error)) row {
	name := rowName(c, size)
	return row{name: name, measure: func(d *gpu.Device, runs int) ([]result, error) {
		problem := resident(d, c).Problem(size, kernels.GeneratedInput())
		ours, call, err := bind(problem, ownImplementation(c, d.Facts().API), w)
		if err != nil {
			return nil, err
		}
		peer, err := roof(d)
		if err != nil {
			ours.close()
			return nil, err
		}
		return comparison{
			name: name, bound: bound, ours: ours, peer: peer, tolerance: c.Tolerance(size),
			difference: func() (float64, error) { return call.ErrorAgainst(problem.Reference()), nil },
		}.measure(d, runs)
	}}
}

// againstLibrary compares a case of the catalogue with the vendor's library, which is an implementation of the case.
func againstLibrary(c kernels.Case, size int, w work) row {
	name := rowName(c, size)
	bound := "memory"
	if w.unit == arithmetic(0).unit {
		bound = "arithmetic"
	}
	return row{name: name, measure: func(d *gpu.Device, runs int) ([]result, error) {
		library, err := vendorImplementation(c, d.Facts().API)
		if err != nil {
			return nil, err
		}
		problem := resident(d, c).Problem(size, kernels.GeneratedInput())
		ours, call, err := bind(problem, ownImplementation(c, d.Facts().API), w)
		if err != nil {
			return nil, err
		}
		peer, peerCall, err := bind(problem, library, w)
		if err != nil {
			ours.close()
			return nil, err
		}
		return comparison{
			name: name, bound: bound, ours: ours, peer: peer, tolerance: c.Tolerance(size),
			difference: func() (float64, error) { return relativeDifference(call.Output(), peerCall.Output()), nil },
		}.measure(d, runs)
	}}
}

// resident returns the case with its data on the device.
func resident(d *gpu.Device, c kernels.Case) kernels.Case {
	if d.Facts().Unified {
		return c
	}
	return c.Placed(kernels.Resident)
}

// isOurs reports whether an implementation is our own kernel text on an API.
func isOurs(i kernels.Implementation, api string) bool {
	return i.Processor == kernels.GPU && (i.Name == api || strings.HasPrefix(i.Name, api+"/"))
}

// ownImplementation returns the name of a case's first implementation with our kernel text. If there is none, it returns the
// name that it would have.
func ownImplementation(c kernels.Case, api string) string {
	at := slices.IndexFunc(c.Implementations, func(i kernels.Implementation) bool { return isOurs(i, api) })
	if at < 0 {
		return api
	}
	return c.Implementations[at].Name
}

// vendorImplementation returns the name of a case's first implementation on a GPU that is not ours and not missing.
func vendorImplementation(c kernels.Case, api string) (string, error) {
	var missing error
	for _, i := range c.Implementations {
		if i.Processor != kernels.GPU || isOurs(i, api) {
			continue
		}
		if missing = i.Missing(); missing == nil {
			return i.Name, nil
		}
	}
	if missing != nil {
		return "", missing
	}
	return "", fmt.Errorf("%s has no library of the vendor's to compare with", c.Name)
}

// bind binds an implementation and runs it once.
func bind(problem kernels.Problem, implementation string, w work) (*side, kernels.Call, error) {
	call, err := problem.Bind(implementation)
	if err != nil {
		return nil, call, err
	}
	if call.GPU == nil {
		call.Release()
		return nil, call, fmt.Errorf("%s does not run on a GPU", implementation)
	}
	if err := call.Run(); err != nil {
		call.Release()
		return nil, call, err
	}
	timed := func() (time.Duration, error) { return span(call.GPU.Time()) }
	return &side{name: implementation, work: w, run: timed, call: call.Run, close: call.Release}, call, nil
}

// relativeDifference returns the relative L2 difference of x from y.
func relativeDifference(x, y []float32) float64 {
	want := make([]float64, len(y))
	for i, v := range y {
		want[i] = float64(v)
	}
	return kernels.RelativeError(x, want)
}
