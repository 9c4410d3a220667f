package songs

import "slices"

// moves are what tensors take from the processor to a GPU or back: so long each, and so long for each byte.
type moves struct{ perTensor, perByte float64 } // seconds

// move is how long so many tensors with so many bytes together took.
type move struct {
	tensors, bytes int
	seconds        float64
}

// The bytes of two moves must differ by so much to say what a byte takes. That of less is lost in what each tensor takes.
const bytesApart = 1 << 18

// newMoves returns what tensors take by some moves. What a byte takes is the median slope between two of them, because a line
// through all would follow a single wrong one. What a tensor takes besides is a median, too.
func newMoves(all []move) (m moves) {
	var slopes, rests []float64
	for i, a := range all {
		for _, b := range all[:i] {
			if apart := a.bytes - b.bytes; apart >= bytesApart || apart <= -bytesApart {
				slopes = append(slopes, (a.seconds-b.seconds)/float64(apart))
			}
		}
	}
	m.perByte = max(0, middle(slopes))
	for _, a := range all {
		rests = append(rests, (a.seconds-m.perByte*float64(a.bytes))/float64(max(1, a.tensors)))
	}
	m.perTensor = max(0, middle(rests))
	return m
}

// middle returns the median of values, which it sorts, and 0 of none.
func middle(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// seconds returns what so many tensors with so many bytes together take.
func (m moves) seconds(tensors, bytes int) float64 {
	return m.perTensor*float64(tensors) + m.perByte*float64(bytes)
}
