//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"crossover/gpu"
	"crossover/gpu/msl"
	"crossover/metal/objc"
)

// library is a compiled text. Its object is released when nothing refers to the library any more. The same goes for a
// pipeline's object.
type library struct {
	driver *driver
	object objc.ID
}

type pipeline struct {
	object     objc.ID
	maxThreads int
}

// Settings of the compiler: arithmetic is not reordered, and a function of the library that says neither precise:: nor
// fast:: is precise.
//
// Reference: https://developer.apple.com/documentation/metal/mtlmathmode,
// https://developer.apple.com/documentation/metal/mtlmathfloatingpointfunctions
const (
	mathSafe         = 0
	functionsPrecise = 1
)

// setSafeMath sets what the system knows. macOS 15 has two settings, and neither follows from the other. The older
// setting stands for both.
func setSafeMath(options objc.ID) {
	if !objc.Responds(options, setMathMode) {
		setFastMathEnabled.Call(options, false)
		return
	}
	setMathMode.Call(options, mathSafe)
	setMathFunctions.Call(options, functionsPrecise)
}

// Compile compiles a text as Metal's own compiler takes it, see [Specialise].
func (d *driver) Compile(src gpu.Source, functions []msl.Function) (_ gpu.Library, err error) {
	l := &library{driver: d}
	objc.InPool(func() {
		options := objc.New(objc.Class("MTLCompileOptions"))
		defer objc.Release(options)
		setSafeMath(options)
		text := nsString(Specialise(src))
		if text == 0 {
			err = fmt.Errorf("metal: %s is not UTF-8", src.Name)
			return
		}
		var failure objc.ID // set for warnings too
		if l.object = newLibraryWithSource.Call(d.device, text, options, &failure); l.object == 0 {
			err = compileError(src, functions, goString(localizedDescription.Call(failure)))
		}
	})
	if err != nil {
		return nil, err
	}
	releaseWith(l, l.object)
	return l, nil
}

// Specialise returns the text that Metal's compiler gets: the standard library, the source's macros, and the source's
// text, whose lines keep their numbers. The library comes before the macros, so that no macro replaces a name in
// Apple's headers. If the text includes the library again, that adds nothing.
func Specialise(src gpu.Source) string {
	var b strings.Builder
	b.WriteString("#include <metal_stdlib>\n")
	for _, m := range src.Macros {
		fmt.Fprintf(&b, "#define %s %s\n", m.Name, m.Value)
	}
	b.WriteString("#line 1\n")
	b.WriteString(src.Text)
	return b.String()
}

// diagnostic is an error of clang's: program_source:12:5: error: use of undeclared identifier 'x'.
var diagnostic = regexp.MustCompile(`(?m)^[^\n]*?:(\d+):\d+: (?:fatal )?error: (.*)$`)

// compileError turns the compiler's log into an error.
func compileError(src gpu.Source, functions []msl.Function, log string) error {
	e := &gpu.CompileError{Source: src.Name, Log: log}
	if m := diagnostic.FindStringSubmatch(log); m != nil {
		e.Message = oneLine(m[2])
		e.Line, _ = strconv.Atoi(m[1])
		e.Kernel = msl.Around(functions, e.Line)
	} else if e.Message = oneLine(log); e.Message == "" {
		e.Message = "Metal's compiler fails without a reason"
	}
	return e
}

// Pipeline readies a kernel. Here Metal compiles the kernel for this GPU.
func (l *library) Pipeline(f *msl.Function) (_ gpu.Pipeline, err error) {
	p := &pipeline{}
	objc.InPool(func() {
		function := newFunctionWithName.Call(l.object, nsString(f.Name))
		if function == 0 {
			err = errors.New("metal: the compiled library does not have it")
			return
		}
		defer objc.Release(function)
		var failure objc.ID
		if p.object = newComputePipelineState.Call(l.driver.device, function, &failure); p.object == 0 {
			err = fmt.Errorf("metal: %s", oneLine(goString(localizedDescription.Call(failure))))
			return
		}
		p.maxThreads = int(maxTotalThreads.Call(p.object))
		if width := threadExecutionWidth.Call(p.object); width != simdWidth {
			err = fmt.Errorf("metal: the GPU runs %d threads in step; the kernels are written for %d", width, simdWidth)
			objc.Release(p.object)
		}
	})
	if err != nil {
		return nil, err
	}
	releaseWith(p, p.object)
	return p, nil
}

func (p *pipeline) MaxThreads() int { return p.maxThreads }

// releaseWith releases an object when its owner is not reachable any more.
func releaseWith[T any](owner *T, object objc.ID) {
	runtime.AddCleanup(owner, func(object objc.ID) {
		objc.InPool(func() { objc.Release(object) })
	}, object)
}
