// Package cuda runs launch plans on NVIDIA's GPUs. It is package gpu's driver on top of libcuda, with the kernel texts
// compiled by NVRTC, and with cuFFT and cuBLAS as vendors' libraries. There is no cgo. The libraries are found and
// loaded when the device is first asked for. So a program that imports this package also runs where none of them is
// installed, and gets one line that says what is missing.
//
// On Linux [Backends] returns the API "cuda", and elsewhere nothing. Programs use it through package gpu.
//
// The device is the first one that CUDA lists (CUDA_VISIBLE_DEVICES chooses). The package shares the primary context with
// every other user of CUDA in the process. Kernel texts are compiled to the device's own machine code, which is kept in
// CROSSOVER_CACHE, or in crossover/cuda below the user's cache folder; CROSSOVER_CACHE=off keeps nothing.
//
// A library is looked for where its environment variable points (CROSSOVER_LIBCUDA, CROSSOVER_LIBNVRTC,
// CROSSOVER_LIBCUFFT, CROSSOVER_LIBCUBLAS: the path of a file), else in the loader's path, then below CUDA_HOME,
// CUDA_PATH, /usr/local/cuda and the folders into which Python's packages put them.
package cuda
