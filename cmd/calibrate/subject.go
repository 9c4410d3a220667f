package main

import (
	"crossover/calibration"
	"crossover/cmd/internal/command"
)

// subject is the machine that a calibration is of: this one, or a modelled chip.
type subject struct {
	command.Machine
	host calibration.Host // its id, facts and environment; no case yet
}

// subject returns the machine to calibrate: the one at hand, or the chip that --simulate names.
func (o *options) subject(machine command.Machine) (*subject, error) {
	if o.simulate == "" {
		return thisHost(machine), nil
	}
	c, err := o.chip()
	if err != nil {
		return nil, err
	}
	return simulated(c, o.seed), nil
}

// thisHost is the machine that the program runs on.
func thisHost(m command.Machine) *subject {
	s := &subject{Machine: m}
	s.host.Environment = command.Environment(m.Condition())
	s.host.Facts, s.host.ID = command.HostFacts()
	m.DescribeGPU(&s.host.Facts, &s.host.Environment)
	return s
}
