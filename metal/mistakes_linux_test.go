//go:build amd64 || arm64

package metal_test

const mistakeVariable = "CROSSOVER_TEST_MISTAKE"

func makeMistake(name string) {}
