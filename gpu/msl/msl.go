// Package msl reads the signatures of the kernels in a text of the Metal Shading Language. So a launch plan can be
// compared with what the text declares, on every device, before anything runs.
//
// It is no compiler: it reads kernel signatures and the structs that they take by value, and nothing of their bodies.
// The dialect, which is what Metal, NVRTC and a C++ compiler all accept, is this:
//
//   - A kernel is `kernel void name(…)`, its signature written without macros, its buffers numbered from 0 upwards in
//     the order of the parameters: `device float* y [[buffer(0)]]`, `device const float2* x [[buffer(1)]]`,
//     `constant uint& n [[buffer(2)]]`. `constant T&` takes a value of 4-byte scalars, or a struct of them.
//   - Positions are parameters too: [[thread_position_in_grid]], [[thread_position_in_threadgroup]],
//     [[threadgroup_position_in_grid]], [[threads_per_threadgroup]], [[threadgroups_per_grid]], [[threads_per_grid]] of
//     type uint, uint2 or uint3, and [[thread_index_in_threadgroup]], [[thread_index_in_simdgroup]],
//     [[simdgroup_index_in_threadgroup]] of type uint. Those that may be vectors have one type in one kernel: Metal takes
//     no mixture.
//   - `[[max_total_threads_per_threadgroup(N)]]` may stand before `kernel`; N may be a macro. It does stand before a
//     kernel that is launched in threadgroups of more than 256 threads: without it Metal gives a kernel that has many
//     registers fewer threads than the device takes, and the plan does not build. The emulator takes 256 then.
//   - Threadgroup memory is declared in the kernel's body, `threadgroup float a[N];`, not passed to helpers. What would be too much
//     for some device is a parameter behind the buffers, `threadgroup T* a [[threadgroup(0)]]`, of any type that the text has. The
//     launch plan says how long it is: an H200 gives arrays 48 KiB, and the parameter almost all of 227 KiB.
//   - Vector types are float2, float4, uint2, uint3, uint4, int2, int4, used through .x .y .z .w and their constructors
//     only; no float3 in buffers.
//   - Barriers (threadgroup_barrier(mem_flags::mem_threadgroup)) and simd functions stand in uniform control flow, in
//     full simdgroups of 32.
//   - Functions of one value say which they mean: precise:: or fast::.
//   - Texts are specialised by preprocessor macros, never by function constants or templates with host names. Macros
//     come after metal_stdlib; their names have capitals and more than one letter, since the library has names like N.
//   - CUDA's prelude alone defines CROSSOVER_STREAMING. A text that asks for it may then call streaming_load and
//     streaming_store, for float and float4 in device memory: the cache gives up what they touch before other data. Likewise
//     CROSSOVER_NORMAL_EXP2 and normal_exp2: 2^x of a float, or 0 if that is a denormal.
//   - Literals have their suffix: 0.5f. Without it CUDA computes in double precision.
//   - Pointers and references name their address space, variables outside of functions are constant: see [Check].
//
// These are the functions, which the preludes of packages cuda and gpu/emulator define, for float unless said otherwise.
//
// Exact on every device (f2, f4 mark those that take float2 and float4 too; precise:: and fast:: have those of the first
// two lines as well):
//
//	floor ceil trunc rint round abs fabs (f2, f4)
//	min max fma (f2, f4) fmin fmax clamp
//	min max abs clamp of int, min max clamp of uint
//	fract copysign sign mix step saturate ldexp isnan isinf isfinite
//	dot of float2 and float4; select and as_type of any type
//	popcount clz ctz reverse_bits of uint; mulhi of uint and int
//
// With precise:: or fast:: before them:
//
//	sin cos tan sinpi cospi asin acos atan sinh cosh tanh (f2, f4)
//	exp exp2 exp10 log log2 log10 sqrt rsqrt (f2, f4)
//	pow powr atan2 fmod divide
//	sincos, which returns the sine and leaves the cosine in a thread float&
//
// Of a threadgroup and a simdgroup:
//
//	threadgroup_barrier simdgroup_barrier with mem_none, mem_device, mem_threadgroup
//	simd_sum simd_product simd_min simd_max simd_prefix_inclusive_sum simd_prefix_exclusive_sum of float, int, uint
//	simd_shuffle simd_shuffle_xor simd_shuffle_up simd_shuffle_down simd_broadcast simd_broadcast_first, of vectors too
//	simd_any simd_all of bool
//
// And the constants M_PI_F M_1_PI_F M_PI_2_F M_E_F M_LN2_F M_LOG2E_F M_SQRT2_F M_SQRT1_2_F INFINITY NAN FLT_MAX FLT_MIN
// FLT_EPSILON MAXFLOAT.
package msl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Kind says what a parameter of a kernel is.
type Kind int

// The kinds of parameters.
const (
	Buffer      Kind = iota // a pointer to device or constant memory
	Value                   // constant T&: a value that the launch plan passes
	ID                      // a position that the device fills in
	Threadgroup             // a pointer to threadgroup memory, of which the launch plan says how long it is
)

// Parameter is one parameter of a kernel.
type Parameter struct {
	Name      string
	Kind      Kind
	Type      string // of the element, the value or the position: "float2", "uint3", "Params"
	Index     int    // of a buffer or a value: N of [[buffer(N)]]; of threadgroup memory: how many of those there are
	ReadOnly  bool   // whether the kernel promises not to write the buffer
	Bytes     int    // of the element, the value or the position; 0 of threadgroup memory, whose type is the text's own
	Attribute string // of a position: "thread_position_in_grid"
}

// Function is the signature of one kernel.
type Function struct {
	Name       string
	Line       int // of its name, counted from 1
	LastLine   int // of the brace that closes its body
	Parameters []Parameter
	MaxThreads string // the expression in [[max_total_threads_per_threadgroup(…)]], "" without
}

// Arguments returns the parameters that a launch plan binds, by index.
func (f *Function) Arguments() []Parameter {
	var bound []Parameter
	for _, p := range f.Parameters {
		if p.Kind != ID {
			bound = append(bound, p)
		}
	}
	return bound
}

// positions are the attributes of positions, and whether they are scalars always.
var positions = map[string]bool{
	"thread_position_in_grid":        false,
	"thread_position_in_threadgroup": false,
	"threadgroup_position_in_grid":   false,
	"threads_per_threadgroup":        false,
	"threadgroups_per_grid":          false,
	"threads_per_grid":               false,
	"thread_index_in_threadgroup":    true,
	"thread_index_in_simdgroup":      true,
	"simdgroup_index_in_threadgroup": true,
}

// sizes are the types that the dialect has in buffers and values, with their bytes.
var sizes = map[string]int{
	"char": 1, "uchar": 1, "short": 2, "ushort": 2,
	"float": 4, "uint": 4, "int": 4,
	"float2": 8, "uint2": 8, "int2": 8,
	"float4": 16, "uint4": 16, "int4": 16,
}

// What Metal takes at most: the index of a buffer, and the bytes of a value.
const (
	mostIndex      = 30
	mostValueBytes = 4096
)

var (
	comment   = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	structure = regexp.MustCompile(`(?s)\bstruct\s+(\w+)\s*\{([^{}]*)\}`)
	field     = regexp.MustCompile(`^(\w+)\s+(\w+(?:\s*\[\s*\d+\s*\])?(?:\s*,\s*\w+(?:\s*\[\s*\d+\s*\])?)*)$`)
	extent    = regexp.MustCompile(`\[\s*(\d+)\s*\]`)
	head      = regexp.MustCompile(`(?:\[\[\s*max_total_threads_per_threadgroup\s*\(([^()]*)\)\s*\]\]\s*)?\bkernel\s+void\s+(\w+)\s*\(`)
	buffer    = regexp.MustCompile(`^(?:(const)\s+)?(device|constant)\s+(?:(const)\s+)?(\w+)\s*(?:(const)\s*)?([*&])\s*(\w+)\s*\[\[\s*buffer\s*\(\s*(\d+)\s*\)\s*\]\]$`)
	shared    = regexp.MustCompile(`^threadgroup\s+(\w+)\s*\*\s*(\w+)\s*\[\[\s*threadgroup\s*\(\s*0\s*\)\s*\]\]$`)

	sharedInText = regexp.MustCompile(`\bthreadgroup\b(\s+\w+\s*\*\s*\w+)\s*\[\[\s*threadgroup\s*\(\s*0\s*\)\s*\]\]`)

	position = regexp.MustCompile(`^(uint|uint2|uint3)\s+(\w+)\s*\[\[\s*(\w+)\s*\]\]$`)
)

// Uncommented returns the text with blanks for its comments. Every other byte stays where it is, line ends too.
func Uncommented(text string) string { return blank(comment, text) }

// blank returns the text with blanks for what matches, byte for byte. Line ends stay.
func blank(what *regexp.Regexp, text string) string {
	return what.ReplaceAllStringFunc(text, func(s string) string {
		b := []byte(s)
		for i, c := range b {
			if c != '\n' {
				b[i] = ' '
			}
		}
		return string(b)
	})
}

// Parse returns the kernels of a text in their order. It fails, naming the line, on a signature outside of the dialect.
func Parse(text string) ([]Function, error) {
	text = Uncommented(text)
	structs := parseStructs(text)
	var functions []Function
	seen := map[string]bool{}
	for _, at := range head.FindAllStringSubmatchIndex(text, -1) {
		f := Function{Name: text[at[4]:at[5]], Line: 1 + strings.Count(text[:at[4]], "\n")}
		if at[2] >= 0 {
			f.MaxThreads = strings.TrimSpace(text[at[2]:at[3]])
		}
		list, err := parenthesised(text[at[1]:])
		if err != nil {
			return nil, fmt.Errorf("line %d: kernel %s: %w", f.Line, f.Name, err)
		}
		if seen[f.Name] {
			return nil, fmt.Errorf("line %d: kernel %s is there twice", f.Line, f.Name)
		}
		seen[f.Name] = true
		if f.Parameters, err = parseParameters(list, structs); err != nil {
			return nil, fmt.Errorf("line %d: kernel %s: %w", f.Line, f.Name, err)
		}
		f.LastLine = f.Line + strings.Count(text[at[4]:at[1]+len(list)+bodyLength(text[at[1]+len(list):])], "\n")
		functions = append(functions, f)
	}
	return functions, nil
}

// WithThreadgroupParameters returns the text with threadgroup memory that is a parameter declared in another way, for compilers whose
// word for threadgroup memory fits arrays only: space stands for the word, and the attribute is left out. Lines keep their numbers.
func WithThreadgroupParameters(text, space string) string {
	return sharedInText.ReplaceAllString(text, space+"$1")
}

// Around returns the name of the kernel that a line lies in, "" where it lies in none. Compilers' messages name lines.
func Around(functions []Function, line int) string {
	for i := range functions {
		if functions[i].Line <= line && line <= functions[i].LastLine {
			return functions[i].Name
		}
	}
	return ""
}

// bodyLength returns the number of bytes before the brace that closes the first body, or len(text) if none does.
func bodyLength(text string) int {
	depth := 0
	for i, r := range text {
		switch r {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// parseStructs returns the bytes of each struct that consists of 4-byte scalars and is small enough for a value.
// Kernels may use other structs, but cannot take them as a value.
func parseStructs(text string) map[string]int {
	structs := map[string]int{}
	for _, s := range structure.FindAllStringSubmatch(text, -1) {
		bytes := 0
		for _, declaration := range strings.Split(s[2], ";") {
			if declaration = strings.TrimSpace(declaration); declaration != "" {
				bytes += declared(declaration)
			}
		}
		if bytes > 0 && bytes <= mostValueBytes {
			structs[s[1]] = bytes
		}
	}
	return structs
}

// declared returns the bytes of a declaration of 4-byte scalars, such as `uint n, m[4]`. For any other declaration it
// returns more bytes than a value may have.
func declared(declaration string) int {
	const unknown = mostValueBytes + 1
	parts := field.FindStringSubmatch(declaration)
	if parts == nil || sizes[parts[1]] != 4 {
		return unknown
	}
	bytes := 0
	for _, name := range strings.Split(parts[2], ",") {
		count := 1
		if n := extent.FindStringSubmatch(name); n != nil {
			var err error
			if count, err = strconv.Atoi(n[1]); err != nil || count > mostValueBytes/4 {
				return unknown
			}
		}
		bytes += 4 * count
	}
	return bytes
}

// parenthesised returns what stands before the parenthesis that closes text.
func parenthesised(text string) (string, error) {
	depth := 1
	for i, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return text[:i], nil
			}
		}
	}
	return "", fmt.Errorf("its parameter list is not closed")
}

func parseParameters(list string, structs map[string]int) ([]Parameter, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var parameters []Parameter
	var dimensions Parameter // the first position that may be a vector
	next := 0
	memory := "" // the name of the threadgroup memory
	for _, declaration := range strings.Split(list, ",") {
		declaration = strings.Join(strings.Fields(declaration), " ")
		if m := buffer.FindStringSubmatch(declaration); m != nil {
			p := Parameter{Name: m[7], Kind: Buffer, Type: m[4]}
			p.ReadOnly = m[2] == "constant" || m[1] != "" || m[3] != "" || m[5] != ""
			p.Index, _ = strconv.Atoi(m[8])
			if p.Bytes = sizes[p.Type]; p.Bytes == 0 {
				p.Bytes = structs[p.Type]
			}
			if m[6] == "&" {
				if m[2] != "constant" {
					return nil, fmt.Errorf("%s is a reference to device memory; want a pointer, or constant %s&", p.Name, p.Type)
				}
				p.Kind = Value
			}
			if p.Bytes == 0 {
				return nil, fmt.Errorf("%s has type %s, of which the size is not known (want float, uint, int, their vectors, or a struct of 4-byte scalars)", p.Name, p.Type)
			}
			if p.Index > mostIndex {
				return nil, fmt.Errorf("%s is buffer %d; want at most %d", p.Name, p.Index, mostIndex)
			}
			if p.Index != next {
				return nil, fmt.Errorf("%s is buffer %d; want %d, in the order of the parameters", p.Name, p.Index, next)
			}
			if memory != "" {
				return nil, fmt.Errorf("%s comes after %s; want threadgroup memory behind the buffers", p.Name, memory)
			}
			next++
			parameters = append(parameters, p)
			continue
		}
		if m := shared.FindStringSubmatch(declaration); m != nil {
			if memory != "" {
				return nil, fmt.Errorf("%s and %s are threadgroup memory; want one such parameter", memory, m[2])
			}
			memory = m[2]
			parameters = append(parameters, Parameter{Name: memory, Kind: Threadgroup, Type: m[1], Index: next})
			continue
		}
		m := position.FindStringSubmatch(declaration)
		if m == nil {
			return nil, fmt.Errorf("parameter %q is outside of the dialect (see package gpu/msl)", declaration)
		}
		scalar, known := positions[m[3]]
		if !known || scalar && m[1] != "uint" {
			return nil, fmt.Errorf("%s is a %s [[%s]], which the dialect does not have", m[2], m[1], m[3])
		}
		bytes := 4
		if m[1] != "uint" {
			bytes *= int(m[1][4] - '0')
		}
		p := Parameter{Name: m[2], Kind: ID, Type: m[1], Bytes: bytes, Attribute: m[3]}
		switch {
		case scalar:
		case dimensions.Name == "":
			dimensions = p
		case dimensions.Type != p.Type:
			return nil, fmt.Errorf("%s is %s and %s is %s; want one type for the positions in grid and threadgroup", dimensions.Name,
				dimensions.Type, p.Name, p.Type)
		}
		parameters = append(parameters, p)
	}
	return parameters, nil
}
