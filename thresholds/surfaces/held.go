package surfaces

import (
	"encoding/binary"
	"hash/fnv"
)

// heldOutEach is which part of the shapes is held out: one of so many.
const heldOutEach = 5

// HeldOut reports whether a shape is never fitted, so that the choices at it can be judged. It follows from the shape
// alone: every run holds out the same ones.
func HeldOut(shape []int) bool { return number(shape)%heldOutEach == 0 }

// folds is into how many parts the fitted shapes are divided.
const folds = 5

// foldOf returns the part of a shape that is fitted.
func foldOf(shape []int) int { return int(number(shape) / heldOutEach % folds) }

// number returns a number that follows from a shape and looks like a random one.
func number(shape []int) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for _, v := range shape {
		binary.LittleEndian.PutUint64(b[:], uint64(v))
		h.Write(b[:])
	}
	// The lower bits of this hash change too little from one number to the next.
	return h.Sum64() >> 32
}
