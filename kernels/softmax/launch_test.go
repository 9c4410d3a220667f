package softmax

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/kernels/rowwise"
)

// TestLaunchSpecialRows computes special rows by each of the three kernels. The rows are padded with entries of weight 0. If
// rows are cut into chunks, some chunks have only such entries.
func TestLaunchSpecialRows(t *testing.T) {
	for _, columns := range []int{40, 41, 1028, rowwise.ThreadgroupColumns + 8} {
		p := kerneltest.Plans(t, &Op, Params{columns})[kerneltest.GPUName]
		if p == nil {
			t.Skip("no C++ compiler for the emulator")
		}
		for _, test := range specialRows {
			x, want := make([]float32, columns), make([]float32, columns)
			for i := range x {
				x[i] = -inf
				if math.IsNaN(float64(test.want[0])) {
					want[i] = nan
				}
			}
			// One entry lies in the first chunk and the others in the last one.
			x[0], want[0] = test.x[0], test.want[0]
			copy(x[columns-len(test.x)+1:], test.x[1:])
			copy(want[columns-len(test.x)+1:], test.want[1:])
			got := make([]float32, columns)
			apply(t, p, got, x, columns)
			checkSpecial(t, fmt.Sprintf("%d columns, %s", columns, test.name), got, want)
		}
	}
}

// runLong computes the softmax of long rows in place by a division.
func runLong(t *testing.T, device *gpu.Device, d division, columns int, x []float32) []float32 {
	t.Helper()
	b := device.NewPlan()
	all := b.State(gpu.Float, len(x))
	d.append(b, source, len(x)/columns, columns, all, all)
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	copy(all.Floats(), x)
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(all.Floats())
}

// TestLong has rows that one threadgroup reads twice in part, or once if all of their values stay in registers or there and in
// threadgroup memory, with special rows among them.
func TestLong(t *testing.T) {
	device := emulator.Open(t, emulator.ThreadgroupMemory(227<<10))
	hold := func(d division, batch int) division {
		d.batch, d.held = batch, true
		return d
	}
	in := func(d division) int { return d.threads * d.values } // registers
	for _, test := range []struct {
		division
		columns int
	}{
		{narrow, 2*in(narrow) + 4}, {narrow, in(narrow) + 1},
		{wide, 2*in(wide) + 4}, {wide, in(wide) + 4}, {wide, in(wide)}, {wide, rowwise.ThreadgroupColumns + 4},
		{hold(wide, 80), 128 << 10}, {hold(wide, 80), in(wide)}, {hold(wide, 80), in(wide) + 4},
		{hold(wide, 80), in(wide) + wide.threads*80}, {hold(wide, 80), in(wide) + wide.threads*80 + 4},
		{hold(wide, 80), in(wide) + 3*wide.threads*80 + 4*37},
		{hold(wide, 32), in(wide) + 2*wide.threads*32 - 4},
		{hold(narrow, 32), in(narrow) + 1}, {hold(narrow, 32), 2 * in(narrow)}, {hold(narrow, 32), 3*in(narrow) + 1},
		{hold(narrow, 32), 4*in(narrow) - 1023},
	} {
		const rows = 7
		columns, name := test.columns, fmt.Sprintf("%+v, %d columns", test.division, test.columns)
		x := make([]float32, rows*columns)
		kernels.Noise(x, 1)
		for i := range x {
			x[i] *= 20
		}
		// The largest values of a row are its first, its last, and one in the middle: in each kind of memory in turn.
		x[0], x[columns/2], x[columns-1], x[columns] = 150, 160, 200, 300
		for i := range columns {
			x[2*columns+i], x[3*columns+i] = -inf, -300
		}
		x[3*columns-1], x[4*columns+7], x[5*columns+7], x[6*columns-1] = -300, nan, inf, nan
		for i := range narrow.threads {
			x[3*columns+i] = -inf
		}
		want, got := Reference(x, columns), runLong(t, device, test.division, columns, x)
		for r := range rows {
			row := want[r*columns : (r+1)*columns]
			if math.IsNaN(row[0]) {
				for i, v := range got[r*columns : (r+1)*columns] {
					if !math.IsNaN(float64(v)) {
						t.Fatalf("%s, row %d: element %d is %v, want NaN", name, r, i, v)
					}
				}
			} else if e := kernels.RelativeError(got[r*columns:(r+1)*columns], row); !(e <= 3e-7) {
				t.Errorf("%s, row %d: relative error %.2g", name, r, e)
			}
		}
	}
}

// Rows are long if they do not fit in a threadgroup's registers and keep the cores busy.
func TestLongRows(t *testing.T) {
	for _, test := range []struct {
		rows, columns, cores int
		want                 bool
	}{
		{256, 128 << 10, 132, true}, {140, 128 << 10, 132, false}, {256, 32 << 10, 132, false}, {32, 128 << 10, 10, false},
		{1000, 128 << 10, 132, true}, {256, 1 << 20, 132, false}, {40, 128 << 10, 10, true},
	} {
		if got := long(test.rows, test.columns, test.cores); got != test.want {
			t.Errorf("long(%d, %d, %d) is %v", test.rows, test.columns, test.cores, got)
		}
	}
	held := func(d division, batch int) division {
		d.batch, d.held = batch, true
		return d
	}
	for _, test := range []struct {
		columns, registers, bytes int
		want                      division
	}{
		{128 << 10, 64 << 10, 48 << 10, wide}, {128 << 10, 32 << 10, 48 << 10, narrow}, {128 << 10, 0, 32 << 10, narrow}, {128 << 10, 0, 0, narrow},
		{128<<10 + 1, 64 << 10, 48 << 10, narrow},
		{128 << 10, 64 << 10, 227 << 10, held(wide, 80)}, {128 << 10, 64 << 10, 163 << 10, held(wide, 80)},
		{128 << 10, 64 << 10, 99 << 10, held(wide, 48)}, {128 << 10, 64 << 10, 64 << 10, wide}, {48 << 10, 64 << 10, 227 << 10, wide},
		{48<<10 + 4, 64 << 10, 227 << 10, held(wide, 80)}, {128<<10 + 1, 64 << 10, 227 << 10, held(narrow, 32)},
		{128<<10 + 1, 64 << 10, 99 << 10, narrow},
	} {
		if got := divide(test.columns, gpu.Facts{Registers: test.registers, MostThreadgroupBytes: test.bytes}); got != test.want {
			t.Errorf("divide(%d) with %d registers and %d bytes is %+v", test.columns, test.registers, test.bytes, got)
		}
	}
}

// BenchmarkLong compares divisions of long rows on each GPU, with and without streaming accesses, beside chunks of the rows and a
// copy. The chunks are those of all rows, or of batches of rows that fit in a cache between both kernels. It reports the bytes
// of a copy in the median of the device's times, and of the host's, to which a clock between the kernels adds nothing.
func BenchmarkLong(b *testing.B) {
	const rows, columns = 256, 128 << 10
	x := make([]float32, rows*columns)
	kernels.Noise(x, 1)
	want := Reference(x[(rows-1)*columns:], columns)
	plain := source
	plain.Text = strings.ReplaceAll(text, "CROSSOVER_STREAMING", "STREAMING_OF_NO_GPU")
	long := func(d division, of gpu.Source) func(p *gpu.Builder, y, x *gpu.Buffer) {
		return func(p *gpu.Builder, y, x *gpu.Buffer) { d.append(p, of, rows, columns, y, x) }
	}
	type variant struct {
		name   string
		append func(p *gpu.Builder, y, x *gpu.Buffer)
	}
	variants := []variant{
		{"copy", func(p *gpu.Builder, y, x *gpu.Buffer) { p.Copy(y, x) }},
		{"chunks", func(p *gpu.Builder, y, x *gpu.Buffer) {
			rowwise.Append(p, source, rows, columns, rowwise.Width(columns), gpu.Float2, y, x)
		}},
	}
	for _, batch := range []int{16, 32, 64} {
		variants = append(variants, variant{fmt.Sprintf("batches=%d", batch), func(p *gpu.Builder, y, x *gpu.Buffer) {
			const threads, values, width = 512, 8, 4
			chunks := columns / (threads * values)
			text := source.Define("WIDTH", width).Define("PER_THREAD", values/width)
			statistics := p.Scratch(gpu.Float2, batch*chunks)
			grid, group, shape := gpu.Size{X: batch, Y: chunks, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1}, gpu.Values(batch, columns/width)
			for at := 0; at < rows*columns; at += batch * columns {
				p.Dispatch(p.Kernel(text, "chunk_statistics"), grid, group, statistics, x.At(at), shape)
				p.Dispatch(p.Kernel(text, "chunk_values"), grid, group, y.At(at), x.At(at), statistics, shape)
			}
		}})
	}
	for _, d := range []division{
		narrow, wide, {512, 96, 80, true}, {512, 96, 96, true}, {512, 96, 48, true}, {512, 64, 80, true}, {256, 192, 160, true},
	} {
		name := fmt.Sprintf("threads=%d,values=%d,batch=%d,held=%v", d.threads, d.values, d.batch, d.held)
		variants = append(variants, variant{name + "/streaming", long(d, source)}, variant{name + "/plain", long(d, plain)})
	}
	for _, backend := range kernels.Here().GPUs {
		device, err := backend.OpenFit()
		if err != nil {
			b.Log(err)
			continue
		}
		for _, v := range variants {
			b.Run(backend.API+"/"+v.name, func(b *testing.B) {
				builder := device.NewPlan()
				from, to := builder.Input(gpu.Float, len(x)), builder.Output(gpu.Float, len(x))
				v.append(builder, to, from)
				p, err := builder.Build()
				if err != nil {
					b.Skip(err)
				}
				defer p.Close()
				copy(from.Floats(), x)
				if err := p.Upload(); err != nil {
					b.Fatal(err)
				}
				var spans, walls []float64
				for b.Loop() {
					times, err := p.Time(true)
					if err != nil {
						b.Fatal(err)
					}
					begin := time.Now()
					if err := p.RunResident(); err != nil {
						b.Fatal(err)
					}
					spans, walls = append(spans, times.Span.Seconds()), append(walls, time.Since(begin).Seconds())
				}
				if err := p.Download(); err != nil {
					b.Fatal(err)
				}
				if got := to.Floats()[(rows-1)*columns:]; v.name != "copy" && !(kernels.RelativeError(got, want) <= 3e-7) {
					b.Errorf("the last row is wrong: relative error %.2g", kernels.RelativeError(got, want))
				}
				slices.Sort(spans)
				slices.Sort(walls)
				b.ReportMetric(8*rows*columns/spans[len(spans)/2]/1e9, "GB/s")
				b.ReportMetric(8*rows*columns/walls[len(walls)/2]/1e9, "host-GB/s")
			})
		}
	}
}
