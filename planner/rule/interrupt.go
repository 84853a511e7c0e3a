package rule

// stopped carries the error of Env.Poll out of the rules by a panic. They rewrite trees and return
// no errors, and the rest of a rule must not see half a rewrite.
type stopped struct{ err error }

// Poll checks whether the statement may go on. It is called where the work between two calls is
// about linear in the statement: at each node that a rule enters, each pair that join ordering
// tries and each estimate that is made.
func (r *Run) Poll() {
	if r.Env.Poll == nil {
		return
	}
	if err := r.Env.Poll(); err != nil {
		panic(stopped{err})
	}
}

// CatchStop turns a panic of Poll into the error of an exported function.
func CatchStop(err *error) {
	switch p := recover().(type) {
	case nil:
	case stopped:
		*err = p.err
	default:
		panic(p)
	}
}
