package proof

import (
	"context"
	"errors"
	"math"
	"testing"

	"crossover/lab/model"
	"crossover/thresholds"
)

// These tests are a short form of the tables, with few runs of few scenarios and always the same seed. The command prove has
// the long form.

func scenarios(t *testing.T, names ...string) []model.Scenario {
	t.Helper()
	var found []model.Scenario
	for _, s := range model.Scenarios() {
		for _, name := range names {
			if s.Name == name {
				found = append(found, s)
			}
		}
	}
	if len(found) != len(names) {
		t.Fatalf("found %d of the scenarios %v", len(found), names)
	}
	return found
}

// rows returns the rows of a study, and fails the test at an error.
func rows[T any](rows []T, err error) func(t *testing.T) []T {
	return func(t *testing.T) []T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
}

func TestIntervalsHoldTheTruth(t *testing.T) {
	for _, r := range rows(StudyCoverage(t.Context(), scenarios(t, "launch, shared", "padded"), 20, 1))(t) {
		if r.Holds.Of != 20 || r.Holds.Count < 17 {
			t.Errorf("%s: %d of %d intervals hold the truth", r.Scenario, r.Holds.Count, r.Holds.Of)
		}
		if r.Missed.Count > 0 {
			t.Errorf("%s: %d crossovers missed", r.Scenario, r.Missed.Count)
		}
		if r.Width > 0.2 {
			t.Errorf("%s: the intervals are %.0f %% wide: of such width anything holds the truth", r.Scenario, 100*r.Width)
		}
	}
}

// Coverage counts intervals that hold the truth. So it must fall if the truth is somewhere else.
func TestCoverageSeesAWrongTruth(t *testing.T) {
	s := scenarios(t, "launch")[0]
	c := calibrate(&s, 1, Budget, 200)
	moved := s.Moved("gpu", 1.2)
	edge := moved.Truth()[0]
	threshold := nearest(c.found().Segments[1:], edge, moved, moved.Truth(), 0)
	if threshold == nil || threshold.Interval.Low <= edge && edge <= threshold.Interval.High {
		t.Errorf("the interval %+v holds %d, the crossover of another machine", threshold, edge)
	}
}

// Neither two identical implementations nor a machine with two states gives thresholds that do not exist.
func TestNoThresholdsTooMany(t *testing.T) {
	same := rows(StudyExtra(t.Context(), model.Same(), 15, 1))(t)
	states := rows(StudyExtra(t.Context(), model.TwoStates(), 50, 1))(t)
	for _, r := range append(same, states...) {
		if r.TooMany.Of < 15 || r.TooMany.Value() > AimExtra {
			t.Errorf("%s: %d of %d runs have more than %d thresholds, the most is %d", r.Scenario, r.TooMany.Count, r.TooMany.Of, r.True, r.Most)
		}
	}
}

func TestThresholdsTooManyAreCounted(t *testing.T) {
	s := scenarios(t, "there and back")[0] // this scenario has two thresholds
	if r := extraOf(&s, []int{0, 2, 3, 5}); r.TooMany != (Share{2, 4}) || r.True != 2 || r.Most != 5 {
		t.Errorf("%+v", r)
	}
}

// Drift is found on machines whose clock swings, throttles or rises with load.
func TestDriftIsFoundAndNotInvented(t *testing.T) {
	for _, r := range rows(StudyDrift(t.Context(), scenarios(t, "launch, shared", "caches", "padded", "three"), 5, 1))(t) {
		if r.Unchanged.Count > 0 {
			t.Errorf("%s: %d of %d verifications of an unchanged machine say DRIFTED", r.Scenario, r.Unchanged.Count, r.Unchanged.Of)
		}
		if r.Shifted.Count < 4 {
			t.Errorf("%s: %d of %d verifications find a crossover that moved twofold, %d say that the machine was disturbed",
				r.Scenario, r.Shifted.Count, r.Shifted.Of, r.Disturbed.Count)
		}
	}
}

// Verify reports the true loss of choices, whether it is small or large.
func TestTheLossIsReportedAsItIs(t *testing.T) {
	drifting := model.Same()[2]
	for _, r := range rows(StudyLoss(t.Context(), []model.Scenario{drifting}, 12, 1))(t) {
		if math.Abs(r.Mean-r.True) > AimBias || r.Below.Of != 12 || r.Below.Count < 9 {
			t.Errorf("%s: a loss of %v is reported as %.4f, and %v bounds hold it", r.Scenario, r.True, r.Mean, r.Below)
		}
	}
}

func TestBlocksAreSpentWell(t *testing.T) {
	for _, r := range rows(StudyCost(t.Context(), scenarios(t, "launch", "there and back"), 3, 1))(t) {
		if r.Ours == 0 || r.Grid < 5*r.Ours {
			t.Errorf("%s: ours takes %d blocks, a ×2 grid %d: want a fifth at most", r.Scenario, r.Ours, r.Grid)
		}
	}
}

func TestOurRuleIsNotBehindOnModelledMachines(t *testing.T) {
	for _, r := range rows(StudyRules(t.Context(), scenarios(t, "caches", "there and back", "three"), 6, 1))(t) {
		if !r.Tied() {
			t.Errorf("%s: %v", r.Case, r.Regret)
		}
	}
}

func TestRegretFallsWithTheBudget(t *testing.T) {
	rows := rows(StudyRegret(t.Context(), scenarios(t, "launch"), 6, 1))(t)
	if first, last := rows[0].Mean, rows[len(rows)-1].Mean; !(last < 0.001 && last < first) {
		t.Errorf("regret is %v after %v and %v after %v", first, rows[0].Budget, last, rows[len(rows)-1].Budget)
	}
}

// A cancelled study begins no run. With this many runs, each study would take minutes.
func TestStudiesEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const runs = 1 << 20
	all := model.Scenarios()
	_, coverage := StudyCoverage(ctx, all, runs, 1)
	_, extra := StudyExtra(ctx, all, runs, 1)
	_, drift := StudyDrift(ctx, all, runs, 1)
	_, loss := StudyLoss(ctx, model.Same(), runs, 1)
	_, regret := StudyRegret(ctx, all, runs, 1)
	_, cost := StudyCost(ctx, all[:1], runs, 1)
	_, rules := StudyRules(ctx, all, runs, 1)
	_, between := StudyBetween(ctx, all, runs, 1)
	_, measured := MeasuredRules(ctx, "../../sweeps/data/amd-epyc-f25m1s1-2")
	for k, err := range []error{coverage, extra, drift, loss, regret, cost, rules, between, measured} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("study %d: error %v", k, err)
		}
	}
}

func TestMeasuredRulesNamesAnEmptyFolder(t *testing.T) {
	if _, err := MeasuredRules(t.Context(), t.TempDir()); err == nil {
		t.Error("an empty folder was compared")
	}
}

func TestTheRightChoicesHold(t *testing.T) {
	s := scenarios(t, "launch")[0]
	c := calibrate(&s, 3, Budget, 200)
	if finding := verify(c, &s, 4).Audit.Finding; finding != thresholds.Holds {
		t.Errorf("finding is %v", finding)
	}
}

// Intervals of a single run cannot know how much runs differ, and those of several runs do.
func TestSeveralRunsPredictTheNextOne(t *testing.T) {
	levels, histories := BetweenRuns, Histories
	BetweenRuns, Histories = []float64{0, 0.06}, []int{1, 3}
	defer func() { BetweenRuns, Histories = levels, histories }()
	r := rows(StudyBetween(t.Context(), scenarios(t, "launch", "launch, shared", "caches", "padded"), 4, 1))(t)
	if r[0].Hold[0].Value() < 0.9 || r[0].Hold[1].Value() < 0.8 {
		t.Errorf("where runs do not differ, intervals hold %+v of the next run's thresholds", r[0].Hold)
	}
	if r[1].Hold[0].Value() > 0.7 || r[1].Hold[1].Value() < 0.8 {
		t.Errorf("where runs differ by 6 %%, the intervals of one run and of three hold %+v", r[1].Hold)
	}
	if r[1].Hold[1].Of < 12 {
		t.Errorf("only %d thresholds were predicted", r[1].Hold[1].Of)
	}
}
