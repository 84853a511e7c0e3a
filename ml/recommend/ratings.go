package recommend

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// mostRatings is the most rows of a training.
const mostRatings = math.MaxInt32

// pairs are rows as they come.
type pairs struct {
	User, Item []int32
	Value      []float64
	Weight     []float64 // nil: all are 1
	Tokens     []uint64  // of the workers that have rows
}

// pairBytes is the memory of a row of pairs, without a weight and with one.
const (
	pairBytes   = 16
	weightBytes = 8
)

// Encode implements family.Message.
func (p *pairs) Encode(e *canon.E) { canon.Put(e, p) }

// add adds a row.
func (p *pairs) add(user, item int32, value, weight float64) {
	if weight != 1 && p.Weight == nil {
		p.Weight = slices.Repeat([]float64{1}, len(p.User))
	}
	if p.User, p.Item, p.Value = append(p.User, user), append(p.Item, item), append(p.Value, value); p.Weight != nil {
		p.Weight = append(p.Weight, weight)
	}
}

// weights returns the weight of each row.
func (p *pairs) weights() []float64 {
	if p.Weight == nil {
		return slices.Repeat([]float64{1}, len(p.User))
	}
	return p.Weight
}

// merge adds others, in any order: ratingsOf sorts them.
func (p *pairs) merge(o *pairs) (*pairs, error) {
	if len(p.User)+len(o.User) > mostRatings {
		return nil, errTooMany()
	}
	if p.Weight != nil || o.Weight != nil {
		p.Weight = append(p.weights(), o.weights()...)
	}
	p.User, p.Item, p.Value = append(p.User, o.User...), append(p.Item, o.Item...), append(p.Value, o.Value...)
	p.Tokens = append(p.Tokens, o.Tokens...)
	return p, nil
}

func errTooMany() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "a factorization learns from %d rows at most", mostRatings).
		WithHint("Sum up the rows of a user and an item in the query, or train on a sample of the users.")
}

// ratings are the ratings by the entities of one side, the users or the items, in the order of their numbers.
type ratings struct {
	Start  []int32 // where those of each begin, and the end
	Other  []int32 // the numbers of the other side, ascending for each
	Value  []float32
	Weight []float32 // nil: all are 1
}

// ratingsBytes bounds the memory of so many ratings by one of so many.
func ratingsBytes(n, entities int, weighted bool) int64 {
	size := 8*int64(n) + 4*int64(entities+1)
	if weighted {
		size += 4 * int64(n)
	}
	return size
}

// totals are sums over all ratings.
type totals struct {
	Weight float64 // of explicit feedback their weights, else the confidence of all pairs
	Mean   float64 // of explicit ratings
	Within float64 // the weighted squares of explicit ratings around the mean of their pair
}

// row is a row of a pair.
type row struct{ value, weight float64 }

// ratingsOf makes ratings by user of rows in any order. The rows of a pair are one rating: the sum of implicit
// feedback, the mean of explicit ratings, with the sum of their weights.
func ratingsOf(p *pairs, s *sides, alpha float64) (*ratings, *totals, error) {
	order := sortedBy(p.User, sortedBy(p.Item, nil, s.items), s.users)
	r := &ratings{Start: make([]int32, s.users+1), Other: make([]int32, 0, len(order)), Value: make([]float32, 0, len(order))}
	weighted := !s.implicit && (p.Weight != nil || repeats(p, order))
	t := &totals{}
	var same []row
	var sum float64 // of w·r
	for from := 0; from < len(order); {
		user, item := p.User[order[from]], p.Item[order[from]]
		to := from
		for same = same[:0]; to < len(order) && p.User[order[to]] == user && p.Item[order[to]] == item; to++ {
			x := row{p.Value[order[to]], 1}
			if p.Weight != nil {
				x.weight = p.Weight[order[to]]
			}
			same = append(same, x)
		}
		from = to
		value, weight := same[0].value, same[0].weight
		if len(same) > 1 || weight != 1 {
			var w, within float64
			if value, w, within = together(same); s.implicit {
				value = float64(value * w)
			}
			weight = w
			t.Within += within
		}
		if value-value != 0 || math.Abs(value) > math.MaxFloat32 || weight > math.MaxFloat32 {
			return nil, nil, pgerr.New(pgerr.NumericValueOutOfRange, "ratings or weights are too large for a factorization")
		}
		if weighted && weight < math.SmallestNonzeroFloat32 { // float32 has it as 0, by which losses are divided
			return nil, nil, pgerr.New(pgerr.NumericValueOutOfRange, "weights are too small for a factorization").WithHint("Scale them, or leave such rows out.")
		}
		if s.implicit && value == 0 {
			continue // no feedback
		}
		r.Start[user+1]++
		r.Other, r.Value = append(r.Other, item), append(r.Value, float32(value))
		if weighted {
			r.Weight = append(r.Weight, float32(weight))
		}
		if s.implicit {
			t.Weight += float64(alpha * math.Abs(value))
		} else {
			t.Weight += weight
			sum += float64(weight * value)
		}
	}
	for u := range s.users {
		r.Start[u+1] += r.Start[u]
	}
	if s.implicit {
		t.Weight += float64(s.users) * float64(s.items)
	} else {
		t.Mean = sum / t.Weight
	}
	if len(r.Other) == 0 {
		return nil, nil, pgerr.New(pgerr.InvalidParameterValue, "the training query has no feedback: the target is 0 in all rows")
	}
	return r, t, nil
}

// repeats reports whether a pair has two rows.
func repeats(p *pairs, order []int32) bool {
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; p.User[a] == p.User[b] && p.Item[a] == p.Item[b] {
			return true
		}
	}
	return false
}

// together returns the mean of rows, their weight, and their weighted squares around the mean. Equal values are one
// of their weight, so that a row of weight 2 is the same as two rows.
func together(rows []row) (mean, weight, within float64) {
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.weight, b.weight)) })
	n := 0
	for i := range rows {
		if i > 0 && rows[i].value == rows[n-1].value {
			rows[n-1].weight += rows[i].weight
			continue
		}
		rows[n] = rows[i]
		n++
	}
	if rows = rows[:n]; n == 1 {
		return rows[0].value, rows[0].weight, 0
	}
	for _, x := range rows {
		weight += x.weight
		mean += float64(x.weight * x.value)
	}
	mean /= weight
	for _, x := range rows {
		d := x.value - mean
		within += float64(x.weight * float64(d*d))
	}
	return mean, weight, within
}

// countUp sets start, of zeros, to where each key begins in an order of the keys, and the end.
func countUp(start, keys []int32) {
	for _, k := range keys {
		start[k+1]++
	}
	for k := range len(start) - 1 {
		start[k+1] += start[k]
	}
}

// sortedBy returns the numbers of keys, which are below n, in the order of the keys; equal ones in the order of from,
// nil for their own.
func sortedBy(keys, from []int32, n int) []int32 {
	at := make([]int32, n+1)
	countUp(at, keys)
	out := make([]int32, len(keys))
	for i := range keys {
		j := int32(i)
		if from != nil {
			j = from[i]
		}
		k := keys[j]
		out[at[k]] = j
		at[k]++
	}
	return out
}

// turned writes the ratings by the other side, of which there are n, to t, which has room for them.
func (r *ratings) turned(t *ratings, n int) {
	clear(t.Start)
	countUp(t.Start, r.Other)
	next := slices.Clone(t.Start[:n])
	for k := range len(r.Start) - 1 {
		for i := r.Start[k]; i < r.Start[k+1]; i++ {
			o := r.Other[i]
			at := next[o]
			next[o]++
			if t.Other[at], t.Value[at] = int32(k), r.Value[i]; r.Weight != nil {
				t.Weight[at] = r.Weight[i]
			}
		}
	}
}

// fit reports whether ratings from outside are those of so many.
func (r *ratings) fit(entities, others int) bool {
	n := len(r.Other)
	if len(r.Start) != entities+1 || len(r.Value) != n || len(r.Weight) != n && len(r.Weight) != 0 || r.Start[0] != 0 || int(r.Start[entities]) != n {
		return false
	}
	for k := range entities {
		if r.Start[k+1] < r.Start[k] {
			return false
		}
	}
	for _, o := range r.Other {
		if o < 0 || int(o) >= others {
			return false
		}
	}
	return true
}

// cuts divides the entities into so many ranges of about as many ratings; its ends.
func (r *ratings) cuts(parts int) []int32 {
	n := len(r.Start) - 1
	out := make([]int32, parts)
	for k := range parts - 1 {
		at, _ := slices.BinarySearch(r.Start, int32(int64(len(r.Other))*int64(k+1)/int64(parts)))
		out[k] = int32(min(at, n))
	}
	out[parts-1] = int32(n)
	return out
}

// Interfaces.
var _ family.Message = (*pairs)(nil)
