package opt

import "github.com/tributarydb/tributary/planner/expr"

// exprSet is a list of expressions no two of which are the same. It finds them
// by hash once there are more than a few: conditions come by the ten thousand.
type exprSet struct {
	list []expr.Expr
	at   map[uint64][]int32 // places in list, by hash; nil while it is short
}

// fewExprs is how many are compared one by one.
const fewExprs = 16

// setOf makes a set of expressions that are known to differ; it does not change
// the list it is given.
func setOf(list []expr.Expr) *exprSet {
	s := &exprSet{list: list[:len(list):len(list)]}
	if len(list) > fewExprs {
		s.index()
	}
	return s
}

func (s *exprSet) index() {
	s.at = make(map[uint64][]int32, 2*len(s.list))
	for i, e := range s.list {
		h := expr.Hash(e)
		s.at[h] = append(s.at[h], int32(i))
	}
}

func (s *exprSet) has(e expr.Expr) bool {
	if s.at == nil {
		return containsSame(s.list, e)
	}
	for _, i := range s.at[expr.Hash(e)] {
		if same(s.list[i], e) {
			return true
		}
	}
	return false
}

// add puts e in if it is not there, and tells whether it did.
func (s *exprSet) add(e expr.Expr) bool {
	if s.has(e) {
		return false
	}
	s.list = append(s.list, e)
	switch {
	case s.at != nil:
		h := expr.Hash(e)
		s.at[h] = append(s.at[h], int32(len(s.list)-1))
	case len(s.list) > fewExprs:
		s.index()
	}
	return true
}
