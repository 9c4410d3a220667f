package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"crossover/cmd/internal/command"
	"crossover/dispatch"
	"crossover/kernels"
)

// checkChoose refuses flags that --choose has no use for, and wants one size.
func (o *options) checkChoose() error {
	for _, flag := range []string{
		"ops", "shape", "shapes", "impl", "sizes", "budget", "precision", "mode", "in-flight", "state", "audio", "seed", "data", "plots", "from",
		"simulate", "list", "dry-run", "quick", "json", "verbose", "force", "fresh",
	} {
		if o.given(flag) {
			return command.Usage("--choose with --%s: it reads the calibration file and measures nothing", flag)
		}
	}
	if len(o.arguments) != 1 {
		return command.Usage("--choose %s: want one size behind it, e.g. --choose fft/batch=1 4096", o.choose)
	}
	if _, err := o.size(); err != nil {
		return err
	}
	return nil
}

// size returns the size of --choose.
func (o *options) size() (int, error) {
	size, err := strconv.Atoi(o.arguments[0])
	if err != nil || size < 1 {
		return 0, command.Usage("--choose %s %s: want a whole number, at least 1", o.choose, o.arguments[0])
	}
	return size, nil
}

// choose prints the implementation that a program on this machine would get, and the reason on a second line.
func choose(o *options, machine command.Machine, stdout io.Writer) error {
	size, err := o.size()
	if err != nil {
		return err
	}
	cases := thisHost(machine).Cases()
	k := slices.IndexFunc(cases, func(c kernels.Case) bool { return c.Name == o.choose })
	if k < 0 {
		return command.Usage("--choose %q: no such case (calibrate --list prints them)", o.choose)
	}
	d, err := dispatch.Load(o.output)
	if err != nil {
		return err
	}
	var there []string
	for _, i := range cases[k].Implementations {
		if i.Missing() == nil {
			there = append(there, i.Name)
		}
	}
	c := d.Case(o.choose, there...)
	fmt.Fprintf(stdout, "%s\n%s\n", c.Choose(size), c.Explain(size))
	return nil
}
