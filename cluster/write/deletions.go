package write

import (
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
)

// deletions collects the rows that a statement deletes, by segment. Row ids
// hold the segment's number in the statement's snapshot in their upper half
// and the row in their lower (exec/store.RowID).
type deletions struct {
	of    *catalog.Manifest // whose ordinals they are; nil for none
	rows  map[uint32]map[uint32]struct{}
	order []uint32 // ordinals in the order they were met
}

func newDeletions(m *catalog.Manifest) *deletions {
	return &deletions{of: m, rows: map[uint32]map[uint32]struct{}{}}
}

// segment is the one that an ordinal names.
func (d *deletions) segment(ord uint32) *catalog.Segment {
	_, s := store.At(d.of, ord)
	return s
}

// take notes the rows of a batch and gives those that were not noted before: a
// row that a join matched twice is changed once. Rows without an id (the
// inserting half of a MERGE) are left out.
func (d *deletions) take(b *batch.Batch, col int, all bool) *batch.Batch {
	ids := b.Cols[col].(*array.Int64)
	sel := make([]int32, 0, b.Rows())
	for k := 0; k < b.Rows(); k++ {
		row := int32(k)
		if b.Sel != nil {
			row = b.Sel[k]
		}
		if ids.IsNull(int(row)) {
			continue
		}
		id := ids.Value(int(row))
		ord, r := uint32(id>>32), uint32(id)
		m := d.rows[ord]
		if m == nil {
			m = map[uint32]struct{}{}
			d.rows[ord] = m
			d.order = append(d.order, ord)
		}
		if _, dup := m[r]; !dup {
			m[r] = struct{}{}
			sel = append(sel, row)
		}
	}
	if len(sel) == b.Rows() {
		return b
	}
	return &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1}
}

// changes gives the new bitmaps.
func (d *deletions) changes(files Files, rel *catalog.Relation) ([]catalog.Change, error) {
	var out []catalog.Change
	for _, ord := range d.order {
		rows := make([]uint32, 0, len(d.rows[ord]))
		for r := range d.rows[ord] {
			rows = append(rows, r)
		}
		c, err := files.Delete(rel.OID, d.segment(ord), rows)
		if err != nil {
			return nil, err
		}
		if d, ok := c.(*catalog.DeleteRows); ok {
			d.ExpectVersion = rel.Version
		}
		out = append(out, c)
	}
	return out, nil
}
