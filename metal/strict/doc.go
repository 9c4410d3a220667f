// Package strict compiles kernel texts with clang, in a dialect that comes as close to Metal's as a machine without
// Metal's compiler gets: C++14, address spaces that are types, the functions of the dialect and no others, and no
// implicit narrowing. Its metal_stdlib is ours and declares what package gpu/msl describes. A text that passes has not
// been compiled by Metal's compiler. The package is for tests alone, and it runs nothing.
package strict
