package proof

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"crossover/harness"
	"crossover/lab/model"
	"crossover/lab/rules"
	"crossover/thresholds"
	"crossover/timings"
)

// RuleRow says what each rule's choices cost in one case, in the order of Rules. Regret is the geometric mean of the
// slowdowns at sizes that the rule did not see, minus 1. It may be negative by noise. Thresholds is the number of thresholds
// of the choice on all samples, as a mean over runs. Halved is the number for choices on every other size. It is nil for
// modelled machines.
type RuleRow struct {
	Case       string
	Regret     []float64
	Thresholds []float64
	Halved     []float64
	// Band is the least difference between two regrets that differ. It is half the case's tie band, because inside the tie
	// band either implementation may be chosen at each size.
	Band float64
}

// Tied reports whether the first rule, ours, is the best one or worse by at most the band.
func (r RuleRow) Tied() bool {
	for _, other := range r.Regret[1:] {
		if r.Regret[0] > other+r.Band {
			return false
		}
	}
	return true
}

// Rules returns our rule, the obvious one, and those of other programs.
func Rules() []rules.Rule {
	return append([]rules.Rule{rules.Ours(), rules.Obvious()}, rules.Others()...)
}

// StudyRules lets every rule choose on the samples of the same calibrations. It compares the choices with the true costs at
// fresh sizes. It returns medians over the runs.
func StudyRules(ctx context.Context, scenarios []model.Scenario, runs int, seed uint64) ([]RuleRow, error) {
	all := Rules()
	var rows []RuleRow
	for k := range scenarios {
		s := &scenarios[k]
		regrets, counts := make([][]float64, len(all)), make([][]float64, len(all))
		for i := range regrets {
			regrets[i], counts[i] = make([]float64, runs), make([]float64, runs)
		}
		bands := make([]float64, runs)
		if err := each(ctx, runs, func(run int) {
			seed := seedOf(seed, run)
			c := calibrate(s.Replay(run), seed, Budget, 1)
			set := c.timings()
			bands[run] = c.found().TieBand
			for i, r := range all {
				choice := r.Choose(set)
				counts[i][run] = float64(choice.Thresholds())
				regrets[i][run], _ = trueRegret(s, func(size int) string { return set.Implementations[choice.At(size)] }, seed)
			}
		}); err != nil {
			return nil, err
		}
		row := RuleRow{Case: s.Name, Band: median(bands) / 2}
		for i := range all {
			row.Regret = append(row.Regret, median(regrets[i]))
			row.Thresholds = append(row.Thresholds, stat.Mean(counts[i], nil))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// MeasuredRules lets every rule choose on the newest samples of a measured host, at every other size. It judges the rule at
// the sizes between, cross-fitted. dir is the folder of a run or of a host. Cases with too few sizes are left out.
func MeasuredRules(ctx context.Context, dir string) ([]RuleRow, error) {
	run, err := harness.Load(dir)
	if err != nil {
		return nil, err
	}
	var rows []RuleRow
	for _, c := range run.Entry.Cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		set := run.Timings[c.Name]
		row := RuleRow{Case: set.Case, Band: thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: 1, Resamples: 1}).TieBand / 2}
		for _, r := range Rules() {
			score, ok := rules.HeldOut(set, r)
			if !ok {
				break
			}
			row.Regret = append(row.Regret, score.Regret)
			row.Thresholds = append(row.Thresholds, float64(r.Choose(set).Thresholds()))
			row.Halved = append(row.Halved, score.Thresholds)
		}
		if len(row.Regret) == len(Rules()) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// Mean returns the geometric mean over the rows of the slowdowns by each rule's choices, minus 1.
func Mean(rows []RuleRow) []float64 {
	mean := make([]float64, len(Rules()))
	for i := range mean {
		for _, r := range rows {
			mean[i] += math.Log1p(r.Regret[i]) / float64(len(rows))
		}
		mean[i] = math.Expm1(mean[i])
	}
	return mean
}

// Thresholds returns the number of thresholds of each rule's choices in all rows together, for choices on all sizes and for
// those on every other size. halved is nil for modelled machines.
func Thresholds(rows []RuleRow) (all, halved []float64) {
	all = make([]float64, len(Rules()))
	for _, r := range rows {
		floats.Add(all, r.Thresholds)
		if r.Halved != nil && halved == nil {
			halved = make([]float64, len(all))
		}
		if r.Halved != nil {
			floats.Add(halved, r.Halved)
		}
	}
	return all, halved
}
