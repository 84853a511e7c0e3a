package write

import (
	"slices"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The parts of a statement (WITH … AS (UPDATE …)) all read the state from before it. A row that an
// earlier part changed is not changed again: UPDATE and DELETE do not see it, MERGE and ON CONFLICT
// DO UPDATE fail. What conflicts with a proposed row is decided by the keys as they are now: one that
// an earlier part deleted is free, and one that it inserted is taken.

// earlier returns the table as the statement reads it, without the rows that its earlier parts
// changed, nil where there are none; and what of the table is there now, nil where that is the same
// as before: those rows with their ids, then the ones that the earlier parts wrote.
func (r *Executor) earlier(rel *catalog.Relation) (before, there *catalog.Manifest, err error) {
	if r.x.Txn.Known() == r.st {
		return nil, nil, nil
	}
	now, err := r.x.Txn.State()
	if err != nil {
		return nil, nil, err
	}
	was, is := r.st.Manifest(rel.OID), now.Manifest(rel.OID)
	if was == is {
		return nil, nil, nil
	}
	if was == nil {
		was = &catalog.Manifest{Table: rel.OID}
	}
	left := map[catalog.SegmentID]*catalog.Segment{}
	if is != nil {
		for _, part := range is.Partitions {
			for _, g := range part {
				left[g.ID] = g
			}
		}
	}
	out, changed := &catalog.Manifest{Table: was.Table}, false
	for _, part := range was.Partitions {
		segs := make([]*catalog.Segment, len(part)) // a row's id counts all of them
		for i, g := range part {
			n := *g
			if l := left[g.ID]; l != nil {
				n.Deleted, n.DeletedRows = l.Deleted, l.DeletedRows
			} else if n.Deleted, err = allRows(g.Rows); err == nil {
				n.DeletedRows = g.Rows
			}
			if err != nil {
				return nil, nil, err
			}
			delete(left, g.ID)
			changed = changed || n.DeletedRows != g.DeletedRows
			segs[i] = &n
		}
		out.Partitions = append(out.Partitions, segs)
	}
	var written []*catalog.Segment
	if is != nil {
		for _, part := range is.Partitions {
			for _, g := range part {
				if left[g.ID] != nil {
					written = append(written, g)
				}
			}
		}
	}
	if changed {
		before = out
	}
	if changed || len(written) > 0 {
		there = &catalog.Manifest{Table: out.Table, Partitions: append(slices.Clip(out.Partitions), written)}
	}
	return before, there, nil
}

func allRows(n int64) (catalog.RowSet, error) {
	all := roaring.New()
	all.AddRange(0, uint64(n))
	b, err := all.ToBytes()
	if err != nil {
		return catalog.RowSet{}, pgerr.From(err)
	}
	return catalog.RowSetOf(b), nil
}

// seeEarlier looks for what earlier parts of the statement changed of the table.
func (w *ModifyTable) seeEarlier() (err error) {
	w.later = w.r.x.Txn.Known() != w.r.st
	if w.before, w.there, err = w.r.earlier(w.rel); err != nil || w.before == nil || w.d.Kind != plan.UpdateRows && w.d.Kind != plan.DeleteRows {
		return err
	}
	w.reads = map[*plan.Scan]*catalog.Manifest{}
	var find func(n plan.Node)
	find = func(n plan.Node) {
		if s, ok := n.(*plan.Scan); ok && s.Table == w.rel.OID && s.RowID != 0 && (s.RowID == w.d.RowID || w.d.OnConflict != nil) {
			w.reads[s] = w.before
		}
		for _, k := range n.Children() {
			find(k)
		}
	}
	find(w.d.Source)
	return nil
}

// changedEarlier is the error of a row of a segment that an earlier part of the statement changed.
func (w *ModifyTable) changedEarlier(ordinal uint32, rows []byte) error {
	if w.there != nil && w.d.OnConflict != nil {
		if part, _ := store.At(w.there, ordinal); part == len(w.there.Partitions)-1 { // which an earlier part wrote
			return op.ErrConflictTwice()
		}
	}
	if w.before == nil {
		return nil
	}
	mine := roaring.New()
	if err := mine.UnmarshalBinary(rows); err != nil {
		return pgerr.From(err)
	}
	_, seg := store.At(w.before, ordinal)
	again, err := seg.Deleted.Intersects(mine)
	if err != nil || !again {
		return err
	}
	return op.ErrMergedTwice()
}
