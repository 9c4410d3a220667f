package plans

import (
	"context"
	"slices"
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
// ignores Sizes, Pairs and Earlier of the options. Rows that it finds outside are compared once more, by as large a budget.
func Brief(ctx context.Context, cases []kernels.Case, o Options) (Summary, error) {
	o.Sizes, o.Pairs, o.Earlier = 2, max(1, int(o.Budget/briefPair)), nil
	rows, err := Compare(ctx, cases, o)
	if err == nil && Sum(rows).Outside > 0 {
		o.Earlier = again(rows)
		rows, err = Compare(ctx, cases, o)
	}
	return Sum(rows), err
}

// again returns the rows without those that are outside, so that these are measured anew. The visits to a row follow each other
// within a second or two. If the machine is disturbed for as long, it may slow only one side of the row.
func again(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Finding == Outside })
}
