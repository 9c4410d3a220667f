package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"crossover/cmd/internal/command"
	"crossover/kernels"
	"crossover/kernels/catalogue"
)

// lineBudget is the default budget of each line of shapes from the command line.
const lineBudget = 10 * time.Second

// selectCases returns the cases of the catalogue that --ops selects, or the lines of --shape in every placement.
func (o *options) selectCases(all []kernels.Case) ([]kernels.Case, error) {
	if len(o.shape) == 0 {
		return command.SelectCases(all, o.ops)
	}
	var cases []kernels.Case
	for _, name := range o.shape {
		placed, err := catalogue.Line(kernels.Here(), name)
		if err != nil {
			return nil, command.Usage("--shape %s: %v", name, err)
		}
		for _, c := range placed {
			if !slices.ContainsFunc(cases, func(known kernels.Case) bool { return known.Name == c.Name }) {
				cases = append(cases, c)
			}
		}
	}
	if !o.given("budget") && !o.quick {
		o.budget = time.Duration(len(cases)) * lineBudget
	}
	return cases, nil
}

// mostLines is the greatest number of lines of shapes in a file.
const mostLines = 1000

// readShapes reads the file of --shapes. Each of its lines is a name, which a count may follow. Empty lines, and those that
// begin with #, are skipped.
func (o *options) readShapes() ([]string, error) {
	file, err := os.Open(o.shapesFile)
	if err != nil {
		return nil, fmt.Errorf("--shapes: %w", err)
	}
	defer file.Close()
	names := o.shape
	for lines := bufio.NewScanner(file); ; {
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				return nil, fmt.Errorf("--shapes %s: %w", o.shapesFile, err)
			}
			break
		}
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if names = append(names, words[0]); len(names) > mostLines {
			return nil, command.Usage("--shapes %s asks for more than %d lines of shapes", o.shapesFile, mostLines)
		}
	}
	if len(names) == 0 {
		return nil, command.Usage("--shapes %s: no line of shapes in it (want lines such as stft/n_fft=1024,hop=256)", o.shapesFile)
	}
	return names, nil
}
