package profiles

// Piece is a part of a span in one place.
type Piece struct {
	Name       string
	Place      Place
	Begin, End float64 // seconds from the beginning of the call
}

// Pieces divides a span by place. A stage on the processor and a move are one piece. A list of kernels and a stage alone on a GPU
// are copies, launch and wait on the host, and transfers and kernels on the device, as far as they take time. The pieces of a
// place do not overlap.
//
// Device and host have no clock in common. The device's pieces end with the wait. Its transfers come first, though some of them
// carry results and follow the kernels: the device tells only how long they take together.
func (s *Span) Pieces() (all []Piece) {
	d := s.Device
	if d == nil {
		return []Piece{{s.Name, s.Place, s.Begin, s.End}}
	}
	at := max(s.Begin, s.End-d.In-d.Launch-d.Wait-d.Out)
	add := func(name string, place Place, seconds float64) {
		if end := min(at+seconds, s.End); end > at {
			all = append(all, Piece{name, place, at, end})
			at = end
		}
	}
	add("copy in", Transfer, d.In)
	copied := at
	add("launch", Processor, d.Launch)
	add("wait", Processor, d.Wait)
	waited := at
	if kernels := d.Span - d.Transfers(); d.Span > 0 {
		from := max(copied, waited-d.Span)
		middle := min(max(from, waited-kernels), waited)
		if middle > from {
			all = append(all, Piece{"transfers", Transfer, from, middle})
		}
		all = append(all, Piece{s.Name, GPU, middle, waited})
	}
	add("copy out", Transfer, d.Out)
	return all
}
