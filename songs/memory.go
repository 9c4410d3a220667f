package songs

import (
	"slices"

	"crossover/kernels"
	"crossover/pool"
)

// memory holds the data of a pipeline's tensors. A tensor keeps its memory from call to call, and gets other memory if a call
// needs more.
type memory struct {
	w     *wiring
	data  [][]float32 // by tensor; that of an input is the caller's
	after []int       // by tensor: the Last tensor that is derived from it, or −1
	rows  []int       // by tensor: rows of a derived tensor in this call, 0 if it is not derived yet
	late  []late      // by tensor

	alloc  func(n int) (data []float32, free func(), err error) // of shared memory
	shared []bool                                               // by tensor: it lies in shared memory
	frees  []func()                                             // by tensor; nil where there is no memory

	pool    *pool.Pool
	turning turning
}

// late are the rows of calls that are not yet in the memory of an All tensor, because only a GPU has read it in these calls.
type late struct {
	rows  []float32 // of one call after the other
	calls int
}

func newMemory(b *kernels.Backends, w *wiring) memory {
	m := memory{w: w, data: make([][]float32, len(w.tensors)), rows: make([]int, len(w.tensors)), late: make([]late, len(w.tensors)), alloc: b.Alloc, pool: b.Pool,
		shared: make([]bool, len(w.tensors)), frees: make([]func(), len(w.tensors))}
	m.after = slices.Repeat([]int{-1}, len(w.tensors))
	for i, d := range w.Derived {
		if d.How == Last {
			m.after[w.of[i]] = w.find(d.Name)
		}
	}
	return m
}

// share puts a tensor into shared memory, which a GPU reaches without a copy by the processor. A tensor that is handed to the
// next call shares its memory with that one.
func (m *memory) share(t int) {
	if m.w.tensors[t].input >= 0 || m.shared[t] {
		return
	}
	m.release(t)
	m.shared[t] = true
	if before := m.after[t]; before >= 0 {
		m.share(before)
	}
	if i := m.w.tensors[t].derived; i >= 0 && m.w.Derived[i].How == Last {
		m.share(m.w.of[i])
	}
}

// aligned returns n zeros that may hold values of 64 bits.
func aligned(n int) ([]float32, func(), error) {
	return kernels.Float64Words(make([]float64, (n+1)/2))[:n], func() {}, nil
}

// take returns the memory of so many words of a tensor. More memory than there was begins with what there was.
func (m *memory) take(t, words int) ([]float32, error) {
	if len(m.data[t]) < words {
		n := words
		if m.w.grows(t) {
			n *= 2 // so that few steps allocate
		}
		alloc := aligned
		if m.shared[t] {
			alloc = m.alloc
		}
		data, free, err := alloc(n)
		if err != nil {
			return nil, err
		}
		copy(data, m.data[t])
		m.release(t)
		m.data[t], m.frees[t] = data, free
	}
	return m.data[t][:words], nil
}

// grows reports whether a tensor is longer in each call than in the one before.
func (w *wiring) grows(t int) bool {
	i := w.tensors[t].derived
	return i >= 0 && w.Derived[i].How == All
}

// open reports whether a tensor is derived, and has not been in this call.
func (m *memory) open(t int) bool { return m.w.tensors[t].derived >= 0 && m.rows[t] == 0 }

// moves reports whether derive will move data. What was left by the last call lies where it is read.
func (m *memory) moves(t int) bool {
	return m.open(t) && m.w.Derived[m.w.tensors[t].derived].How != Last
}

// derive derives a tensor for this call, unless it is there, and reports whether data have moved. words are the lengths of all
// tensors.
func (m *memory) derive(t int, words []int, calls int) (moved bool, err error) {
	i := m.w.tensors[t].derived
	if !m.open(t) {
		return false, nil
	}
	if err := m.settle(t, calls); err != nil {
		return false, err
	}
	to, err := m.take(t, words[t])
	if err != nil || !m.moves(t) {
		return false, err
	}
	from, columns := m.data[m.w.of[i]][:words[m.w.of[i]]], m.w.Derived[i].Columns
	m.rows[t] = len(from) / columns
	if m.w.Derived[i].How == Turned {
		m.turn(to, from, columns)
	} else {
		appendRows(to, from, 1, columns, calls)
	}
	return true, nil
}

// settle puts the rows of all calls into an All tensor. calls is the number of calls before this one.
func (m *memory) settle(t, calls int) error {
	l := &m.late[t]
	if l.calls == 0 {
		return nil
	}
	to, err := m.take(t, len(l.rows)/l.calls*calls)
	if err != nil {
		return err
	}
	appendRows(to, l.rows, l.calls, m.w.Derived[m.w.tensors[t].derived].Columns, calls-l.calls)
	*l = late{rows: l.rows[:0]}
	return nil
}

// keepRows keeps the rows of a call for the All tensors that were not derived in it.
func (m *memory) keepRows(words []int) {
	for i, d := range m.w.Derived {
		t, of := m.w.find(d.Name), m.w.of[i]
		if d.How == All && m.rows[t] == 0 {
			m.late[t].rows = append(m.late[t].rows, m.data[of][:words[of]]...)
			m.late[t].calls++
		}
	}
}

// end ends a call, of which happened says whether it succeeded. What it leaves is then handed to the next one, or else what it
// has appended is removed. words are the lengths of all tensors.
func (m *memory) end(happened bool, words []int, calls int) {
	if happened {
		m.keepRows(words)
	}
	for t, rows := range m.rows {
		if !happened && rows > 0 && m.w.grows(t) {
			removeRows(m.data[t], rows, m.w.Derived[m.w.tensors[t].derived].Columns, calls)
		}
	}
	clear(m.rows)
	for i := range m.w.Inputs {
		m.data[i] = nil // inputs are the first tensors
	}
	for t, before := range m.after {
		if happened && before >= 0 {
			m.data[t], m.data[before] = m.data[before], m.data[t]
			m.frees[t], m.frees[before] = m.frees[before], m.frees[t]
		}
	}
}

// result returns the memory of a tensor after a call.
func (m *memory) result(t int) []float32 {
	if before := m.after[t]; before >= 0 {
		t = before
	}
	return m.data[t]
}

// reset forgets what calls have left.
func (m *memory) reset() {
	for _, before := range m.after {
		if before >= 0 {
			clear(m.data[before])
		}
	}
	m.forgetRows()
}

// forgetRows forgets the rows that are not yet in the memory of All tensors.
func (m *memory) forgetRows() {
	for t := range m.late {
		m.late[t] = late{rows: m.late[t].rows[:0]}
	}
}

// release frees the memory of a tensor.
func (m *memory) release(t int) {
	if m.frees[t] != nil {
		m.frees[t]()
	}
	m.data[t], m.frees[t] = nil, nil
}

// close frees the memory of all tensors.
func (m *memory) close() {
	for t := range m.data {
		m.release(t)
		m.late[t] = late{}
	}
}
