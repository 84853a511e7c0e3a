package recommend

import (
	"github.com/tributarydb/tributary/ml/canon"
)

// The steps of a training.
const (
	opCollect uint8 = iota // the rows of all nodes
	opUsers                // the users' vectors
	opItems                // the items' vectors, and the loss
)

// solveStep is the body of a step that solves the problems of one side.
type solveStep struct {
	Ratings *ratings  // for workers that do not have them; else nil
	Fixed   []float32 // the vectors of the other side
	Begin   []float32 // those to begin from, for workers that do not have them: they have what was Fixed last
	Mean    float64
	Shares  []share
}

// share says which problems a worker solves: those before Users, or Items, which no share before has.
type share struct {
	Token        uint64 // 0 for any worker
	Users, Items int32
}

// Encode implements family.Message.
func (s *solveStep) Encode(e *canon.E) { canon.Put(e, s) }

// fits reports whether a step fits the sides.
func (s *solveStep) fits(op uint8, of *sides) bool {
	fixed, begin := s.Fixed, s.Begin
	users, items := int32(0), int32(0)
	for _, x := range s.Shares {
		if x.Users < users || x.Items < items || int(x.Users) > of.users || int(x.Items) > of.items {
			return false
		}
		users, items = x.Users, x.Items
	}
	if op == opItems {
		fixed, begin = begin, fixed
	}
	have := func(v []float32, n int, may bool) bool { return len(v) == n*of.width() || may && v == nil }
	return have(begin, of.users, op == opUsers) && have(fixed, of.items, op == opItems) && (s.Ratings == nil || s.Ratings.fit(of.users, of.items))
}

// solved are vectors that a step has computed.
type solved struct {
	Parts  []part
	Tokens []uint64 // of the workers
}

// part are the vectors of those from From on, and of items the losses.
type part struct {
	From    int32
	Vectors []float32
	Losses  []float64
}

// Encode implements family.Message.
func (s *solved) Encode(e *canon.E) { canon.Put(e, s) }
