package songs

// turning writes the transpose of src, rows×columns, to dst. It is a loop over the columns.
type turning struct {
	dst, src      []float32
	rows, columns int
}

// turnedTogether is the number of columns whose rows in dst are written together. Four rows of src are read at a time, because
// their lines may all belong in one place of a cache, which holds few of them.
const turnedTogether = 32

// Do turns columns from to end.
func (t *turning) Do(_, from, end int) {
	for ; from < end; from += turnedTogether {
		n, top := min(turnedTogether, end-from), 0
		for ; top+4 <= t.rows; top += 4 {
			at := top*t.columns + from
			a, b := t.src[at:][:n], t.src[at+t.columns:][:n]
			c, d := t.src[at+2*t.columns:][:n], t.src[at+3*t.columns:][:n]
			for j := range a {
				to := t.dst[(from+j)*t.rows+top:][:4]
				to[0], to[1], to[2], to[3] = a[j], b[j], c[j], d[j]
			}
		}
		for ; top < t.rows; top++ {
			for j, v := range t.src[top*t.columns+from:][:n] {
				t.dst[(from+j)*t.rows+top] = v
			}
		}
	}
}

// turn writes the transpose of src, whose rows have so many columns, to dst.
func (m *memory) turn(dst, src []float32, columns int) {
	const perMicrosecond = 1 << 10 // values of the matrix
	rows := len(src) / columns
	m.turning = turning{dst, src, rows, columns}
	m.pool.Run(columns, m.pool.Grain(columns, perMicrosecond/float64(max(rows, 1)), 16), &m.turning)
	m.turning = turning{}
}

// appendRows adds rows to each matrix of dst. src has a row of each matrix for each of so many calls, one call after the other, and
// each matrix has count rows before. The matrices move apart, the last one first.
func appendRows(dst, src []float32, calls, columns, count int) {
	each := len(src) / calls
	for i := each/columns - 1; i >= 0; i-- {
		matrix := dst[i*(count+calls)*columns:]
		copy(matrix, dst[i*count*columns:(i+1)*count*columns])
		for c := range calls {
			copy(matrix[(count+c)*columns:], src[c*each+i*columns:][:columns])
		}
	}
}

// removeRows undoes appendRows for matrices that have count+1 rows.
func removeRows(dst []float32, matrices, columns, count int) {
	for i := range matrices {
		copy(dst[i*count*columns:], dst[i*(count+1)*columns:i*(count+1)*columns+count*columns])
	}
}
