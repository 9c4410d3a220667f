// Package strict holds kernel texts against clang, as close to Metal's compiler as a machine without one gets: C++14,
// address spaces that are types, the functions of the dialect and no others, and no implicit narrowing. Its metal_stdlib is
// ours and declares what package gpu/msl describes; a text that passes has not been compiled by Metal's compiler. It is for
// tests alone, and it runs nothing.
package strict
