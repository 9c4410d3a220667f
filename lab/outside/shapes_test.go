package main

import (
	"slices"
	"testing"

	"crossover/kernels"
)

// mostBytes is the most memory that the data of a call may take: 256 MiB.
const mostBytes = 256 << 20

func TestShapesFollowFromTheSeed(t *testing.T) {
	for _, op := range operations {
		draw := func(seed uint64) []kernels.Shape {
			r := randomFor(seed, op.name)
			var all []kernels.Shape
			for range 20 {
				all = append(all, op.shapes.draw(r))
			}
			return all
		}
		one := draw(1)
		if again := draw(1); !slices.Equal(one, again) {
			t.Errorf("%s: one seed gave %v and then %v", op.name, one, again)
		}
		if other := draw(2); slices.Equal(one, other) {
			t.Errorf("%s: two seeds gave the same shapes %v", op.name, one)
		}
	}
}

func TestShapesAreWithinBounds(t *testing.T) {
	for _, op := range operations {
		r := randomFor(1, op.name)
		for range 300 {
			s := op.shapes.draw(r)
			for i := range s {
				if i < len(op.axes) && s[i] < 1 || i >= len(op.axes) && s[i] != 0 {
					t.Fatalf("%s: drew %v for the axes %v", op.name, s, op.axes)
				}
			}
			if op.shapes.takes != nil && !op.shapes.takes(s) {
				t.Fatalf("%s: drew %s, which it does not take", op.name, shapeText(op.axes, s))
			}
		}
	}
}

// The largest shapes are few, so many are drawn. Tensors are not made, only counted.
func TestDataOfACallAreSmall(t *testing.T) {
	for _, op := range operations {
		r := randomFor(3, op.name)
		for range 100 {
			s := op.shapes.draw(r)
			bytes := 0
			for _, tensor := range op.tensors(s) {
				bytes += 4 * tensor.Len()
			}
			if bytes > mostBytes {
				t.Fatalf("%s: the data of %s take %d bytes, want at most %d", op.name, shapeText(op.axes, s), bytes, mostBytes)
			}
		}
	}
}

func TestPartsDrawWhatTheyAreCalled(t *testing.T) {
	r := randomFor(1, "parts")
	s := kernels.Shape{1024}
	for name, c := range map[string]struct {
		part part
		ok   func(n int) bool
	}{
		"list":    {list{3, 5}, func(n int) bool { return n == 3 || n == 5 }},
		"whole":   {whole{10, 1000}, func(n int) bool { return n >= 10 && n <= 1000 }},
		"powers":  {powers{64, 512}, func(n int) bool { return slices.Contains([]int{64, 128, 256, 512}, n) }},
		"smooth":  {smooth{64, 1000}, func(n int) bool { return n >= 64 && n <= 1000 && isSmooth(n) }},
		"primes":  {primes{61, 997}, func(n int) bool { return n >= 61 && n <= 997 && isPrime(n) }},
		"share":   {share{0, 4}, func(n int) bool { return n == 256 }},
		"seconds": {seconds{0.5, 2}, func(n int) bool { return n >= 8000 && n <= 96000 }},
	} {
		seen := map[int]bool{}
		for range 1000 {
			n := c.part.draw(r, s)
			if !c.ok(n) {
				t.Fatalf("%s: drew %d", name, n)
			}
			seen[n] = true
		}
		if name != "share" && len(seen) < 2 {
			t.Errorf("%s: drew only %v in 1000 draws", name, seen)
		}
	}
}

func isPrime(n int) bool {
	for k := 2; k*k <= n; k++ {
		if n%k == 0 {
			return false
		}
	}
	return n > 1
}

func TestSmoothNumbers(t *testing.T) {
	for n, want := range map[int]bool{1: true, 441: true, 480: true, 1920: true, 1_049_760: true, 11: false, 2 * 11: false, 131_071: false} {
		if isSmooth(n) != want {
			t.Errorf("isSmooth(%d) is %v", n, !want)
		}
	}
}
