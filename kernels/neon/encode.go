package main

import "fmt"

// Go's assembler knows few instructions of NEON for floating point, so all vector arithmetic is written as the words that the
// processor reads. The comment beside each word is the instruction in Arm's syntax. Where all vectors have the same lanes, it names
// these once, as Apple's assembler does: fadd.4s v0, v1, v2. A test assembles the comments and compares.

// encoding is an instruction of up to three registers: the word without their numbers, and the syntax for fmt with the destination,
// the first and the second source.
type encoding struct {
	word   uint32
	syntax string
}

// three returns an instruction of three vectors, and two one of two vectors, with the same arrangement of lanes.
func three(word uint32, name, lanes string) encoding {
	return encoding{word, fmt.Sprintf("%s.%s v%%[1]d, v%%[2]d, v%%[3]d", name, lanes)}
}

func two(word uint32, name, lanes string) encoding {
	return encoding{word, fmt.Sprintf("%s.%s v%%[1]d, v%%[2]d", name, lanes)}
}

// encodings are the instructions by name and arrangement. Source: Arm Architecture Reference Manual for A-profile, C7.2.
var encodings = map[string]encoding{
	"fadd.4s":  three(0x4e20d400, "fadd", "4s"),
	"fsub.4s":  three(0x4ea0d400, "fsub", "4s"),
	"fmul.4s":  three(0x6e20dc00, "fmul", "4s"),
	"fdiv.4s":  three(0x6e20fc00, "fdiv", "4s"),
	"fmax.4s":  three(0x4e20f400, "fmax", "4s"),
	"fmin.4s":  three(0x4ea0f400, "fmin", "4s"),
	"fmla.4s":  three(0x4e20cc00, "fmla", "4s"),
	"fmls.4s":  three(0x4ea0cc00, "fmls", "4s"),
	"faddp.4s": three(0x6e20d400, "faddp", "4s"),
	"fcmeq.4s": three(0x4e20e400, "fcmeq", "4s"),
	"fcmgt.4s": three(0x6ea0e400, "fcmgt", "4s"),
	"fneg.4s":  two(0x6ea0f800, "fneg", "4s"),
	"fsqrt.4s": two(0x6ea1f800, "fsqrt", "4s"),

	"fcmeq.2d": three(0x4e60e400, "fcmeq", "2d"),
	"fcmgt.2d": three(0x6ee0e400, "fcmgt", "2d"),
	"fadd.2d":  three(0x4e60d400, "fadd", "2d"),
	"fsub.2d":  three(0x4ee0d400, "fsub", "2d"),
	"fmul.2d":  three(0x6e60dc00, "fmul", "2d"),
	"fdiv.2d":  three(0x6e60fc00, "fdiv", "2d"),
	"fmax.2d":  three(0x4e60f400, "fmax", "2d"),
	"fmin.2d":  three(0x4ee0f400, "fmin", "2d"),
	"fmla.2d":  three(0x4e60cc00, "fmla", "2d"),

	"fmul.s[0]": {0x4f809000, "fmul v%[1]d.4s, v%[2]d.4s, v%[3]d.s[0]"},
	"fmla.s[0]": {0x4f801000, "fmla v%[1]d.4s, v%[2]d.4s, v%[3]d.s[0]"},
	"fmls.s[0]": {0x4f805000, "fmls v%[1]d.4s, v%[2]d.4s, v%[3]d.s[0]"},
	"fadd.s":    {0x1e202800, "fadd s%[1]d, s%[2]d, s%[3]d"},
	"fmax.s":    {0x1e204800, "fmax s%[1]d, s%[2]d, s%[3]d"},

	"frintn.4s": two(0x4e218800, "frintn", "4s"),
	"frintz.4s": two(0x4ea19800, "frintz", "4s"),
	"fcvtns.4s": two(0x4e21a800, "fcvtns", "4s"),
	"fcvtzs.4s": two(0x4ea1b800, "fcvtzs", "4s"),
	"scvtf.4s":  two(0x4e21d800, "scvtf", "4s"),
	"fcvtl":     {0x0e617800, "fcvtl v%[1]d.2d, v%[2]d.2s"},
	"fcvtl2":    {0x4e617800, "fcvtl2 v%[1]d.2d, v%[2]d.4s"},
	"fcvtn":     {0x0e616800, "fcvtn v%[1]d.2s, v%[2]d.2d"},
	"fcvtn2":    {0x4e616800, "fcvtn2 v%[1]d.4s, v%[2]d.2d"},

	"add.4s":  three(0x4ea08400, "add", "4s"),
	"sub.4s":  three(0x6ea08400, "sub", "4s"),
	"add.2d":  three(0x4ee08400, "add", "2d"),
	"sub.2d":  three(0x6ee08400, "sub", "2d"),
	"xtn":     {0x0ea12800, "xtn v%[1]d.2s, v%[2]d.2d"},
	"smull":   {0x0ea0c000, "smull v%[1]d.2d, v%[2]d.2s, v%[3]d.2s"},
	"addv.4s": {0x4eb1b800, "addv s%[1]d, v%[2]d.4s"},
	"ushl.4s": three(0x6ea04400, "ushl", "4s"),
	"and.16b": three(0x4e201c00, "and", "16b"),
	"bic.16b": three(0x4e601c00, "bic", "16b"),
	"orr.16b": three(0x4ea01c00, "orr", "16b"),
	"eor.16b": three(0x6e201c00, "eor", "16b"),
	"bit.16b": three(0x6ea01c00, "bit", "16b"),
	"mvn.16b": two(0x6e205800, "mvn", "16b"),

	"zip1.4s":   three(0x4e803800, "zip1", "4s"),
	"zip2.4s":   three(0x4e807800, "zip2", "4s"),
	"zip1.2d":   three(0x4ec03800, "zip1", "2d"),
	"zip2.2d":   three(0x4ec07800, "zip2", "2d"),
	"uzp1.4s":   three(0x4e801800, "uzp1", "4s"),
	"uzp2.4s":   three(0x4e805800, "uzp2", "4s"),
	"trn1.4s":   three(0x4e802800, "trn1", "4s"),
	"trn2.4s":   three(0x4e806800, "trn2", "4s"),
	"rev64.4s":  two(0x4ea00800, "rev64", "4s"),
	"ext.16b#8": {0x6e004000, "ext v%[1]d.16b, v%[2]d.16b, v%[3]d.16b, #8"},
	"dup.4s":    {0x4e040400, "dup v%[1]d.4s, v%[2]d.s[0]"},
	"dup.d[0]":  {0x4e080400, "dup v%[1]d.2d, v%[2]d.d[0]"},
	"dup.d[1]":  {0x4e180400, "dup v%[1]d.2d, v%[2]d.d[1]"},
	"movi":      {0x4f000400, "movi v%[1]d.4s, #0"},
	"mov":       {0x4ea01c00, "mov v%[1]d.16b, v%[2]d.16b"}, // orr of a register and itself
}

// shift returns an instruction that shifts each lane by a number of bits.
func shift(name, lanes string, by int) encoding {
	bits := map[string]int{"4s": 32, "2d": 64}[lanes]
	var word uint32
	switch name {
	case "shl":
		word = 0x4f005400 | uint32(bits+by)<<16
	case "sshr":
		word = 0x4f000400 | uint32(2*bits-by)<<16
	case "ushr":
		word = 0x6f000400 | uint32(2*bits-by)<<16
	default:
		panic("unknown shift " + name)
	}
	return encoding{word, fmt.Sprintf("%s.%s v%%[1]d, v%%[2]d, #%d", name, lanes, by)}
}

// assemble returns the word of an instruction and its text.
func (e encoding) assemble(registers []int) (word uint32, syntax string) {
	word = e.word
	at := []uint{0, 5, 16}
	values := make([]any, len(registers))
	for i, r := range registers {
		word |= uint32(r) << at[i]
		values[i] = r
	}
	if e.syntax == encodings["mov"].syntax {
		word |= uint32(registers[1]) << 16
	}
	return word, fmt.Sprintf(e.syntax, values...)
}
