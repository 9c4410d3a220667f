//go:build amd64 || arm64

package cuda

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// Prelude is the text that a kernel text's line #include <metal_stdlib> includes.
//
//go:embed prelude.cuh
var Prelude string

// PreludeName is the name under which NVRTC finds the prelude.
const PreludeName = "metal_stdlib"

// entryPrefix stands before a kernel's name in the name of its entry point.
const entryPrefix = "crossover_"

// positionOf says how CUDA spells the positions, a dimension each.
var positionOf = map[string][3]string{
	"thread_position_in_grid": {
		"blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.y * blockDim.y + threadIdx.y", "blockIdx.z * blockDim.z + threadIdx.z",
	},
	"thread_position_in_threadgroup": {"threadIdx.x", "threadIdx.y", "threadIdx.z"},
	"threadgroup_position_in_grid":   {"blockIdx.x", "blockIdx.y", "blockIdx.z"},
	"threads_per_threadgroup":        {"blockDim.x", "blockDim.y", "blockDim.z"},
	"threadgroups_per_grid":          {"gridDim.x", "gridDim.y", "gridDim.z"},
	"threads_per_grid":               {"gridDim.x * blockDim.x", "gridDim.y * blockDim.y", "gridDim.z * blockDim.z"},
	"thread_index_in_threadgroup":    {linear},
	"thread_index_in_simdgroup":      {"(" + linear + ") % 32"},
	"simdgroup_index_in_threadgroup": {"(" + linear + ") / 32"},
}

const linear = "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"

// Program returns the text that NVRTC compiles for a source whose kernels have no buffers in the same memory.
func Program(src gpu.Source) (string, error) {
	functions, err := msl.Parse(src.Text)
	return program(src, functions, false), err
}

// program returns the text that NVRTC compiles: the source's macros, the source inside of the prelude's namespace, and
// an entry point for each kernel. Where overlapping is set, the buffers of a kernel may be the same memory.
func program(src gpu.Source, functions []msl.Function, overlapping bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#include <%s>\n#line 1 %q\n", PreludeName, "macros of "+src.Name)
	for _, m := range src.Macros {
		fmt.Fprintf(&b, "#define %s %s\n", m.Name, m.Value)
	}
	fmt.Fprintf(&b, "namespace metal {\n#line 1 %q\n%s\n}\n", src.Name, msl.WithThreadgroupParameters(src.Text, ""))
	for _, macro := range []string{"kernel", "threadgroup", "thread", "constant", "device"} {
		fmt.Fprintf(&b, "#undef %s\n", macro)
	}
	fmt.Fprintf(&b, "#line 1 %q\nnamespace metal {\n", "entry points of "+src.Name)
	if slices.ContainsFunc(functions, takesThreadgroupMemory) {
		fmt.Fprintf(&b, "extern __shared__ float4 %s[];\n", sharedName)
	}
	for i := range functions {
		writeEntry(&b, &functions[i], overlapping)
	}
	b.WriteString("}\n")
	return b.String()
}

// sharedName is the shared memory of which a launch says how long it is. A kernel gets it as a plain pointer, as CUDA has it.
const sharedName = "crossover_shared"

func takesThreadgroupMemory(f msl.Function) bool {
	return slices.ContainsFunc(f.Parameters, func(p msl.Parameter) bool { return p.Kind == msl.Threadgroup })
}

// writeEntry writes the entry point of a kernel: buffers are pointers, values are passed by value, and positions are
// what CUDA calls them.
func writeEntry(b *strings.Builder, f *msl.Function, overlapping bool) {
	var parameters, arguments []string
	for _, p := range f.Parameters {
		switch p.Kind {
		case msl.Buffer:
			declaration := p.Type + "*"
			if p.ReadOnly {
				declaration = "const " + declaration
			}
			if !overlapping {
				declaration += " __restrict__"
			}
			parameters = append(parameters, declaration+" "+p.Name)
			arguments = append(arguments, p.Name)
		case msl.Value:
			parameters = append(parameters, "const "+p.Type+" "+p.Name)
			arguments = append(arguments, p.Name)
		case msl.Threadgroup:
			arguments = append(arguments, fmt.Sprintf("(%s*)%s", p.Type, sharedName))
		case msl.ID:
			arguments = append(arguments, positionArgument(&p))
		}
	}
	b.WriteString(`extern "C" __global__ `)
	if f.MaxThreads != "" {
		fmt.Fprintf(b, "__launch_bounds__(%s) ", f.MaxThreads)
	}
	fmt.Fprintf(b, "void %s%s(%s) { %s(%s); }\n", entryPrefix, f.Name, strings.Join(parameters, ", "), f.Name,
		strings.Join(arguments, ", "))
}

func positionArgument(p *msl.Parameter) string {
	dimensions := positionOf[p.Attribute]
	switch p.Type {
	case "uint2":
		return fmt.Sprintf("uint2(%s, %s)", dimensions[0], dimensions[1])
	case "uint3":
		return fmt.Sprintf("uint3(%s, %s, %s)", dimensions[0], dimensions[1], dimensions[2])
	}
	return dimensions[0]
}

// firstError matches a line of NVRTC's log that is an error: file(line): error: message.
var firstError = regexp.MustCompile(`(?m)^(.*)\((\d+)\): (?:catastrophic )?error[^:]*: (.*)$`)

// compileError returns what NVRTC's log says about a source.
func compileError(src gpu.Source, functions []msl.Function, status, log string) *gpu.CompileError {
	e := &gpu.CompileError{Source: src.Name, Log: log, Message: oneLine(log)}
	m := firstError.FindStringSubmatch(log)
	if m == nil {
		if e.Message == "" {
			e.Message = status
		}
		return e
	}
	e.Message = strings.TrimSpace(m[3])
	if m[1] != src.Name {
		e.Message = m[1] + "(" + m[2] + "): " + e.Message
		return e
	}
	e.Line, _ = strconv.Atoi(m[2])
	e.Kernel = msl.Around(functions, e.Line)
	return e
}
