package dispatch

// Answer says what a choice rests on.
type Answer string

// The answers.
const (
	// Measured is the answer within the sizes that were measured.
	Measured Answer = "measured"
	// Predicted is the answer at a shape that was not measured, by others that were.
	Predicted Answer = "predicted"
	// Beyond is the answer outside of the sizes or shapes that were measured. The nearest ones decide.
	Beyond Answer = "beyond"
	// Unknown is the answer where no measurement speaks for the choice: there is none, none can be used, or somebody asked
	// for an implementation.
	Unknown Answer = "unknown"
)

// Prediction says how good the predictions are that a choice rests on.
type Prediction struct {
	Shapes int // that were measured and fitted

	// HeldOut is how many other shapes were measured to judge the choices, 0 for none. Loss is how much longer calls take
	// there by the choices than by the best ones: 0.02 is 2 %, as a geometric mean. LossUpper is the upper end of its
	// one-sided 95 % interval.
	HeldOut         int
	Loss, LossUpper float64
}
