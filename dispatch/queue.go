package dispatch

import "sync/atomic"

// queue hands timed calls from any number of goroutines to one that holds the watch's lock. It has a fixed size, and neither
// side waits: what finds no place is missed, and counted.
//
// Source: D. Vyukov, Bounded MPMC queue, 1024cores.net. Each slot has the number of the turn that it waits for.
type queue struct {
	slots  [queued]slot
	tail   atomic.Uint64
	head   uint64 // of the goroutine that takes
	missed atomic.Int64
}

const queued = 1024

type slot struct {
	turn atomic.Uint64
	call timed
}

func (q *queue) init() {
	for i := range q.slots {
		q.slots[i].turn.Store(uint64(i))
	}
}

// push adds a call. It gives up if the queue is full, or if other goroutines are faster several times in a row.
func (q *queue) push(one *timed) {
	const tries = 8
	for range tries {
		at := q.tail.Load()
		s := &q.slots[at%queued]
		turn := s.turn.Load()
		if turn == at && q.tail.CompareAndSwap(at, at+1) {
			s.call = *one
			s.turn.Store(at + 1)
			return
		}
		if int64(turn-at) < 0 { // it waits to be taken
			break
		}
	}
	q.missed.Add(1)
}

// pop takes the oldest call. It returns false if there is none.
func (q *queue) pop(into *timed) bool {
	s := &q.slots[q.head%queued]
	if s.turn.Load() != q.head+1 {
		return false
	}
	*into = s.call
	s.call = timed{} // holds nothing for the garbage collector
	s.turn.Store(q.head + queued)
	q.head++
	return true
}
