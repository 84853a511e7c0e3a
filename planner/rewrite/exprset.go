package rewrite

import "github.com/tributarydb/tributary/planner/expr"

// ExprSet is a list of expressions no two of which are the same. It finds them by hash once there
// are more than a few: there may be ten thousand conditions.
type ExprSet struct {
	List []expr.Expr
	at   map[uint64][]int32 // places in list, by hash; nil while it is short
}

// fewExprs is up to how many are compared one by one.
const fewExprs = 16

// SetOf makes a set of expressions that are known to differ; it does not change
// the list it is given.
func SetOf(list []expr.Expr) *ExprSet {
	s := &ExprSet{List: list[:len(list):len(list)]}
	if len(list) > fewExprs {
		s.index()
	}
	return s
}

func (s *ExprSet) index() {
	s.at = make(map[uint64][]int32, 2*len(s.List))
	for i, e := range s.List {
		h := expr.Hash(e)
		s.at[h] = append(s.at[h], int32(i))
	}
}

func (s *ExprSet) Has(e expr.Expr) bool {
	if s.at == nil {
		return ContainsSame(s.List, e)
	}
	for _, i := range s.at[expr.Hash(e)] {
		if Same(s.List[i], e) {
			return true
		}
	}
	return false
}

// Add puts e in if it is not there, and reports whether it did.
func (s *ExprSet) Add(e expr.Expr) bool {
	if s.Has(e) {
		return false
	}
	s.List = append(s.List, e)
	switch {
	case s.at != nil:
		h := expr.Hash(e)
		s.at[h] = append(s.at[h], int32(len(s.List)-1))
	case len(s.List) > fewExprs:
		s.index()
	}
	return true
}
