package emulator

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"crossover/gpu"
	"crossover/gpu/msl"
)

//go:embed cpp/prelude.h
var prelude string

//go:embed cpp/runtime.cpp
var runtimeText string

var (
	threadgroup = regexp.MustCompile(`\bthreadgroup\b`)
	declaration = regexp.MustCompile(`^threadgroup\s+(\w+\s+)([^;]*);`)
	declarator  = regexp.MustCompile(`(?s)^\s*(\w+)\s*((?:\[.*\])?)\s*$`)
	twiceConst  = regexp.MustCompile(`\bconst(\s+constant)\b|\b(constant\s+)const\b`)
)

// mostUndeclared is the greatest number of threads of a kernel that declares none. Apple's limit falls with a kernel's registers.
const mostUndeclared = 256

// translate returns the C++ of a source: the prelude, macros, the text, and a function for each kernel that a dispatch
// calls. Lines keep their numbers. It fails with a *[gpu.CompileError] on what Metal's compiler would not take.
func translate(src gpu.Source, functions []msl.Function) (string, error) {
	if err := msl.Check(src.Text); err != nil {
		if m := (*msl.Mistake)(nil); errors.As(err, &m) {
			err = &gpu.CompileError{Source: src.Name, Kernel: msl.Around(functions, m.Line), Line: m.Line, Message: m.Message}
		}
		return "", err
	}
	text, err := rewriteThreadgroup(src, twiceConst.ReplaceAllString(msl.WithThreadgroupParameters(msl.Uncommented(src.Text), ""), "$1$2"))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(prelude)
	for _, m := range src.Macros {
		fmt.Fprintf(&b, "#define %s %s\n", m.Name, m.Value)
	}
	fmt.Fprintf(&b, "#line 1 %q\n%s\n#line 1 \"launch of %s\"\n", src.Name, text, src.Name)
	for i := range functions {
		writeLaunch(&b, &functions[i])
	}
	return b.String(), nil
}

// rewriteThreadgroup turns declarations of threadgroup memory into static ones that tell the runtime of themselves.
func rewriteThreadgroup(src gpu.Source, text string) (string, error) {
	var b strings.Builder
	for {
		at := threadgroup.FindStringIndex(text)
		if at == nil {
			b.WriteString(text)
			return b.String(), nil
		}
		b.WriteString(text[:at[0]])
		text = text[at[0]:]
		outside := func() error {
			line := 1 + strings.Count(b.String(), "\n")
			return &gpu.CompileError{Source: src.Name, Line: line, Message: "threadgroup memory other than " +
				"`threadgroup T a[N];` in a kernel's body is outside of the dialect"}
		}
		d := declaration.FindStringSubmatch(text)
		if d == nil {
			return "", outside()
		}
		for _, one := range splitDeclarators(d[2]) {
			name := declarator.FindStringSubmatch(one)
			if name == nil {
				return "", outside()
			}
			// The static is of bytes, because g++ guards a static of vectors against two initialisations at once.
			fmt.Fprintf(&b, "typedef %s%s_type%s; alignas(16) static char %[2]s_bytes[sizeof(%[2]s_type)]; "+
				"%[2]s_type& %[2]s = *(%[2]s_type*)%[2]s_bytes; emulator_threadgroup(&%[2]s, sizeof %[2]s);",
				d[1], name[1], name[2])
		}
		text = text[len(d[0]):]
	}
}

// splitDeclarators splits at the commas that stand in no bracket.
func splitDeclarators(list string) []string {
	var parts []string
	depth, begin := 0, 0
	for i, r := range list {
		switch r {
		case '[', '(':
			depth++
		case ']', ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, list[begin:i])
				begin = i + 1
			}
		}
	}
	return append(parts, list[begin:])
}

// positions are the C++ of the positions, # standing for the dimension.
var positions = map[string]string{
	"thread_position_in_grid":        "emulator_position->group[#] * emulator_launch->threads[#] + emulator_position->local[#]",
	"thread_position_in_threadgroup": "emulator_position->local[#]",
	"threadgroup_position_in_grid":   "emulator_position->group[#]",
	"threads_per_threadgroup":        "emulator_launch->threads[#]",
	"threadgroups_per_grid":          "emulator_launch->groups[#]",
	"threads_per_grid":               "emulator_launch->groups[#] * emulator_launch->threads[#]",
	"thread_index_in_threadgroup":    "emulator_position->index",
	"thread_index_in_simdgroup":      "emulator_position->index % 32",
	"simdgroup_index_in_threadgroup": "emulator_position->index / 32",
}

func writeLaunch(b *strings.Builder, f *msl.Function) {
	var arguments []string
	for _, p := range f.Parameters {
		constness := ""
		if p.ReadOnly || p.Kind == msl.Value {
			constness = "const "
		}
		switch p.Kind {
		case msl.Buffer, msl.Threadgroup:
			arguments = append(arguments, fmt.Sprintf("(%s%s*)emulator_launch->argument[%d].begin", constness, p.Type, p.Index))
		case msl.Value:
			arguments = append(arguments, fmt.Sprintf("*(const %s*)emulator_launch->argument[%d].begin", p.Type, p.Index))
		case msl.ID:
			var each []string
			for dimension := range p.Bytes / 4 {
				each = append(each, strings.ReplaceAll(positions[p.Attribute], "#", strconv.Itoa(dimension)))
			}
			arguments = append(arguments, fmt.Sprintf("%s(%s)", p.Type, strings.Join(each, ", ")))
		}
	}
	most := f.MaxThreads
	if most == "" {
		most = strconv.Itoa(mostUndeclared)
	}
	fmt.Fprintf(b, `EMULATOR_KERNEL uint emulator_most_%[1]s() { return uint(%[2]s); }
static void emulator_body_%[1]s(const emulator::Launch* emulator_launch, const emulator::Position* emulator_position) { %[1]s(%[3]s); }
EMULATOR_KERNEL void emulator_run_%[1]s(emulator::Launch* emulator_launch) {
    emulator_run(emulator_launch, emulator_body_%[1]s);
}
`, f.Name, most, strings.Join(arguments, ", "))
}
