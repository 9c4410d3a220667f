package fftw

var (
	libraries       = []string{"libfftw3f.so.3"}
	threadLibraries = []string{"libfftw3f_threads.so.3"}
)
