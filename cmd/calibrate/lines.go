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

// lineBudget is the default budget of a line of shapes that a user asks for.
const lineBudget = 10 * time.Second

// selectCases returns the cases of the catalogue that --ops leaves, or the lines of shapes that the command line asks for.
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

// mostLines is how many lines of shapes a file may ask for.
const mostLines = 1000

// readShapes reads the file of --shapes: a name a line, which a count may follow. Lines that are empty or begin with # say
// nothing.
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
