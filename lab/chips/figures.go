package chips

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Chip holds the published figures of a chip.
type Chip struct {
	Name             string   `json:"name"` // "m3-max"
	PerformanceCores int      `json:"p_cores"`
	EfficiencyCores  int      `json:"e_cores"`
	GPUCores         int      `json:"gpu_cores"`
	GPUGigahertz     *float64 `json:"gpu_ghz"`      // nil if nothing was published
	TeraFLOPS        *float64 `json:"fp32_tflops"`  // of the GPU; nil if nothing was published
	GigabytesPerSec  *float64 `json:"bandwidth_gb"` // of the memory; nil if nothing was published
	Source           string   `json:"source"`       // keys of the file's sources
}

// saxpy is one published time of y = a·x + y.
type saxpy struct {
	Elements int     `json:"elements"`
	MetalMS  float64 `json:"metal_ms"`
	VDSPMS   float64 `json:"vdsp_ms"`
}

//go:embed chips.json
var text []byte

// figures is the content of chips.json.
var figures = func() (f struct {
	Sources map[string]string `json:"sources"`
	Chips   []Chip            `json:"chips"`
	Saxpy   struct {
		Chip   string  `json:"chip"`
		Source string  `json:"source"`
		Rows   []saxpy `json:"rows"`
	} `json:"saxpy"`
}) {
	if err := json.Unmarshal(text, &f); err != nil {
		panic("chips: chips.json: " + err.Error())
	}
	return f
}()

// Published returns every chip with published figures, also chips that cannot be modelled.
func Published() []Chip { return figures.Chips }

// Names returns the names of the chips that can be modelled.
func Names() []string {
	var names []string
	for _, c := range figures.Chips {
		if c.Missing() == "" {
			names = append(names, c.Name)
		}
	}
	return names
}

// Find returns the chip with a name, such as "m3-max". It fails if there is no such chip, or if a figure is missing. The
// error is one line.
func Find(name string) (Chip, error) {
	for _, c := range figures.Chips {
		if c.Name != name {
			continue
		}
		if missing := c.Missing(); missing != "" {
			return Chip{}, fmt.Errorf("no trustworthy figure was found for its %s, and none is guessed (want %s)", missing, strings.Join(Names(), ", "))
		}
		return c, nil
	}
	return Chip{}, fmt.Errorf("no such chip (want %s)", strings.Join(Names(), ", "))
}

// Missing returns the names of the figures that are missing for a model of the chip, or "".
func (c Chip) Missing() string {
	var missing []string
	for _, figure := range []struct {
		name  string
		value *float64
	}{{"GPU clock", c.GPUGigahertz}, {"peak of the GPU", c.TeraFLOPS}, {"memory bandwidth", c.GigabytesPerSec}} {
		if figure.value == nil {
			missing = append(missing, figure.name)
		}
	}
	return strings.Join(missing, " and ")
}

// Title returns the chip's name in Apple's spelling: "Apple M3 Max".
func (c Chip) Title() string {
	words := strings.Split(c.Name, "-")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return "Apple " + strings.Join(words, " ")
}

// peak returns the greatest number of the GPU's operations per second.
func (c Chip) peak() float64 { return *c.TeraFLOPS * 1e12 }

// bandwidth returns the greatest number of bytes per second of the memory.
func (c Chip) bandwidth() float64 { return *c.GigabytesPerSec * 1e9 }
