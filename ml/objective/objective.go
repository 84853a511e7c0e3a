package objective

// Objective is a pointwise loss. Implementations have no state.
type Objective interface {
	// Name is the loss's name in errors and the training history.
	Name() string
	// Outputs is the number of margins of a row.
	Outputs() int
	// Pass replaces the margins z by the weighted derivatives of the loss by
	// them, and writes the rows' weighted losses to l. h has the size of z: it
	// receives the weighted second derivatives (of each output by itself), of the
	// Tweedie family the expected ones.
	Pass(z, h, l, y, w []float64)
	// Link replaces margins by predictions: the value, or the probability of
	// each output. rows is the number of rows of z.
	Link(z []float64, rows int)
}

// Scaled is an Objective whose last output has no weights, but a number that is
// the same for all rows, such as the logarithm of a scale.
type Scaled interface{ Scaled() }

// Slopes is the number of outputs that have weights.
func Slopes(o Objective) int {
	if _, ok := o.(Scaled); ok {
		return o.Outputs() - 1
	}
	return o.Outputs()
}
