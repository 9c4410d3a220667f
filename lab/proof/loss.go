package proof

import (
	"context"
	"math"

	"gonum.org/v1/gonum/stat"

	"crossover/lab/model"
)

// Losses are the losses of choices in StudyLoss.
var Losses = []float64{0, 0.03, 0.1}

// AimBias is the aimed greatest difference between the true loss and the mean that verify reports.
const AimBias = 0.002

// Loss says what verify reports of choices with a known loss.
type Loss struct {
	Scenario string
	True     float64
	Mean     float64 // of the regrets that verify reports
	Error    float64 // standard error of Mean
	Below    Share   // upper bounds that hold the true loss
}

// StudyLoss calibrates machines on which the first of two implementations is the fastest at every size. Then it verifies,
// after the first has become slower than the second by each of Losses. The machines have no luck of runs, because that would
// change the loss.
func StudyLoss(ctx context.Context, scenarios []model.Scenario, runs int, seed uint64) ([]Loss, error) {
	var rows []Loss
	for k := range scenarios {
		for _, loss := range Losses {
			regrets, uppers := make([]float64, runs), make([]float64, runs)
			if err := each(ctx, runs, func(run int) {
				s := *scenarios[k].Replay(run)
				s.Noise.Run, s.Noise.Luck.Runs = 0, nil
				first, second := s.Implementations[0].Name, s.Implementations[1].Name
				c := calibrate(s.Moved(second, 2), seedOf(seed, run), Budget, 200)
				audit := verify(c, s.Moved(first, 1+loss), seedOf(seed+1, run)).Audit
				regrets[run], uppers[run] = audit.Regret, audit.Upper
			}); err != nil {
				return nil, err
			}
			row := Loss{Scenario: scenarios[k].Name, True: loss, Mean: stat.Mean(regrets, nil)}
			row.Error = stat.StdDev(regrets, nil) / math.Sqrt(float64(runs))
			for _, upper := range uppers {
				row.Below.Of++
				if upper >= loss {
					row.Below.Count++
				}
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}
