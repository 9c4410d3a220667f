package onset

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg onset
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// riseGo returns by how much a frame is above the one before it, summed up over the bands where it is.
func riseGo(now, before []float32) float32 {
	now = now[:len(before)]
	var s0, s1, s2, s3 float32
	for ; len(before) >= 4 && len(now) >= 4; before, now = before[4:], now[4:] {
		s0 += max(0, now[0]-before[0])
		s1 += max(0, now[1]-before[1])
		s2 += max(0, now[2]-before[2])
		s3 += max(0, now[3]-before[3])
	}
	for b, v := range before {
		s0 += max(0, now[b]-v)
	}
	return (s0 + s2) + (s1 + s3)
}
