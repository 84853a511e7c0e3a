package store

import (
	"context"
	"io"
	"slices"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Row reads the columns of a scan, whose filter is not applied, of the row that has a key: a batch of one row without a
// selection, or nil if there is none. known is false where this node's indexes do not tell which row it is; then the scan must
// be opened.
//
//	key → marks, indexes → segment, row → the row's columns
func (p *Pin) Row(ctx context.Context, m *catalog.Manifest, s *plan.Scan, k *Key) (b *batch.Batch, known bool, err error) {
	at := make([]int, len(k.nums)) // of the key's columns in the scan's
	for i, n := range k.nums {
		if at[i] = slices.IndexFunc(s.Cols, func(c plan.Column) bool { return c.Num == n }); at[i] < 0 {
			return nil, false, nil
		}
	}
	elsewhere := false
	for c := range p.candidates(ctx, m, k, p.here(k, &elsewhere)) {
		if !c.known {
			return nil, false, nil
		}
		for _, row := range c.rows {
			if b, err = p.keyRow(ctx, s, &c, row, k, at); b != nil || err != nil {
				return b, true, err
			}
		}
	}
	return nil, !elsewhere, nil
}

// keyRow reads a row of a candidate; nil if it was deleted or has another key of the same hash.
func (p *Pin) keyRow(ctx context.Context, s *plan.Scan, c *candidate, row uint32, k *Key, at []int) (*batch.Batch, error) {
	sp := &op.Split{Segment: c.segment, Ordinal: c.ordinal, From: int64(row), To: int64(row) + 1}
	r, err := p.reader(ctx, s, sp, &wholeKey)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.key = k.only; r.key != nil {
		r.keyCol = at[0]
	}
	b, err := r.Next(ctx)
	if err == io.EOF {
		return nil, nil
	}
	if err != nil || r.key != nil {
		return b, err
	}
	for i, c := range at {
		t := s.Cols[c].Type
		if d := types.DatumAt(t, b.Cols[c], 0); d == nil || types.Compare(t, d, k.vals[i]) != 0 {
			return nil, nil
		}
	}
	return b, nil
}
