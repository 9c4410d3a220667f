package fftw

// Homebrew's folder on Apple silicon and its old one on Intel are not in the loader's path.
var (
	libraries = []string{
		"libfftw3f.3.dylib",
		"/opt/homebrew/lib/libfftw3f.3.dylib",
		"/usr/local/lib/libfftw3f.3.dylib",
	}
	threadLibraries = []string{
		"libfftw3f_threads.3.dylib",
		"/opt/homebrew/lib/libfftw3f_threads.3.dylib",
		"/usr/local/lib/libfftw3f_threads.3.dylib",
	}
)
