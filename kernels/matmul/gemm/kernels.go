package gemm

//go:generate go run ./asm -out vectors_amd64.s -stubs vectors_amd64.go -pkg gemm
//go:generate go run ../../neon -in vectors_amd64.s -in-stubs vectors_amd64.go -out neon_arm64.s -stubs neon_arm64.go

const (
	tileColumns = 16 // columns of C that a kernel computes
	dotColumns  = 4  // columns of C in a group that a kernel of dot products computes
	// mostTileRows is the greatest number of rows of C that any kernel computes. tileRows is the greatest of this
	// processor's.
	mostTileRows = 12
)

// multiplyGo computes rows×tileColumns elements of C, whose rows are rowC values apart, for each panel of b. It sets element i, j
// to the sum over l of a[rows·l+i]·b[rowB·l+j], or adds the sum to it if add is set. The next panel is nextB values behind. It
// computes two rows and four columns at a time: six loads for eight products, whose sums are independent.
func multiplyGo(c []float32, rowC int, a, b []float32, rowB, nextB, rows, terms, panels int, add bool) {
	for panel := range panels {
		c, b := c[panel*tileColumns:], b[panel*nextB:]
		for i := 0; i < rows; i += 2 {
			second := min(i+1, rows-1) // if the number of rows is odd, the last row is computed twice
			for j := 0; j < tileColumns; j += 4 {
				var p0, p1, p2, p3, q0, q1, q2, q3 float32
				for l := range terms {
					row := b[l*rowB+j:][:4:4]
					p, q := a[l*rows+i], a[l*rows+second]
					p0 += p * row[0]
					p1 += p * row[1]
					p2 += p * row[2]
					p3 += p * row[3]
					q0 += q * row[0]
					q1 += q * row[1]
					q2 += q * row[2]
					q3 += q * row[3]
				}
				putFour(c[i*rowC+j:][:4:4], p0, p1, p2, p3, add)
				if second > i {
					putFour(c[second*rowC+j:][:4:4], q0, q1, q2, q3, add)
				}
			}
		}
	}
}

func putFour(c []float32, s0, s1, s2, s3 float32, add bool) {
	if add {
		s0, s1, s2, s3 = c[0]+s0, c[1]+s1, c[2]+s2, c[3]+s3
	}
	c[0], c[1], c[2], c[3] = s0, s1, s2, s3
}

// dotGo computes rows×dotColumns elements of C for each group of dotColumns rows of y. It sets element i, j to the sum over l of
// x[i·rowX+l]·y[j·rowY+l], or adds the sum to it if add is set.
func dotGo(c []float32, rowC int, x []float32, rowX int, y []float32, rowY, rows, terms, groups int, add bool) {
	for j := 0; j < dotColumns*groups; j += dotColumns {
		y0, y1, y2, y3 := y[j*rowY:][:terms], y[(j+1)*rowY:][:terms], y[(j+2)*rowY:][:terms], y[(j+3)*rowY:][:terms]
		for i := range rows {
			var s0, s1, s2, s3 float32
			for l, v := range x[i*rowX:][:terms] {
				s0 += v * y0[l]
				s1 += v * y1[l]
				s2 += v * y2[l]
				s3 += v * y3[l]
			}
			putFour(c[i*rowC+j:][:4:4], s0, s1, s2, s3, add)
		}
	}
}
