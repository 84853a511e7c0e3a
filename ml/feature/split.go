package feature

import "github.com/tributarydb/tributary/ml/record"

// Split divides a leaf's rows into training rows and held-out ones: by the
// column of role Split where there is one, else by the hash of their content.
// The views are valid as long as v.
func (s *Spec) Split(v *record.View) (train, held *record.View) {
	c := s.roleCol(Split)
	if c < 0 {
		return v.Split()
	}
	return v.SplitBy(func(i int) bool { b := v.Bytes(c, i); return b == nil || b[0] != 0 })
}
