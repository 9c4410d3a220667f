package chips

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Chip is what was published of a chip.
type Chip struct {
	Name             string   `json:"name"` // "m3-max"
	PerformanceCores int      `json:"p_cores"`
	EfficiencyCores  int      `json:"e_cores"`
	GPUCores         int      `json:"gpu_cores"`
	GPUGigahertz     *float64 `json:"gpu_ghz"`      // nil where nothing was published
	TeraFLOPS        *float64 `json:"fp32_tflops"`  // of the GPU, likewise
	GigabytesPerSec  *float64 `json:"bandwidth_gb"` // of the memory, likewise
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

// figures is chips.json.
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

// Find returns the chip of a name. Its error is one line that lists the names, or says which figure is missing.
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

// Missing names the figures without which the chip cannot be modelled, "" for none.
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

// Title is the chip's name as Apple writes it: "Apple M3 Max".
func (c Chip) Title() string {
	words := strings.Split(c.Name, "-")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return "Apple " + strings.Join(words, " ")
}

// peak is the greatest number of operations a second of the GPU.
func (c Chip) peak() float64 { return *c.TeraFLOPS * 1e12 }

// bandwidth is the greatest number of bytes a second of the memory.
func (c Chip) bandwidth() float64 { return *c.GigabytesPerSec * 1e9 }
