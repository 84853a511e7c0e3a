package store

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// divider divides the rows of batches by the hash of a table's distribution key, as an
// exchange by the same columns does (exec/exchange.Router).
type divider struct {
	cols   []int // of the batches
	of     int
	hasher *kernel.Hasher
	keys   []arrow.Array
	hash   []uint64
	rows   [][]int32 // by part, of the last batch
}

// newDivider makes the divider of a table's rows, whose columns are those of nums; nil for
// a table without a key.
func newDivider(rel *catalog.Relation, nums []int16) (*divider, error) {
	if len(rel.DistributionKey) == 0 {
		return nil, nil
	}
	d := &divider{of: max(rel.Partitions, 1), keys: make([]arrow.Array, len(rel.DistributionKey))}
	var ts []types.Type
	for _, num := range rel.DistributionKey {
		at, c := slices.Index(nums, num), rel.ColumnNum(num)
		if at < 0 || c == nil {
			return nil, pgerr.Internal("store: a row of %s has no column %d", rel.Name, num)
		}
		d.cols, ts = append(d.cols, at), append(ts, c.Type)
	}
	d.hasher, d.rows = kernel.NewHasher(ts), make([][]int32, d.of)
	return d, nil
}

// Partitions returns what says in which partition of a table a row is, of which it is given the columns of the
// distribution key, of one value each.
func Partitions(rel *catalog.Relation) func(key []arrow.Array) int {
	var ts []types.Type
	for _, num := range rel.DistributionKey {
		ts = append(ts, rel.ColumnNum(num).Type)
	}
	h, of := kernel.NewHasher(ts), max(rel.Partitions, 1)
	return func(key []arrow.Array) int { return kernel.Dest(h.Hash(key, 1, nil)[0], of) }
}

// divide returns the rows of b by part, as numbers of the batch's columns. They are valid until the
// next call.
func (d *divider) divide(b *batch.Batch) [][]int32 {
	for i, c := range d.cols {
		d.keys[i] = b.Cols[c]
	}
	n := 0
	if len(d.keys) > 0 {
		n = d.keys[0].Len()
	}
	d.hash = d.hasher.Hash(d.keys, n, d.hash)
	for p := range d.rows {
		d.rows[p] = d.rows[p][:0]
	}
	put := func(row int32) {
		p := kernel.Dest(d.hash[row], d.of)
		d.rows[p] = append(d.rows[p], row)
	}
	if b.Sel != nil {
		for _, row := range b.Sel {
			put(row)
		}
		return d.rows
	}
	for row := range b.N {
		put(int32(row))
	}
	return d.rows
}

// divided writes the rows of each part by a writer of its own, which is made when it has
// its first row.
type divided struct {
	*divider
	open func(part int) *Writer
	ws   []*Writer // by part
}

func (d *divided) write(ctx context.Context, b *batch.Batch) error {
	for p, rows := range d.divide(b) {
		if len(rows) == 0 {
			continue
		}
		if err := d.writer(p).Write(ctx, &batch.Batch{Cols: b.Cols, N: b.N, Sel: rows, Seq: -1}); err != nil {
			return err
		}
	}
	return nil
}

func (d *divided) writer(part int) *Writer {
	if d.ws == nil {
		d.ws = make([]*Writer, d.of)
	}
	if d.ws[part] == nil {
		w := d.open(part)
		for _, other := range d.ws {
			if other != nil {
				w.inside = other.inside // they go through the log together
			}
		}
		d.ws[part] = w
	}
	return d.ws[part]
}
