package stft

import "crossover/accelerate"

func newFramework(p Params) (engine, error) { return newSerial(p, withAccelerate) }

// withAccelerate returns a transform of Apple's vDSP for each goroutine: it computes in memory of its own, a frame at a
// time.
func withAccelerate(n, count int) ([]transforms, error) {
	each := make([]transforms, count)
	for i := range each {
		t, err := accelerate.NewReal(n)
		if err != nil {
			return nil, err
		}
		each[i] = transforms{blockFrames: 1, block: t, single: t}
	}
	return each, nil
}
