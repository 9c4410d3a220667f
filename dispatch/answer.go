package dispatch

// Answer says on what a choice is based.
type Answer string

// The answers.
const (
	// Measured means that the size is within the measured sizes.
	Measured Answer = "measured"
	// Predicted means that the shape was not measured, and that its times are predicted from other shapes.
	Predicted Answer = "predicted"
	// Beyond means that the size or shape is outside of the measured ones. The cost models of the operation's surface decide, or the
	// nearest segment if there is no surface.
	Beyond Answer = "beyond"
	// Unknown means that no measurement supports the choice: there is none, none can be used, the implementation is
	// forced, or no call has such a size.
	Unknown Answer = "unknown"
)

// Prediction says how good the predictions behind a choice are.
type Prediction struct {
	Shapes int // number of shapes that were measured and fitted

	// HeldOut is the number of other shapes that were measured to judge the choices; 0 means none. Loss is how much longer
	// calls take there with the predicted choices than with the best ones, as a geometric mean: 0.02 is 2 %. LossUpper is
	// its upper bound: see calibration.HeldOut.
	HeldOut         int
	Loss, LossUpper float64
}
