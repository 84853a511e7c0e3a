package write

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// foundKeys are keys of a constraint by which a statement has looked up the table's rows, as MERGE does to
// decide about its given rows. Who writes a row with one of them need not look again.
type foundKeys struct {
	of   *catalog.Constraint
	list []foundKey
}

type foundKey struct {
	key []types.Datum
	row int64 // the row's id; lacking for none
}

const (
	lacking = -1
	unknown = -2
)

// add notes a look-up. there is the row, nil for none, with its id in column rowid, negative where it has none.
func (f *foundKeys) add(key []types.Datum, there *batch.Batch, rowid int) {
	if slices.Contains(key, nil) { // nothing was looked up
		return
	}
	k := foundKey{key, lacking}
	if there != nil {
		k.row = unknown
		if rowid >= 0 {
			k.row = there.Cols[rowid].(*array.Int64).Value(0)
		}
	}
	f.list = append(f.list, k)
}

// watchFound notes that the new rows of segs need not be looked up, if each has a key of its own of those found, which
// no row has or only one that the statement deletes. The former are claimed: who writes the key of the latter
// meets the deletion.
func (w *ModifyTable) watchFound(segs []*catalog.Segment) {
	k := w.r.x.Txn.foreign.keys
	if w.found == nil || k == nil || len(k.few) == 0 || w.found.of.NullsNotDistinct {
		return
	}
	rows := int64(0)
	for _, g := range segs {
		rows += g.Rows
	}
	if rows != int64(len(k.few)) {
		return
	}
	claim, keys := claimed(w.r.st, w.rel, w.found.of, k, k.few)
	if len(claim.Hashes) < len(keys) || len(keys) < len(k.few) {
		return
	}
	var fresh, replaced [][]types.Datum
	for i, key := range keys {
		same := func(f foundKey) bool {
			for i, num := range w.found.of.Columns {
				if types.Compare(w.live[k.column(num)].Type, f.key[i], key[i]) != 0 {
					return false
				}
			}
			return true
		}
		at := slices.IndexFunc(w.found.list, same)
		switch {
		case at >= 0 && w.found.list[at].row == lacking:
			fresh = append(fresh, k.few[i])
		case at >= 0 && w.found.list[at].row >= 0 && w.old.Contains(w.found.list[at].row):
			replaced = append(replaced, k.few[i])
		default:
			return
		}
	}
	k.few, k.fresh, k.lookedUp = append(fresh, replaced...), len(fresh), append(k.lookedUp, w.found.of.OID)
}
