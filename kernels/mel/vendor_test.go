package mel

import (
	"testing"

	"crossover/kernels/kerneltest"
)

func TestVendor(t *testing.T) {
	kerneltest.Shapes(t, &Op, kerneltest.WithGEMM(t), "mps", Op.Lines[0].At(1), Op.Lines[0].At(3))
}
