package songs

import (
	"slices"
	"testing"

	"crossover/kernels"
)

func TestTurn(t *testing.T) {
	m := memory{pool: kernels.Here().Pool}
	for _, size := range [][2]int{{1, 1}, {1, 7}, {5, 1}, {3, 4}, {33, 65}, {100, 31}, {4, 2000}, {1025, 67}} {
		rows, columns := size[0], size[1]
		x, y := make([]float32, rows*columns), make([]float32, rows*columns)
		kernels.Noise(x, 1)
		m.turn(y, x, columns)
		for i, v := range x {
			if y[i%columns*rows+i/columns] != v {
				t.Fatalf("%d×%d: value %d is elsewhere", rows, columns, i)
			}
		}
	}
}

// Rows are appended to several matrices, and removed again.
func TestRows(t *testing.T) {
	const matrices, columns, calls = 3, 2, 5
	all := make([]float32, matrices*columns*calls)
	for call := range calls {
		row := make([]float32, matrices*columns)
		for i := range row {
			row[i] = float32(100*call + i)
		}
		before := slices.Clone(all)
		appendRows(all, row, 1, columns, call)
		after := slices.Clone(all)
		removeRows(all, matrices, columns, call)
		if n := matrices * columns * call; !slices.Equal(all[:n], before[:n]) {
			t.Fatalf("call %d: %v, want %v", call, all[:n], before[:n])
		}
		copy(all, after)
	}
	for m := range matrices {
		for call := range calls {
			for c := range columns {
				if got, want := all[(m*calls+call)*columns+c], float32(100*call+m*columns+c); got != want {
					t.Errorf("matrix %d, row %d, column %d: %v, want %v", m, call, c, got, want)
				}
			}
		}
	}
}

// The rows of several calls at once are as those of one call after the other.
func TestRowsOfSeveralCalls(t *testing.T) {
	const matrices, columns, before, calls = 3, 2, 4, 3
	rows := make([]float32, (before+calls)*matrices*columns)
	kernels.Noise(rows, 1)
	each := matrices * columns
	one, several := make([]float32, len(rows)), make([]float32, len(rows))
	for call := range before + calls {
		appendRows(one, rows[call*each:][:each], 1, columns, call)
		if call == before-1 {
			copy(several, one)
		}
	}
	appendRows(several, rows[before*each:], calls, columns, before)
	if !slices.Equal(several, one) {
		t.Errorf("%v, want %v", several, one)
	}
}
