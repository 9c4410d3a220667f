package strict

import (
	"fmt"
	"regexp"
	"strconv"
)

var (
	// variable is a variable of threadgroup memory in LLVM's assembly. Its name begins with the name of the function
	// that declares it, as C++ mangles it: _ZZ3melPU3AS1f…E6powers.
	variable = regexp.MustCompile(`(?m)^@"?_ZZ(\d+)(\w+)[^\n]* addrspace\(3\) global (.*) (?:zeroinitializer|undef|poison|0|0\.0+e\+00), align (\d+)$`)
	inSpace3 = regexp.MustCompile(`(?m)^@[^\n]* addrspace\(3\) [^\n]*$`)
)

// threadgroupMemory returns the bytes of threadgroup memory of each kernel in LLVM's assembly.
func threadgroupMemory(assembly string) (map[string]int, error) {
	kernels := map[string]int{}
	found := variable.FindAllStringSubmatch(assembly, -1)
	if all := inSpace3.FindAllString(assembly, -1); len(all) != len(found) {
		return nil, fmt.Errorf("strict: %d variables of threadgroup memory, of which %d are in a kernel: %.200q", len(all), len(found), all)
	}
	for _, m := range found {
		length, err := strconv.Atoi(m[1])
		if err != nil || length > len(m[2]) {
			return nil, fmt.Errorf("strict: a variable of threadgroup memory is of no kernel: %.100q", m[0])
		}
		bytes, rest, err := sizeOf(m[3])
		if err != nil || rest != "" {
			return nil, fmt.Errorf("strict: the size of %q is not known", m[3])
		}
		align, err := strconv.Atoi(m[4])
		if err != nil || align < 1 {
			return nil, fmt.Errorf("strict: alignment %q", m[4])
		}
		name := m[2][:length]
		kernels[name] = (kernels[name]+align-1)/align*align + bytes
	}
	return kernels, nil
}

var (
	several = regexp.MustCompile(`^([\[<])(\d+) x `)
	scalar  = regexp.MustCompile(`^(?:float|i(\d+))`)
)

// sizeOf returns the size of the LLVM type at the start of a text, and the text after it. [2 x <4 x float>] has 32
// bytes.
func sizeOf(t string) (bytes int, rest string, err error) {
	if m := several.FindStringSubmatch(t); m != nil {
		count, err := strconv.Atoi(m[2])
		if err != nil {
			return 0, "", err
		}
		each, rest, err := sizeOf(t[len(m[0]):])
		if err != nil || rest == "" {
			return 0, "", fmt.Errorf("strict: %q is no type", t)
		}
		if m[1] == "<" && count == 3 {
			count = 4 // as aligned
		}
		return count * each, rest[1:], nil
	}
	m := scalar.FindStringSubmatch(t)
	if m == nil {
		return 0, "", fmt.Errorf("strict: %q is no scalar", t)
	}
	bits := 32
	if m[1] != "" {
		if bits, err = strconv.Atoi(m[1]); err != nil {
			return 0, "", err
		}
	}
	return (bits + 7) / 8, t[len(m[0]):], nil
}
