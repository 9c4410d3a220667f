// Package harm does to a GPU what other programs and mistakes do: it keeps one busy, or loses it. So a command shows what streams do
// about it on a real GPU. It harms nobody else's work but by the time that it takes: it changes no setting and takes hardly any
// memory, and only this process loses the GPU.
package harm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"crossover/cmd/internal/roof"
	"crossover/gpu"
)

// long is how long a kernel of [Occupy] takes. The GPU changes from one program to another in the middle of it.
const long = 20 * time.Millisecond

// Occupy keeps a GPU full of kernels of 20 ms until ctx is done. It calls begun when the first of them has been launched.
func Occupy(ctx context.Context, d *gpu.Device, begun func()) error {
	flops, err := operationsIn(d, long)
	if err != nil {
		return err
	}
	var plans [2]*gpu.Plan // while one is waited for, the other one keeps the GPU busy
	for i := range plans {
		if plans[i], _, err = roof.MultiplyAddPlan(d, flops); err != nil {
			return err
		}
		defer plans[i].Close() // which waits for its kernel
	}
	if err := plans[0].Submit(); err != nil {
		return err
	}
	begun()
	for i := 1; ctx.Err() == nil; i++ {
		if err := plans[i%2].Submit(); err != nil {
			return err
		}
		if err := plans[(i+1)%2].Wait(); err != nil {
			return err
		}
	}
	return nil
}

// operationsIn returns how many floating-point operations of multiply-adds a GPU does in about so much time.
func operationsIn(d *gpu.Device, want time.Duration) (float64, error) {
	for wanted := float64(roof.RoundOperations); ; wanted *= 4 {
		p, flops, err := roof.MultiplyAddPlan(d, wanted)
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		err = p.Run()
		took := time.Since(begin)
		p.Close()
		if err != nil {
			return 0, err
		}
		if took >= want/4 {
			return flops * float64(want) / float64(took), nil
		}
	}
}

//go:embed foreign.metal
var foreign string

// Lose loses a GPU for this process: a kernel writes to memory that is not its own. CUDA then fails every call of the process, for
// good. It fails if the GPU is still there.
func Lose(d *gpu.Device) error {
	b := d.NewPlan()
	b.Dispatch(b.Kernel(gpu.Source{Name: "foreign.metal", Text: foreign}, "write_foreign_memory"), gpu.Size{X: 1, Y: 1, Z: 1}, gpu.Size{X: 32, Y: 1, Z: 1}, b.Scratch(gpu.Uint, 32))
	p, err := b.Build()
	if err != nil {
		return err
	}
	defer p.Close()
	switch err := p.Run(); {
	case err == nil:
		return errors.New("a kernel wrote to memory that is not its own, and the GPU goes on")
	case !errors.Is(err, gpu.ErrLost):
		return fmt.Errorf("the GPU is not lost by a kernel that writes to memory that is not its own: %w", err)
	}
	return nil
}
