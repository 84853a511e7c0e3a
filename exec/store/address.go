package store

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// system makes a system column of n rows from at on, which the segment does not store.
func (r *reader) system(num int16, n int) (arrow.Array, error) {
	switch {
	case num == plan.Xmin:
		return xmins(r.ref, n), nil
	case num != plan.CTID:
		return nil, pgerr.Internal("store: a scan reads the system column %d", num)
	case r.ref.First == 0:
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "rows of table \"%s\" have no ctid", r.scan.Name).
			WithDetail("They were written by an earlier version.").WithHint("An UPDATE of the rows gives them one.")
	}
	out, first := make([]int64, n), r.ref.First-1+uint64(r.at)
	for i := range out {
		out[i] = types.TIDAt(first + uint64(i))
	}
	return batch.FromSlice(types.TID.Arrow(), out, nil), nil
}

// xmins is the column of n rows of a segment whose rows one statement wrote.
func xmins(g *catalog.Segment, n int) arrow.Array {
	out := make([]uint32, n)
	for i := range out {
		out[i] = max(g.Xmin, catalog.FrozenXmin)
	}
	return batch.FromSlice(types.XID.Arrow(), out, nil)
}
