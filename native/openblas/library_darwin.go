package openblas

// Homebrew keeps openblas out of the loader's path, because macOS brings a BLAS of its own.
var candidates = []string{
	"libopenblas.dylib",
	"/opt/homebrew/opt/openblas/lib/libopenblas.dylib",
	"/usr/local/opt/openblas/lib/libopenblas.dylib",
}
