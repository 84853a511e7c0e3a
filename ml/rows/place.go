package rows

import (
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/reduce"
)

// What follows from where the rows of a training are and what they are.

// Place returns the owner of each of so many leaves; nil where the nodes' rows stay in
// place.
func (t *Training) Place(leaves, workers int) []int {
	if t.InPlace {
		return nil
	}
	ids := make([]int, workers)
	for i := range ids {
		ids[i] = i
	}
	return reduce.Place(leaves, ids)
}

// CopiesPerNode reports whether copies of a row may be on several nodes as they are counted: in
// place, and where they are not kept, for the query to be read again.
func (t *Training) CopiesPerNode(again bool) bool { return t.InPlace || again }

// Ranges returns the ranges of the blocks as far as statistics tell them; nil where they do
// not, as with windows, which have a row several times.
func (t *Training) Ranges(f *feature.Fitted, st *feature.Stats) *feature.Ranges {
	if t.Windows != nil {
		return nil
	}
	return f.Ranges(t.Spec, st)
}

// Encode writes what decides which blocks are made of the same rows, apart from what is
// held out and from classes' weights.
func (t *Training) Encode(e *canon.E) {
	t.Spec.Encode(e)
	e.Bool(t.InPlace) // the same columns of PCA and of its QR are placed differently
	e.I64(int64(t.Seed))
	e.Bool(t.Windows != nil)
	if w := t.Windows; w != nil {
		e.Int(w.Length)
		e.Int(w.Stride)
		for _, cols := range [][]int{w.Partition, w.Order} {
			e.U32(uint32(len(cols)))
			for _, c := range cols {
				e.Int(c)
			}
		}
		if w.Whole {
			e.Bool(true)
		}
	}
}
