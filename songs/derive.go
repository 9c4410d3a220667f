package songs

// turn writes the transpose of src, whose rows have so many columns, to dst.
func turn(dst, src []float32, columns int) {
	const block = 32 // rows and columns of a block that stays in a cache
	rows := len(src) / columns
	for top := 0; top < rows; top += block {
		for left := 0; left < columns; left += block {
			for i := top; i < min(top+block, rows); i++ {
				for j := left; j < min(left+block, columns); j++ {
					dst[j*rows+i] = src[i*columns+j]
				}
			}
		}
	}
}

// appendRows adds a row to each matrix of dst. There are as many matrices as src has rows, and each has count rows before. The
// matrices move apart, the last one first.
func appendRows(dst, src []float32, columns, count int) {
	for i := len(src)/columns - 1; i >= 0; i-- {
		matrix := dst[i*(count+1)*columns:]
		copy(matrix, dst[i*count*columns:(i+1)*count*columns])
		copy(matrix[count*columns:], src[i*columns:(i+1)*columns])
	}
}

// removeRows undoes appendRows for matrices that have count+1 rows.
func removeRows(dst []float32, matrices, columns, count int) {
	for i := range matrices {
		copy(dst[i*count*columns:], dst[i*(count+1)*columns:i*(count+1)*columns+count*columns])
	}
}
