# A change must pass make check. Continuous integration runs .ci/run, which uses most of these targets.
PACKAGES   := ./...
CONCURRENT := ./pool/... ./gpu ./dispatch/... ./kernels/... ./sweeps/... ./native/fftw/... ./native/openblas/... ./native/signpost ./cuda
DARWIN     := GOOS=darwin GOARCH=arm64 CGO_ENABLED=0
# The commands of the main module do not reach lab/outside, a module of its own.
OUTSIDE    := cd lab/outside &&
# The compiler takes a fifth less time if it seldom collects its garbage. It then takes up to 700 MB.
export GOFLAGS := $(shell go env GOFLAGS) '-toolexec=env GOGC=400'

.PHONY: check format vet lint darwin arm64 test race generated golden smoke

# The path of qemu-aarch64, or nothing if that or the C library for it is missing. A Mac has neither, and make check passes there.
QEMU := $(shell test -e /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 && command -v qemu-aarch64)

check: format vet lint darwin $(if $(QEMU),arm64) generated test race

format:
	@files=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$files" ]; then echo "gofmt would change: $$files"; exit 1; fi

vet:
	go vet $(PACKAGES)
	$(OUTSIDE) go vet ./...

lint:
	go tool staticcheck $(PACKAGES)
	staticcheck=$$(go tool -n staticcheck) && $(OUTSIDE) $$staticcheck ./...

# The code for a Mac is checked as far as a compiler can. It has not run on a Mac yet. go vet sees the packages that have other
# files there; make vet has seen the files of the rest. The command types checks the types of every package and test there,
# because what they import may differ. The linker gets the commands, which import every operation, and the tests that have
# assembly or libraries of a Mac.
# Linux on arm64 has no files that vet does not see on another platform, which the command types tests. It checks the types
# there in a tenth of vet's time, because nothing is compiled.
FILES := go list -f '{{.ImportPath}} {{.GoFiles}} {{.SFiles}} {{.TestGoFiles}} {{.XTestGoFiles}}' $(PACKAGES)
darwin:
	packages=$$({ CGO_ENABLED=0 $(FILES); $(DARWIN) $(FILES); } | sort | uniq -u | cut -d' ' -f1 | sort -u) && \
	test -n "$$packages" && $(DARWIN) go vet $$packages
	go run ./cmd/internal/types darwin/arm64 linux/amd64 darwin/arm64
	$(DARWIN) go build -o /dev/null ./cmd/...
	$(DARWIN) go test -c -o /dev/null ./metal/... ./native/... ./host ./kernels/catalogue
	go run ./cmd/internal/types linux/arm64 linux/amd64 darwin/arm64
	$(OUTSIDE) $(DARWIN) go vet ./...

# The tests of the NEON code on qemu's arm64 processor. Nothing else is on the PATH of the tests, so that those
# on the emulated GPU skip.
NEON  := turn mel onset elementwise glu decibels softmax norm reduce sampling matmul/gemm conv1d resample recurrent stft fft/transform \
	phase biquad recurrence
TWINS := Op SameBits Touches Position Special Mpmath Loops Cells LSTM GRU EveryWidth Extremes Vector Layer Group Greedy \
	Hostile Multiply Stays FIR Spectral Spread Chunks NoNumberOfTaps Lanes Unaligned Scale \
	Cascade StateGoesOn Ladder Comb Envelope Compressor
arm64:
	@test -n "$(QEMU)" || { echo "arm64: there is no qemu-aarch64, or no C library for it: install Debian's qemu-user and libc6-arm64-cross"; exit 1; }; \
	GOARCH=arm64 CGO_ENABLED=0 go test -short -vet=off -run '^Test('$$(echo $(TWINS) | tr ' ' '|')')' \
	-exec "env PATH= $(QEMU) -L /usr/aarch64-linux-gnu" $(addprefix ./kernels/,$(NEON))

# make vet has more analyses than go test, which need not run again. Tests of statistics take a fifth less time if they seldom
# collect their garbage.
test:
	GOGC=400 go test -vet=off $(PACKAGES)
	$(OUTSIDE) go test -vet=off ./...

# The tests that -short leaves out are long and have nothing concurrent.
race:
	GOGC=400 go test -vet=off -race -short $(CONCURRENT)

# The assembly is generated; the committed files must be what the generators make.
generated:
	go generate $(PACKAGES)
	@git diff --exit-code -- '*.s' '*_amd64.go' '*neon_arm64.go' docs/catalogue.md || { echo "generated files differ: commit what go generate made"; exit 1; }

# Redraws the golden images of package plots; look at them before you commit them.
golden:
	go test ./plots -update

# A short calibration, then verify and the benchmark of lab/outside on its file. Drift (exit 3) and too little evidence
# (exit 6) do not fail, because they may come from the machine.
smoke:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	go build -o "$$dir/calibrate" ./cmd/calibrate && go build -o "$$dir/verify" ./cmd/verify && \
	( $(OUTSIDE) go build -o "$$dir/outside" . ) && \
	"$$dir/calibrate" --quick --seed 1 -o "$$dir/calibration.json" --data "$$dir/data" --plots "$$dir/plots" && \
	{ "$$dir/verify" --calibration "$$dir/calibration.json" --budget 30s --seed 1; code=$$?; [ $$code -eq 0 ] || [ $$code -eq 3 ] || [ $$code -eq 6 ]; } && \
	{ "$$dir/outside" --calibration "$$dir/calibration.json" --budget 10s; code=$$?; [ $$code -eq 0 ] || [ $$code -eq 6 ]; }
