package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/pool"
)

const head = `# The catalogue

<!-- Written by go generate ./kernels/catalogue. Do not edit. -->

After the name of each operation stands the package whose plans compute it. Tensors are float32 and row-major unless the formula says otherwise.
An implementation that is named here takes part wherever its library or device is found. Names with ` + "`-parallel`" + ` use all
cores. ` + "`metal`" + ` and ` + "`cuda`" + ` are the same kernel text.

- **Axes** are the sizes that calls differ in, with the ranges that are measured.
- **Tolerance** is the greatest error against a float64 reference at which times count. The error is relative to the norm of
  the reference, unless the operation's documentation says otherwise. Where it depends on the size, the range is given.
- **Error** is the greatest that the committed calibrations saw, and whose it was. Variants with a bound of their own have one each.
- **Fastest** tells what the committed calibrations found along the lines that they measured densely, for data in ordinary
  slices. A range of sizes whose choice is a tie or in doubt is not marked here; see the charts in
  [plots/](../plots). What rests on one or two sizes is marked. "–" stands for an operation that was not measured on that machine yet.

`

const tail = `## What is not measured

- Parameters that are no axis have librosa's or PyTorch's defaults in all measured calls: windows and paddings of an STFT, the
  mel scale, masks of attention, transposes, alpha and beta of a product. Calls with others follow the times of the defaults.
- Apple's BNNS is not used. Its graphs are models that Apple's tools compile, or are built in Swift, which Go cannot call.
- vDSP_biquadm, which filters many channels at once, keeps their states inside, so a plan could not change from it to
  another implementation. vDSP_biquad filters channel after channel.
- Attention, LSTM, GRU and MFCC have no vendor's implementation on a GPU here. cuDNN is no part of CUDA, and those of
  MPSGraph are not bound.
`

// everywhere are the backends of all platforms. None of them is opened: the page only reads names.
func everywhere() *kernels.Backends {
	none := func() (gpu.Driver, error) { return nil, errors.New("a page opens no GPU") }
	return &kernels.Backends{
		Pool: pool.Shared(), Accelerate: true,
		GPUs: []*gpu.Backend{gpu.NewBackend("metal", none), gpu.NewBackend("cuda", none)},
	}
}

// page returns the whole page.
func page(file *calibration.File) string {
	var b strings.Builder
	b.WriteString(head)
	backends := everywhere()
	for _, group := range catalogue.Groups() {
		fmt.Fprintf(&b, "## %s\n\n", group.Name)
		operations := [][]string{{"operation", "axes", "implementations", "tolerance", "error"}}
		lines := [][]string{{"line"}}
		for _, h := range file.Hosts {
			lines[0] = append(lines[0], "fastest on "+h.ID)
		}
		var formulas []string
		for _, listing := range group.Operations {
			cases := listing.Cases(backends)
			formulas = append(formulas, fmt.Sprintf("- `%s`, `%s`: %s", listing.Name, listing.Package, cases[0].Definition))
			operations = append(operations, []string{
				"`" + listing.Name + "`", axes(listing.Axes), implementations(cases), tolerance(cases), greatestErrors(file, listing.Name, cases),
			})
			for _, c := range cases {
				row := []string{"`" + c.Name + "`"}
				for i := range file.Hosts {
					row = append(row, fastest(&file.Hosts[i], c.Name))
				}
				lines = append(lines, row)
			}
		}
		fmt.Fprintf(&b, "%s\n\n%s\n%s\n", strings.Join(formulas, "\n"), table(operations), table(lines))
	}
	b.WriteString(tail)
	return b.String()
}

// table writes rows of cells as Markdown. The first row is the head.
func table(rows [][]string) string {
	var b strings.Builder
	for n, row := range rows {
		for k, cell := range row {
			row[k] = strings.ReplaceAll(cell, "|", `\|`)
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if n == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	return b.String()
}

// axes returns "n 64–1 048 576 samples, batch 1–1 024 rows".
func axes(all []kernels.Axis) string {
	var texts []string
	for _, a := range all {
		texts = append(texts, fmt.Sprintf("%s %s–%s %s", a.Name, command.Thousands(a.Min), command.Thousands(a.Max), a.Unit))
	}
	return strings.Join(texts, ", ")
}

// implementations returns the names that the cases have, each once, and with its error bound if it has one.
func implementations(cases []kernels.Case) string {
	var names []string
	for _, c := range cases {
		for _, i := range c.Implementations {
			name := i.Name
			if i.ErrorBound > 0 {
				name += " (" + short(i.ErrorBound) + ")"
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// tolerance returns what counts as right along the lines of an operation.
func tolerance(cases []kernels.Case) string {
	var all []float64
	for _, c := range cases {
		for _, i := range c.Implementations {
			for _, size := range []int{c.Axis.Nearest(c.Axis.Min), c.Axis.Nearest(c.Axis.Max)} {
				all = append(all, c.Allowed(i.Name, size))
			}
		}
	}
	least, most := slices.Min(all), slices.Max(all)
	switch {
	case most == 0:
		return "exact"
	case least == most:
		return short(most)
	}
	return short(least) + " to " + short(most)
}

// greatestErrors returns the greatest error of an operation in a calibration file, and the implementation that had it. Variants that
// promise different bounds have one each.
func greatestErrors(file *calibration.File, operation string, cases []kernels.Case) string {
	type group struct {
		bound, worst float64
		name         string
	}
	var groups []group
	of := map[string]int{} // by implementation
	for _, c := range cases {
		for _, m := range c.Implementations {
			at := slices.IndexFunc(groups, func(g group) bool { return g.bound == m.ErrorBound })
			if at < 0 {
				at, groups = len(groups), append(groups, group{m.ErrorBound, -1, ""})
			}
			of[m.Name] = at
		}
	}
	take := func(all []calibration.Implementation) {
		for _, m := range all {
			at, known := of[m.Name]
			if known && m.Excluded == "" && m.RelativeError > groups[at].worst {
				groups[at].worst, groups[at].name = m.RelativeError, m.Name
			}
		}
	}
	for _, h := range file.Hosts {
		for _, c := range h.Cases {
			if c.Operation == operation {
				take(c.Implementations)
			}
		}
		for _, o := range h.Operations {
			if o.Name == operation {
				take(o.Implementations)
			}
		}
	}
	var texts []string
	for _, g := range groups {
		switch {
		case g.name == "":
		case g.worst == 0:
			texts = append(texts, "0")
		default:
			texts = append(texts, short(g.worst)+" ("+g.name+")")
		}
	}
	return cmp.Or(strings.Join(texts, ", "), "–")
}

// fastest returns the choices of a case on a host: "go to 4 095, go-parallel". It says if they rest on few sizes.
func fastest(h *calibration.Host, name string) string {
	k := slices.IndexFunc(h.Cases, func(c calibration.Case) bool { return c.Name == name })
	if k < 0 {
		return "–"
	}
	c := &h.Cases[k]
	var parts []string
	for i, s := range c.Segments {
		part := s.Implementation
		if i+1 < len(c.Segments) {
			part += " to " + command.Thousands(s.To)
		}
		parts = append(parts, part)
	}
	if few := c.Few(); few != "" && len(parts) > 0 {
		parts[len(parts)-1] += "; " + few
	}
	return cmp.Or(strings.Join(parts, ", "), "unresolved")
}

// short writes a small number with at most two digits: "1e-5", "2.6e-8".
func short(v float64) string {
	text := strings.Replace(strconv.FormatFloat(v, 'e', 1, 64), ".0e", "e", 1)
	return strings.Replace(text, "e-0", "e-", 1)
}
