//go:build (darwin || linux) && (amd64 || arm64)

package openblas

import (
	"slices"

	"golang.org/x/sys/cpu"
)

// coreVariable names the processor core whose code OpenBLAS chooses. By default OpenBLAS goes by the model of the processor.
const coreVariable = "OPENBLAS_CORETYPE"

// cores without AVX2, by the names of OpenBLAS. It takes a model that it does not know for one of them: Debian's 0.3.21 takes an Intel
// Xeon of model 207, which has AVX-512, for a Prescott of 2004. Products of 256×256 matrices took 4.3 times as long so on one thread as
// with the code for a SkylakeX (OPENBLAS_CORETYPE=Prescott go test ./native/openblas -bench Gemm, and with SkylakeX). A library that was
// built for one core alone writes its name in capitals, and has no other code.
var cores = []string{
	"Katmai", "Coppermine", "Northwood", "Prescott", "Banias", "Core2", "Penryn", "Dunnington", "Nehalem", "Sandybridge", "Atom", "Nano",
	"Athlon", "Opteron", "Opteron_SSE3", "Barcelona", "Bobcat", "Bulldozer", "Piledriver", "Steamroller",
}

// betterCore returns the core whose code this processor can run if OpenBLAS chose code without AVX2 though the processor has it. It
// returns "" if the choice may stand.
func betterCore(chosen string) string {
	x := &cpu.X86
	switch {
	case !slices.Contains(cores, chosen):
		return ""
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512CD:
		return "SkylakeX"
	case x.HasAVX2 && x.HasFMA:
		return "Haswell"
	}
	return ""
}
