package plans

import (
	"context"
	"time"

	"crossover/kernels"
)

const (
	// briefShare is the divisor of a verification's budget that gives a brief comparison's budget: a tenth.
	briefShare = 10
	// leastBrief is the least budget of a brief comparison, unless that is more than half of the whole budget.
	leastBrief = 2 * time.Second
	// briefPair is about the time that the two rows of a pair take on a quiet machine.
	briefPair = time.Second
)

// BriefBudget returns the part of a verification's budget that a brief comparison takes.
func BriefBudget(budget time.Duration) time.Duration {
	return max(budget/briefShare, min(leastBrief, budget/2))
}

// Brief compares as many implementations as the budget allows, at two sizes each. The seed draws the implementations. Brief
// ignores Sizes and Pairs of the options.
func Brief(ctx context.Context, cases []kernels.Case, o Options) (Summary, error) {
	o.Sizes, o.Pairs = 2, max(1, int(o.Budget/briefPair))
	rows, err := Compare(ctx, cases, o)
	return Sum(rows), err
}
