package feature

import "github.com/tributarydb/tributary/ml/dataset"

// Split parts a leaf's rows into those to train on and those held out: by the
// column of role Split where there is one, else by their draw. The views live as
// long as v.
func (s *Spec) Split(v *dataset.View) (train, held *dataset.View) {
	c := s.roleCol(Split)
	if c < 0 {
		return v.Split()
	}
	return v.SplitBy(func(i int) bool { b := v.Bytes(c, i); return b == nil || b[0] != 0 })
}
