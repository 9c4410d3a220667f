package openblas

var candidates = []string{"libopenblas.so.0"}
