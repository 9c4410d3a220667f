package main

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// twins returns the files that this command wrote.
func twins(t *testing.T) []string {
	var files []string
	for _, pattern := range []string{"../*/neon_arm64.s", "../*/*/neon_arm64.s"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 10 {
		t.Fatalf("%d twins, want at least 10", len(files))
	}
	return files
}

var wordLine = regexp.MustCompile(`(?m)^\tWORD \$(0x[0-9a-f]{8}) // (.+)$`)

// TestWords assembles the comments beside all words with clang, and compares the words.
func TestWords(t *testing.T) {
	clang := ""
	for _, name := range []string{"clang-19", "clang-20", "clang-21", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			clang = path
			break
		}
	}
	if clang == "" {
		t.Skip("no clang (Debian package clang-19)")
	}
	words := map[string]string{} // by syntax
	for _, file := range twins(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range wordLine.FindAllStringSubmatch(string(text), -1) {
			if before, known := words[m[2]]; known && before != m[1] {
				t.Errorf("%s: %q is %s and %s", file, m[2], before, m[1])
			}
			words[m[2]] = m[1]
		}
	}
	// Every encoding, also those that no twin has, with registers whose bits differ.
	names := []encoding{shift("shl", "4s", 23), shift("shl", "2d", 52), shift("sshr", "4s", 31), shift("ushr", "4s", 1),
		shift("ushr", "2d", 40)}
	for _, e := range encodings {
		names = append(names, e)
	}
	for _, e := range names {
		for _, registers := range [][]int{{1, 2, 4}, {8, 16, 31}, {30, 21, 11}} {
			word, syntax := e.assemble(registers[:1+strings.Count(e.syntax, "%[2]d")+strings.Count(e.syntax, "%[3]d")])
			words[syntax] = fmt.Sprintf("0x%08x", word)
		}
	}
	var lines []string
	for syntax := range words {
		lines = append(lines, syntax)
	}
	slices.Sort(lines)
	object := filepath.Join(t.TempDir(), "words.o")
	command := exec.Command(clang, "--target=aarch64-linux-gnu", "-c", "-x", "assembler", "-o", object, "-")
	command.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if message, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, message)
	}
	file, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	code, err := file.Section(".text").Data()
	if err != nil {
		t.Fatal(err)
	}
	if len(code) != 4*len(lines) {
		t.Fatalf("%d bytes of %d instructions", len(code), len(lines))
	}
	for i, syntax := range lines {
		if want := fmt.Sprintf("0x%08x", binary.LittleEndian.Uint32(code[4*i:])); words[syntax] != want {
			t.Errorf("%s is %s, want %s", syntax, words[syntax], want)
		}
	}
}

const header = "// func f(x *float32)\nTEXT ·f(SB), NOSPLIT, $0-8\n"

// TestErrors has texts that the command must refuse, because their twins would compute something else.
func TestErrors(t *testing.T) {
	for want, body := range map[string]string{
		"no counterpart is known":             "\tVMOVUPS (AX), Y1\n\tVDPPS Y1, Y1, Y3\n",
		"an unknown rounding":                 "\tVMOVUPS (AX), Y1\n\tVROUNDPS $0x09, Y1, Y2\n",
		"an unknown predicate":                "\tVMOVUPS (AX), Y1\n\tVCMPPS $0x1e, Y1, Y1, Y2\n",
		"an unknown shuffle":                  "\tVMOVUPS (AX), Y1\n\tVSHUFPS $0x1b, Y1, Y1, Y2\n",
		"an unknown permutation":              "\tVMOVUPS (AX), Y1\n\tVPERMPD $0x1b, Y1, Y2\n",
		"Y16 is a register of AVX-512 only":   "\tVMOVUPS (AX), Y16\n",
		"only a value in memory is known":     "\tVMOVUPS (AX), Y1\n\tVBROADCASTSD X1, Y2\n",
		"only a store is known":               "\tVMOVSD (AX), X1\n",
		"halves are known":                    "\tVMOVUPS (AX), Y1\n\tVPERM2F128 $0x01, Y1, Y1, Y2\n",
		"the lanes are not a constant":        "\tVMOVUPS (AX), Y1\n\tVMOVUPS (BX), Y2\n\tVPERMPS Y1, Y2, Y3\n",
		"a half without a value is read":      "\tVMOVUPS (AX), X1\n\tVADDPS Y1, Y1, Y2\n",
		"only a register and itself":          "\tTESTQ AX, BX\n",
		"addressed by LEAQ only":              "\tVMOVUPS (SP), Y1\n",
		"an index and an offset":              "\tLEAQ 8(AX)(BX*4), CX\n",
		"unknown operand \"K1\"":              "\tKMOVW AX, K1\n",
		"unknown operand \"Z1.Z\"":            "\tVADDPS Z1, Z2, Z1.Z\n",
		"not a TEXT that this command":        "TEXT f(SB), $0\n",
		"not a DATA that this command":        "DATA x<>+0(SB)/4, 5\n",
		"the data of x have a gap":            "DATA x<>+4(SB)/4, $0x00000000\n",
		"line 3: \"DATA x<>+0(SB)/2, $0x\": ": "DATA x<>+0(SB)/2, $0x\n",
	} {
		_, _, err := translate(header+body+"\tRET\n", "test.s")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", body, err, want)
		}
	}
}

// TestTooFewRegisters has more values at a time than there are registers.
func TestTooFewRegisters(t *testing.T) {
	var body strings.Builder
	for i := range 16 {
		fmt.Fprintf(&body, "\tVMOVUPS %d(AX), Y%d\n", 32*i, i)
	}
	for i := range 16 {
		fmt.Fprintf(&body, "\tVADDPS %d(BX), Y%d, Y%d\n", 32*i, i, i)
	}
	for i := range 16 {
		fmt.Fprintf(&body, "\tVMOVUPS Y%d, %d(AX)\n", i, 32*i)
	}
	_, _, err := translate(header+body.String()+"\tRET\n", "test.s")
	if err == nil || !strings.Contains(err.Error(), "f: too few vector registers") {
		t.Errorf("error %v", err)
	}
}

// TestText has a loop with what the command is for: webs that share a register, halves that are the same, a factor in one
// lane, flags.
func TestText(t *testing.T) {
	source := `// func f(x *float32, n int)
TEXT ·f(SB), NOSPLIT, $0-16
	MOVQ   x+0(FP), AX
	MOVQ   n+8(FP), CX
	VXORPS Y0, Y0, Y0
	VMOVUPS one<>+0(SB), Y3

turn:
	// A turn.
	VMOVUPS      (AX), Y1
	VBROADCASTSS 32(AX), Y2
	VFMADD231PS  Y1, Y2, Y0
	VSUBPS       Y1, Y3, Y1
	VMOVUPS      Y1, (AX)
	ADDQ         $0x24, AX
	DECQ         CX
	JNZ          turn
	VMOVUPS      Y0, (AX)
	VZEROUPPER
	RET

DATA one<>+0(SB)/8, $0x3f8000003f800000
DATA one<>+8(SB)/8, $0x3f8000003f800000
DATA one<>+16(SB)/8, $0x3f8000003f800000
DATA one<>+24(SB)/8, $0x3f8000003f800000
GLOBL one<>(SB), RODATA|NOPTR, $32
`
	want := `// Code generated by command neon from test.s. DO NOT EDIT.

#include "textflag.h"

// func f(x *float32, n int)
TEXT ·f(SB), NOSPLIT, $0-16
	MOVD $constants<>(SB), R26
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	WORD $0x4f000405 // movi v5.4s, #0
	WORD $0x4f000404 // movi v4.4s, #0
	FMOVQ (R26), F3

turn:

	// A turn.
	FLDPQ (R0), (F1, F2)
	FMOVS 32(R0), F0
	WORD $0x4f801025 // fmla v5.4s, v1.4s, v0.s[0]
	WORD $0x4f801044 // fmla v4.4s, v2.4s, v0.s[0]
	WORD $0x4ea1d461 // fsub.4s v1, v3, v1
	WORD $0x4ea2d460 // fsub.4s v0, v3, v2
	FSTPQ (F1, F0), (R0)
	ADD $36, R0, R0
	SUBS $1, R1, R1
	BNE turn
	FSTPQ (F5, F4), (R0)
	RET

DATA constants<>+0(SB)/8, $0x3f8000003f800000
DATA constants<>+8(SB)/8, $0x3f8000003f800000
GLOBL constants<>(SB), RODATA|NOPTR, $16
`
	got, _, err := translate(source, "test.s")
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestLanes has instructions on lanes of 64 bits, and what becomes of them: instructions for each half, or one if both halves are
// the same.
func TestLanes(t *testing.T) {
	vectorLine := regexp.MustCompile(`(?m)^\t?(?:WORD \S+ // )?(FLDPQ.+|FMOVQ F.+|DATA.+|[a-z][a-z0-9.]+ v.+)$`)
	for body, want := range map[string]string{
		"VPERMPD $0x00, Y1, Y3": "FLDPQ (R0), (F1, F0); dup v0.2d, v1.d[0]",
		"VPERMPD $0x55, Y1, Y3": "FLDPQ (R0), (F1, F0); dup v0.2d, v1.d[1]",
		"VPERMPD $0xaa, Y1, Y3": "FLDPQ (R0), (F1, F0); dup v0.2d, v0.d[0]",
		"VPERMPD $0xff, Y1, Y3": "FLDPQ (R0), (F1, F0); dup v0.2d, v0.d[1]",
		"VPERMPD $0xd8, Y1, Y3": "FLDPQ (R0), (F2, F0); zip1.2d v1, v2, v0; zip2.2d v0, v2, v0",
		"VBROADCASTSD (DX), Y3": "dup v0.2d, v0.d[0]",
		"VPMULDQ Y2, Y1, Y3": "FLDPQ (R0), (F1, F4); FLDPQ (R1), (F0, F3); xtn v1.2s, v1.2d; xtn v0.2s, v0.2d; smull v2.2d, v1.2s, v0.2s; " +
			"xtn v1.2s, v4.2d; xtn v0.2s, v3.2d; smull v0.2d, v1.2s, v0.2s",
		"VBLENDVPD Y2, Y1, Y2, Y3": "FLDPQ (R0), (F4, F3); FLDPQ (R1), (F2, F1); sshr.2d v0, v2, #63; bit.16b v2, v4, v0; " +
			"sshr.2d v0, v1, #63; bit.16b v1, v3, v0",
		"VPSUBQ Y2, Y1, Y3":        "FLDPQ (R0), (F3, F2); FLDPQ (R1), (F1, F0); sub.2d v1, v3, v1; sub.2d v0, v2, v0",
		"VPSRLQ $0x28, Y1, Y3":     "FLDPQ (R0), (F1, F0); ushr.2d v1, v1, #40; ushr.2d v0, v0, #40",
		"VCMPPD $0x00, Y2, Y1, Y3": "FLDPQ (R0), (F3, F2); FLDPQ (R1), (F1, F0); fcmeq.2d v1, v3, v1; fcmeq.2d v0, v2, v0",
		"VCMPPD $0x11, Y2, Y1, Y3": "FLDPQ (R0), (F3, F2); FLDPQ (R1), (F1, F0); fcmgt.2d v1, v1, v3; fcmgt.2d v0, v0, v2",
		"VPBLENDD $0xa3, Y2, Y1, Y3": "FLDPQ (R0), (F3, F2); FLDPQ (R1), (F1, F0); bit.16b v3, v1, v5; bit.16b v2, v0, v4; " +
			"DATA constants<>+0(SB)/8, $0xffffffffffffffff; DATA constants<>+8(SB)/8, $0x0000000000000000; " +
			"DATA constants<>+16(SB)/8, $0xffffffff00000000; DATA constants<>+24(SB)/8, $0xffffffff00000000",
		"VMOVUPS Y1, Y3\n\tVEXTRACTF128 $0x01, Y1, 64(BX)": "FLDPQ (R0), (F1, F0); FMOVQ F0, 64(R3)",
	} {
		twin, _, err := translate(header+"\tVMOVUPS (AX), Y1\n\tVMOVUPS (CX), Y2\n\t"+body+"\n\tVMOVUPS Y3, (DX)\n\tRET\n", "test.s")
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		var lines []string
		for _, m := range vectorLine.FindAllStringSubmatch(twin, -1) {
			lines = append(lines, m[1])
		}
		if got := strings.Join(lines, "; "); got != want {
			t.Errorf("%s becomes %s, want %s", body, got, want)
		}
	}
}

// TestAllocation follows the values through the registers of every twin: on each way to a step, what it reads must be what was
// written last under the same name before registers were chosen.
func TestAllocation(t *testing.T) {
	for _, file := range twins(t) {
		written, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := string(regexp.MustCompile(`from (\S+)\. DO`).FindSubmatch(written)[1])
		source, err := os.ReadFile(filepath.Join(filepath.Dir(file), name))
		if err != nil {
			t.Fatal(err)
		}
		text, err := parse(string(source))
		if err != nil {
			t.Fatal(err)
		}
		p := &pool{places: map[string]int{}}
		for _, f := range text.functions {
			if strings.HasSuffix(f.name, wide) {
				continue
			}
			steps, chosen, err := text.twin(f, p)
			if err != nil {
				t.Fatal(err)
			}
			if err := follow(steps, chosen); err != nil {
				t.Errorf("%s: %s: %v", file, f.name, err)
			}
		}
	}
}

// follow returns an error if a step reads another value than it should.
func follow(steps []step, chosen map[register]int) error {
	type contents [available]map[register]bool // the names of the value in each register
	front := make([]*contents, len(steps))
	front[0] = &contents{}
	work := []int{0}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		s, behind := &steps[i], contents{}
		for r := range behind {
			behind[r] = maps.Clone(front[i][r])
		}
		for k, r := range s.registers {
			if s.reads(k) && !behind[chosen[r]][r] {
				return fmt.Errorf("step %d, %s%s: register %d does not hold value %d", i, s.syntax, s.format, chosen[r], r)
			}
		}
		for k, r := range s.registers[:s.writes] {
			names := map[register]bool{}
			if s.moves() {
				names = maps.Clone(behind[chosen[s.registers[1]]])
			}
			for other := range behind {
				delete(behind[other], r)
			}
			names[r] = true
			behind[chosen[r]] = names
			if slices.ContainsFunc(s.registers[:k], func(o register) bool { return chosen[o] == chosen[r] }) {
				return fmt.Errorf("step %d writes register %d twice", i, chosen[r])
			}
		}
		var next []int
		if !s.leaves {
			next = append(next, i+1)
		}
		if s.branch != "" {
			next = append(next, slices.IndexFunc(steps, func(to step) bool { return to.label == s.branch }))
		}
		for _, n := range next {
			if front[n] == nil {
				front[n] = &behind
				work = append(work, n)
				continue
			}
			changed := false
			merged := contents{}
			for r := range merged {
				merged[r] = map[register]bool{}
				for name := range front[n][r] {
					if behind[r][name] {
						merged[r][name] = true
					} else {
						changed = true
					}
				}
			}
			if changed {
				front[n] = &merged
				work = append(work, n)
			}
		}
	}
	return nil
}
