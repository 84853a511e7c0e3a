package family

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
)

// Ranker is a Predictor that, for each row of a block, puts what it knows in an order: the items for a user, or the
// training rows near a row. Of such a row only the columns that say for whom are needed.
type Ranker interface {
	// Rank returns the first k for each row, none for a row that it knows nothing of.
	Rank(b *block.Block, by RankBy, k int) *Ranked
	// Most is how many it ranks for a row at most.
	Most() int
	// Places returns the place, from 1, of each row's item among those that its user has not had in training, and
	// itself, and how many these are; NaN where it knows one of the two not.
	Places(b *block.Block) (places, of []float64)
}

// RankBy is an order.
type RankBy uint8

// The orders.
const (
	RankAll     RankBy = iota // of all items, the one of the greatest prediction first
	RankUnseen                // of those that the user has not had in training
	RankSimilar               // of the items by how similar they are to the row's
	RankNearest               // of the training rows, by how near they are
)

// Ranked are lists, one after the other.
type Ranked struct {
	Ends   []int32 // of each row's list
	Number []int32
	Score  []float64
	Column int // the feature of whose categories Number are the numbers; -1: they are counted from 0
}

// End ends a row's list.
func (r *Ranked) End() { r.Ends = append(r.Ends, int32(len(r.Number))) }

// Take adds what is in t, which is empty then, as a row's list, with a number added to each score.
func (r *Ranked) Take(t *Top, more float64) {
	for i, s := range t.score {
		r.Number, r.Score = append(r.Number, t.number[i]), append(r.Score, s+more)
	}
	t.score, t.number = t.score[:0], t.number[:0]
	r.End()
}

// Top keeps the k greatest of some scores above negative infinity, of equal ones the first that came.
type Top struct {
	k      int
	score  []float64
	number []int32
}

// NewTop makes one.
func NewTop(k int) *Top { return &Top{k: k} }

// Offer offers a score.
func (t *Top) Offer(score float64, number int32) {
	n := len(t.score)
	if n == t.k && (n == 0 || !(score > t.score[n-1])) || !(score >= -math.MaxFloat64) {
		return
	}
	at, _ := slices.BinarySearchFunc(t.score, score, func(a, b float64) int { // after equals
		if a >= b {
			return -1
		}
		return 1
	})
	if n == t.k {
		t.score, t.number = t.score[:n-1], t.number[:n-1]
	}
	t.score, t.number = slices.Insert(t.score, at, score), slices.Insert(t.number, at, number)
}
