package main

import (
	"crossover/calibration"
	"crossover/cmd/internal/command"
)

// subject is the machine to calibrate: this one, or a modelled chip.
type subject struct {
	command.Machine
	host calibration.Host // its id, facts and environment, without cases
}

// subject returns the chip of --simulate, or machine if the flag is not given.
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

// thisHost returns the machine on which the program runs.
func thisHost(m command.Machine) *subject {
	s := &subject{Machine: m}
	s.host.Environment = command.Environment(m.Condition())
	s.host.Facts, s.host.ID = command.HostFacts()
	m.DescribeGPU(&s.host.Facts, &s.host.Environment)
	return s
}
