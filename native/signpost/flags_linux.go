//go:build amd64 || arm64

package signpost

// libraryFlags make a C compiler link a library.
const libraryFlags = "-shared -fPIC -nostdlib"
