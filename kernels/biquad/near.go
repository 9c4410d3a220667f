package biquad

// This file describes a section in powers of z − turn in place of z. turn is 1 or −1, whichever is nearer to the poles. In
// the usual state, b0·x and −s1 nearly cancel, and powers of the usual state matrix lose precision. In powers of z − turn,
// s2 and a2 are the small differences themselves, computed before rounding.

// turn returns 1 or −1.
func (s *section) turn() float64 {
	if s.a1 > 0 {
		return -1
	}
	return 1
}

// turned returns a state in powers of z − turn.
func (s state) turned(turn float64) state { return state{s.s1, s.s2 + turn*s.s1} }

// back is the inverse of turned.
func (s state) back(turn float64) state { return state{s.s1, s.s2 - turn*s.s1} }

// near is a section in float32 and in powers of z − turn, as a GPU runs it: y = b0·x + s1, s1 ← turn·s1 + (c1·x − e1·s1 +
// s2), s2 ← turn·s2 + (c2·x − e2·s1).
type near struct {
	b0, c1, c2, e1, e2, turn float32
}

// near returns the section in powers of z − turn. There b1 becomes 2·turn·b0 + b1, and b2 becomes b0 + turn·b1 + b2.
// Likewise for a1 and a2, with 1 in place of b0. c1 and c2 follow from them.
func (s *section) near() near {
	turn := s.turn()
	e1, e2 := s.around(turn)
	return near{float32(s.b0), float32(s.c1), float32(turn*s.c1 + s.c2), float32(e1), float32(e2), float32(turn)}
}

// around returns a1 and a2 in powers of z − turn.
func (s *section) around(turn float64) (e1, e2 float64) { return 2*turn + s.a1, 1 + turn*s.a1 + s.a2 }

// power returns the matrix that advances the state in powers of z − turn by n samples of silence, row-major.
func power(turn, e1, e2 float64, n int) [4]float64 {
	result, square := [4]float64{1, 0, 0, 1}, [4]float64{turn - e1, 1, -e2, turn}
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = multiply(result, square)
		}
		square = multiply(square, square)
	}
	return result
}

func multiply(a, b [4]float64) [4]float64 {
	return [4]float64{
		a[0]*b[0] + a[1]*b[2], a[0]*b[1] + a[1]*b[3],
		a[2]*b[0] + a[3]*b[2], a[2]*b[1] + a[3]*b[3],
	}
}
