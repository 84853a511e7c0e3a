package record

import (
	"bytes"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
)

// Rows of windows that are distributed encoded (Keyed) make the block that they would make
// of the rows as they came: partition after partition, each in its order. Rows that nothing
// orders but their bytes stand in the order of what a block has of them, wherever it is made:
// which of them is which does not matter then.

// Mark has a block of a view's rows say where its windows begin, or its partitions where these are whole.
func (w *Windows) Mark(b *block.Block, rows *View) {
	if w.Whole {
		b.Groups = rows.first
		return
	}
	b.Windows, b.Length = rows.first, w.Length
}

// place writes what says where row i belongs: the hash of its partition, and its ranks.
func (v *View) place(rec []byte, i int) {
	from := v.rec(i)
	copy(rec, from[:block.HashBytes])
	for k, c := range v.by {
		le.PutUint64(rec[block.HashBytes+8*k:], v.layout.rank(from, c))
	}
}

// OrderTies puts rows of a block that was made of the view, of windows, into the order of their
// bytes where these alone order them. weighted means that rows have weights of their own.
func (v *View) OrderTies(b *block.Block, weighted bool) {
	if !v.tied {
		return
	}
	l, w := CodedLayout(b.Dense, b.Codes, b.X32 != nil, weighted), v.keyed
	same := func(i, j int) bool {
		x, y := v.rec(i), v.rec(j)
		return v.layout.comparePartitions(x, y, w.Partition) == 0 && v.layout.compareOrder(x, y, w.Order) == 0
	}
	eachRun(v.Rows, same, func(from, to int) {
		if to-from == 1 {
			return
		}
		recs, slab := make([][]byte, to-from), make([]byte, (to-from)*l.stride())
		for i := range recs {
			recs[i] = slab[i*l.stride():][:l.fixed]
			l.encodeRow(recs[i], b, from+i)
		}
		slices.SortFunc(recs, bytes.Compare)
		for i, rec := range recs {
			l.decode(rec, b, from+i, nil)
		}
	})
}

// Series makes the block of the encoded rows of windows. The block is paid for.
func (l *Leaf) Series() (*block.Block, error) {
	v, err := l.OpenWithin(l.CodedBytes())
	if err != nil {
		return nil, err
	}
	defer v.Close()
	c := &l.store.layout.coded
	rows, _ := v.Split()
	b := block.New(rows.Rows, c.dense, c.codes, c.narrow)
	for i := range rows.Rows {
		l.store.layout.decode(rows.rec(i), b, i, nil)
	}
	l.store.cfg.Windows.Mark(b, rows)
	return b, nil
}
