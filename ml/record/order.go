package record

import (
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
)

// The rows of a leaf's block are sorted by the hashes of their encoded values: rows
// with different hashes have an order that depends on nothing else, and for equal rows
// it does not matter. Since a hash is random, the order is also the shuffle that
// mini-batches need. A mini-batch is a run of a leaf's rows, and should be a sample of
// them: so copies after the first are placed by a hash of their ordinal.

// order finds the places of rows.
type order struct {
	l    *Layout // a CodedLayout
	seed uint64
	buf  []byte
	rows []hashed
}

// hashed is a row by its hash, and its number.
type hashed struct {
	hi, lo uint64
	n      uint32
}

func newOrder(l *Layout, seed uint64, rows int) *order {
	return &order{l: l, seed: seed, buf: make([]byte, l.stride()), rows: make([]hashed, 0, rows)}
}

// add adds the row of a record.
func (o *order) add(rec []byte) {
	copy(o.buf, rec) // and zeros up to a whole word
	hi, lo := hash128(o.buf, o.seed)
	o.rows = append(o.rows, hashed{hi, lo, uint32(len(o.rows))})
}

// places returns the place of each row.
func (o *order) places() []int32 {
	all := o.rows
	compare := func(a, b hashed) int { return cmp.Or(cmp.Compare(a.hi, b.hi), cmp.Compare(a.lo, b.lo)) }
	slices.SortFunc(all, compare)
	copies := false
	eachRun(len(all), func(i, j int) bool { return compare(all[i], all[j]) == 0 }, func(from, to int) {
		for i := from + 1; i < to; i++ {
			// Twice: numbers that follow each other make products at even distances.
			all[i].hi, copies = fold(fold(all[from].hi^k1, uint64(i-from)^k3)^k0, k2), true
		}
	})
	if copies {
		slices.SortFunc(all, compare)
	}
	at := make([]int32, len(all))
	for i, r := range all {
		at[r.n] = int32(i)
	}
	return at
}

// OrderBytes is the memory that Order takes meanwhile.
func OrderBytes(b *block.Block) int64 { return int64(b.Rows) * orderBytes }

// Order puts the rows of a block into their order, of a training with this seed; weighted says
// that rows have weights of their own.
func Order(b *block.Block, seed uint64, weighted bool) {
	l := CodedLayout(b.Dense, b.Codes, b.X32 != nil, weighted)
	o, rec := newOrder(l, seed, b.Rows), make([]byte, l.fixed)
	for i := range b.Rows {
		l.encodeRow(rec, b, i)
		o.add(rec)
	}
	at := o.places()
	l = CodedLayout(b.Dense, b.Codes, b.X32 != nil, true)
	one, other := make([]byte, l.fixed), make([]byte, l.fixed)
	for i := range at { // each takes the place of another, until that is i's
		if int(at[i]) == i {
			continue
		}
		l.encodeRow(one, b, i)
		to := at[i]
		for at[i] = int32(i); int(to) != i; to, at[to] = at[to], to {
			l.encodeRow(other, b, int(to))
			l.decode(one, b, int(to), nil)
			one, other = other, one
		}
		l.decode(one, b, i, nil)
	}
}
