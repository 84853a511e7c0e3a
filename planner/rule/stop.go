package rule

// stopped carries the error of Env.Poll out of the rules. They rewrite trees
// with no place for an error, and half a rewrite is nothing that the rest of a
// rule may see: the run is left from wherever it is.
type stopped struct{ err error }

// Look asks whether the statement may go on. It stands where the work between
// two looks is about linear in the statement: at each node that a rule enters,
// each pair that join ordering tries and each estimate that is made.
func (r *Run) Look() {
	if r.Env.Poll == nil {
		return
	}
	if err := r.Env.Poll(); err != nil {
		panic(stopped{err})
	}
}

// Caught turns the end that look made into the error of an exported function.
func Caught(err *error) {
	switch p := recover().(type) {
	case nil:
	case stopped:
		*err = p.err
	default:
		panic(p)
	}
}
