// Package strict has tests alone: they compile the catalogue's kernel texts as CUDA with clang, by declarations of NVRTC's in
// testdata. They are not in package cuda, because Go would compile every operation once more for the tests of cuda.
package strict
