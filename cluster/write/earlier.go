package write

import (
	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The parts of a statement (WITH … AS (UPDATE …)) all read the state from before it. A row that an
// earlier part changed is not changed again: UPDATE and DELETE do not see it, MERGE fails, and
// ON CONFLICT goes by the keys that there are now: a row that has one and is new or changed fails DO
// UPDATE.

// earlier returns the table as the statement reads it, without the rows that its earlier parts
// changed; nil where there are none.
func (r *Executor) earlier(rel *catalog.Relation) (*catalog.Manifest, error) {
	if r.x.Txn.Known() == r.st {
		return nil, nil
	}
	now, err := r.x.Txn.State()
	if err != nil {
		return nil, err
	}
	was, is := r.st.Manifest(rel.OID), now.Manifest(rel.OID)
	if was == is || was == nil {
		return nil, nil
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
				return nil, err
			}
			changed = changed || n.DeletedRows != g.DeletedRows
			segs[i] = &n
		}
		out.Partitions = append(out.Partitions, segs)
	}
	if !changed {
		return nil, nil
	}
	return out, nil
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
	if w.before, err = w.r.earlier(w.rel); err != nil || w.before == nil || w.d.Kind == plan.MergeRows {
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
