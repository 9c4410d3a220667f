package main

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
	"crossover/host"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/lab/chips"
	"crossover/sweeps"
)

// listChips is the value of --simulate that lists the chips.
const listChips = "list"

// simulated returns a modelled chip with the catalogue's cases, in virtual time.
func simulated(c chips.Chip, seed uint64) *subject {
	machine := chips.NewMachine(c, seed)
	return &subject{
		Machine: command.Machine{
			Machine: harness.Machine{Clock: machine, Sentinel: machine.Sentinel},
			Cases:   func() []kernels.Case { return machine.Cases(catalogue.Cases(chips.Backends())) },
		},
		host: calibration.Host{
			ID: chipID(c), Simulated: true, Facts: chipFacts(c),
			Environment: calibration.Environment{
				OS: "darwin", OSVersion: "no Mac: computed from published figures", Go: runtime.Version(),
				ToolVersion: command.Version, ToolCommit: command.Commit(), Power: "unknown", Thermal: "unknown", Load: -1,
			},
		},
	}
}

// chipFacts returns the published part of the facts that a Mac with the chip would report.
func chipFacts(c chips.Chip) calibration.Facts {
	return calibration.Facts{
		Chip: c.Title(), Family: host.Family(c.Title()), Architecture: "arm64", Cores: c.PerformanceCores + c.EfficiencyCores,
		PerformanceCores: c.PerformanceCores, EfficiencyCores: c.EfficiencyCores, GPU: c.Title(), GPUCores: c.GPUCores,
	}
}

// chipID returns the id of a modelled chip, which no measured host can have: "simulated-apple-m3-max-40".
func chipID(c chips.Chip) string { return calibration.SimulatedPrefix + host.Facts(chipFacts(c)).ID() }

// chip returns the chip of --simulate.
func (o *options) chip() (chips.Chip, error) {
	c, err := chips.Find(o.simulate)
	if err != nil {
		return c, command.Usage("--simulate %q: %v", o.simulate, err)
	}
	return c, nil
}

// checkSimulation refuses flags that mean nothing for a model.
func (o *options) checkSimulation() error {
	if o.simulate == listChips {
		return nil
	}
	switch {
	case o.mode != string(sweeps.Latency) || o.state != string(sweeps.Warm):
		return command.Usage("--simulate %s with --mode %s --state %s: the model knows warm calls that are waited for (want latency and warm)",
			o.simulate, o.mode, o.state)
	case o.audio != "":
		return command.Usage("--simulate %s with --audio %s: a model computes nothing, so no input changes its times", o.simulate, o.audio)
	}
	_, err := o.chip()
	return err
}

// simulatedFolder returns the default folder of a simulation, which no measurement uses.
func (o *options) simulatedFolder() string { return filepath.Join("simulated", o.simulate) }

// folder returns a host's folder under a root. The default folders of a simulation hold one host only, so they are the
// host's folders.
func (o *options) folder(root, id string) string {
	if o.simulate != "" && filepath.Dir(root) == o.simulatedFolder() {
		return root
	}
	return command.Folder(root, id)
}

// checkRefit checks the entry of --from against --simulate. A simulation stays one, and stays away from measurements.
func (o *options) checkRefit(entry *calibration.Host) error {
	if o.simulate != "" {
		c, err := o.chip()
		if err != nil {
			return err
		}
		if id := chipID(c); !entry.Simulated || entry.ID != id {
			return command.Usage("--simulate %s with --from %s: that is a sweep of %s, not of %s", o.simulate, o.from, entry.ID, id)
		}
		return nil
	}
	if entry.Simulated && !o.given("output") {
		return command.Usage("--from %s: that is a simulation, %s (want --simulate CHIP too, or -o FILE)", o.from, entry.ID)
	}
	return nil
}

// writeChips prints the chips that have published figures.
func writeChips(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "NAME\tCORES\tGPU CORES\tPEAK, TFLOPS\tMEMORY, GB/S")
	for _, c := range chips.Published() {
		fmt.Fprintf(t, "%s\t%d + %d\t%d\t", c.Name, c.PerformanceCores, c.EfficiencyCores, c.GPUCores)
		if missing := c.Missing(); missing != "" {
			fmt.Fprintf(t, "cannot be simulated: no trustworthy figure was found for its %s\n", missing)
			continue
		}
		fmt.Fprintf(t, "%g\t%g\n", *c.TeraFLOPS, *c.GigabytesPerSec)
	}
	return t.Flush()
}

// simulatedNote returns the first line of output about a simulation, and "" for a measurement.
func simulatedNote(entry *calibration.Host) string {
	if !entry.Simulated {
		return ""
	}
	return "SIMULATED: computed from published figures of the " + strings.TrimSpace(entry.Facts.Chip) +
		"; nothing was measured (docs/simulated-chips.md)\n"
}
