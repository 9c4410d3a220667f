package command

import (
	"fmt"
	"strings"
)

// Shape writes a shape, whose values are those of the axes: "n_fft=480,hop=160,n=48000".
func Shape(axes []string, shape []int) string {
	var parts []string
	for i, v := range shape {
		parts = append(parts, fmt.Sprintf("%s=%d", axes[i], v))
	}
	return strings.Join(parts, ",")
}
