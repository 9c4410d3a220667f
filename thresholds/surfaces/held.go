package surfaces

import (
	"encoding/binary"
	"hash/fnv"
)

// One of heldOutEach shapes is held out.
const heldOutEach = 5

// HeldOut reports whether a shape is held out of every fit, so that choices at it can be judged. The answer depends on the
// shape alone, so every run holds out the same shapes.
func HeldOut(shape []int) bool { return number(shape)%heldOutEach == 0 }

// folds is the number of parts of the fitted shapes.
const folds = 5

// foldOf returns the part that a fitted shape is in.
func foldOf(shape []int) int { return int(number(shape) / heldOutEach % folds) }

// number returns a number that depends on a shape alone and looks random.
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
