package msl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Mistake is a place in a text that Metal's compiler does not take, although a C++ compiler might.
type Mistake struct {
	Line    int
	Message string
}

func (m *Mistake) Error() string { return fmt.Sprintf("line %d: %s", m.Line, m.Message) }

var (
	word       = regexp.MustCompile(`\b[A-Za-z_]\w*\b`)
	directive  = regexp.MustCompile(`(?m)^[ \t]*#(?:.*\\\n)*.*$`)
	ownType    = regexp.MustCompile(`\b(?:struct|typename|class|using)\s+(\w+)|\btypedef\b[^;]*\b(\w+)\s*;`)
	indirect   = regexp.MustCompile(`\b(\w+)(?:\s+const)?\s*(\*|&&?)`)
	elsewhere  = regexp.MustCompile(`\b(?:constant|using|operator|template|enum)\b`)
	unnamedOwn = []string{"void", "bool", "auto", "float3", "uint3", "int3", "size_t", "ulong", "long"}
)

// foreign are words of MSL that the dialect has no use for, and that a C++ compiler takes for names.
var foreign = map[string]bool{
	"half": true, "half2": true, "half3": true, "half4": true, "bfloat": true, "double": true,
	"vertex": true, "fragment": true, "sampler": true, "visible": true,
}

// spaces are the address spaces.
var spaces = []string{"device", "constant", "thread", "threadgroup"}

// Check tests a text against rules of Metal that a C++ compiler does not know. So mistakes are found without a Mac. It
// fails with a *[Mistake].
//
//   - Pointers and references name their address space: `thread float&`.
//   - Variables outside of functions are constant, and functions have no static ones.
//   - Threadgroup memory is declared in a kernel's body, `threadgroup T a[N];`.
//   - half, vertex and the like are words of the language and no names; there is no double.
func Check(text string) error {
	text = Uncommented(text)
	functions, err := Parse(text)
	if err != nil {
		return err
	}
	for _, rule := range []func(string, []Function) (at int, message string){
		checkWords, checkIndirection, checkVariables, checkThreadgroup,
	} {
		if at, message := rule(text, functions); message != "" {
			return &Mistake{Line: 1 + strings.Count(text[:at], "\n"), Message: message}
		}
	}
	return nil
}

func checkWords(text string, _ []Function) (int, string) {
	for _, at := range word.FindAllStringIndex(text, -1) {
		if w := text[at[0]:at[1]]; foreign[w] {
			return at[0], w + " is a word of Metal that the dialect does not have"
		}
	}
	return 0, ""
}

func checkIndirection(text string, _ []Function) (int, string) {
	types := slices.Clone(unnamedOwn)
	for name := range sizes {
		types = append(types, name)
	}
	for _, m := range ownType.FindAllStringSubmatch(text, -1) {
		types = append(types, m[1]+m[2])
	}
	for _, at := range indirect.FindAllStringSubmatchIndex(text, -1) {
		name, sign := text[at[2]:at[3]], text[at[4]:at[5]]
		if sign == "&&" || !slices.Contains(types, name) {
			continue
		}
		before, qualifier := cutWord(text[:at[2]])
		for qualifier == "const" || qualifier == "struct" {
			before, qualifier = cutWord(before)
		}
		if !slices.Contains(spaces, qualifier) {
			return at[2], fmt.Sprintf("%s%s without an address space before it (want device, constant, thread or threadgroup)", name, sign)
		}
	}
	return 0, ""
}

// cutWord cuts the last word off a text, with the white space after it. The word is "" if the text ends otherwise. A regular
// expression would search the whole text, once for each pointer.
func cutWord(text string) (before, last string) {
	end := len(strings.TrimRight(text, " \t\n\f\r"))
	begin := end
	for begin > 0 && isWord(text[begin-1]) {
		begin--
	}
	return text[:begin], text[begin:end]
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// checkVariables walks through the statements.
func checkVariables(text string, _ []Function) (int, string) {
	text = blankDirectives(text)
	braces, parentheses, begin := 0, 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[':
			parentheses++
		case ')', ']':
			parentheses--
		case '{':
			braces++
			begin = i + 1
		case '}':
			braces--
			begin = i + 1
		case ';':
			if statement := text[begin:i]; braces > 0 && parentheses == 0 {
				if at := strings.Index(statement, "static "); at >= 0 && !strings.Contains(statement, "constant") {
					return begin + at, "a static variable in a function or a struct"
				}
			}
			begin = i + 1
		case '=':
			if statement := text[begin:i]; braces == 0 && parentheses == 0 && !elsewhere.MatchString(statement) {
				return begin + len(statement) - len(strings.TrimLeft(statement, " \t\n")), "a variable outside of functions that is not constant"
			}
		}
	}
	return 0, ""
}

func checkThreadgroup(text string, functions []Function) (int, string) {
	text = blankDirectives(text)
	for _, at := range word.FindAllStringIndex(text, -1) {
		if text[at[0]:at[1]] == "threadgroup" && Around(functions, 1+strings.Count(text[:at[0]], "\n")) == "" {
			return at[0], "threadgroup memory outside of a kernel's body"
		}
	}
	return 0, ""
}

// blankDirectives returns the text with blanks for what the preprocessor reads.
func blankDirectives(text string) string { return blank(directive, text) }
