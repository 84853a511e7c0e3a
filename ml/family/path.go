package family

import "github.com/tributarydb/tributary/ml/canon"

// Path is a Family some of whose options only say how strong a penalty is: the minimum
// with one penalty is close to that with the next, so trials of a search that differ in
// nothing else go down a regularisation path, the strongest first.
type Path interface {
	// PathOptions are the names of these options.
	PathOptions() []string
	// Strength returns how strong a statement's penalty is; ok is false where a training
	// would not end at the same minimum wherever it starts.
	Strength(o *Values) (strength float64, ok bool)
}

// Prefixes is a Family of which a training with fewer iterations is the beginning of one
// with more: trials of a search that differ in nothing else are measured on the way of the
// longest.
type Prefixes interface {
	// PrefixOption is the name of the option with the number of iterations; "" where the
	// others make the beginning depend on it, or the end on the rows held out.
	PrefixOption(o *Values) string
}

// Follower is a Driver of such a Family.
type Follower interface {
	Driver
	// Leave writes, at the end, what Follow reads; nothing if it is of no use.
	Leave(e *canon.E)
	// Follow begins where the training before ended. It is called before Next, and before a
	// state is restored.
	Follow(d *canon.D) error
}
