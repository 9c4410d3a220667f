package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// score is what a choice costs at a shape. Each figure is a ratio of times.
type score struct {
	ratio    float64 // chosen ÷ best
	unbiased float64 // the same, with the best of other visits
	oracle   float64 // best of one visit ÷ best of the others
}

// scoreOf judges a choice. times has the times of each implementation, all over the same blocks: as many of each visit, of which
// there are at least two. chosen is an index of it.
func scoreOf(chosen int, times [][]float64, visits int) score {
	all := func(int) bool { return true }
	perVisit := len(times[chosen]) / visits
	var unbiased, oracle []float64
	for v := range visits {
		one, others := func(k int) bool { return k/perVisit == v }, func(k int) bool { return k/perVisit != v }
		unbiased = append(unbiased, against(chosen, best(times, others), times, one))
		oracle = append(oracle, against(best(times, one), best(times, others), times, others))
	}
	return score{
		ratio:    against(chosen, best(times, all), times, all),
		unbiased: stat.GeometricMean(unbiased, nil),
		oracle:   stat.GeometricMean(oracle, nil),
	}
}

// against returns the time of one implementation divided by that of another in some of the blocks.
func against(one, other int, times [][]float64, in func(block int) bool) float64 {
	return median(some(times[one], in)) / median(some(times[other], in))
}

// best returns the implementation that is fastest in some of the blocks.
func best(times [][]float64, in func(block int) bool) int {
	best, least := 0, math.Inf(1)
	for i := range times {
		if t := median(some(times[i], in)); t < least {
			best, least = i, t
		}
	}
	return best
}

func some(times []float64, in func(block int) bool) []float64 {
	var of []float64
	for k, t := range times {
		if in(k) {
			of = append(of, t)
		}
	}
	return of
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// score judges the choice at a shape.
func (o *outcome) score() score {
	var times [][]float64
	chosen := -1
	for i, e := range o.entrants {
		if i == o.chosen() {
			chosen = len(times)
		}
		if !e.leftOut {
			times = append(times, e.times)
		}
	}
	return scoreOf(chosen, times, o.visits)
}

// summary is what choices cost at several shapes. All but the number of shapes and the share are regrets: 0.02 is 2 %.
type summary struct {
	shapes          int
	mean            float64 // geometric
	within          float64 // share of the shapes at which the choice takes at most 5 % longer
	p90, p99, worst float64
}

// tolerable is the ratio of times up to which a choice counts as good.
const tolerable = 1.05

// summarise returns the summary of ratios, of which there is at least one.
func summarise(ratios []float64) summary {
	sorted := slices.Sorted(slices.Values(ratios))
	good := 0
	for _, x := range sorted {
		if x <= tolerable {
			good++
		}
	}
	at := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, sorted, nil) - 1 }
	return summary{
		shapes: len(sorted), mean: stat.GeometricMean(sorted, nil) - 1, within: float64(good) / float64(len(sorted)),
		p90: at(0.9), p99: at(0.99), worst: at(1),
	}
}
