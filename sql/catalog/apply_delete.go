package catalog

import (
	"slices"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// maxMoves bounds Manifest.Moved. A writer gets a conflict if more segments than that were compacted since it
// read.
const maxMoves = 2048

func (c *DeleteRows) apply(e *edit) error {
	if err := e.expectTable(c.Table, c.ExpectVersion); err != nil {
		return err
	}
	me, err := e.manifest(c.Table)
	if err != nil {
		return err
	}
	rows, err := readBitmap(c.Rows)
	if err != nil {
		return err
	}
	return me.delete(c.Segment, rows, 0)
}

func (c *LockRows) apply(e *edit) error {
	me, err := e.manifest(c.Table)
	if err != nil {
		return err
	}
	rows, err := readBitmap(c.Rows)
	if err != nil {
		return err
	}
	me.keep = true
	defer func() { me.keep = false }()
	return me.delete(c.Segment, rows, 0)
}

// delete marks rows of a segment as deleted; with keep it only checks that this is possible. If the segment
// was replaced, it marks the same rows in the segments to which they were moved. hops bounds a chain of
// replacements, which comes from stored data and should not be circular.
func (me *manifestEdit) delete(id SegmentID, rows *roaring.Bitmap, hops int) error {
	if rows.IsEmpty() {
		return nil
	}
	p, i, ok := me.find(id)
	if !ok || me.removed[id] {
		at := slices.IndexFunc(me.m.Moved, func(m *Move) bool { return m.Old == id })
		if at < 0 || hops > 64 {
			return conflict("update")
		}
		return me.deleteMoved(me.m.Moved[at], rows, hops)
	}
	s := *me.m.Partitions[p][i]
	if int64(rows.Maximum()) >= s.Rows {
		return pgerr.Internal("catalog: segment %s has no row %d", id, rows.Maximum())
	}
	again, err := s.Deleted.Intersects(rows)
	switch {
	case err != nil:
		return err
	case again:
		return conflict("update")
	case me.keep:
		return nil
	}
	if s.Deleted, err = s.Deleted.with(rows); err != nil {
		return err
	}
	s.DeletedRows += int64(rows.GetCardinality())
	me.put(p, i, &s)
	return nil
}

// deleteMoved finds where rows went: row r, if it was live, was the
// (r − deleted rows before r)th to be moved.
func (me *manifestEdit) deleteMoved(m *Move, rows *roaring.Bitmap, hops int) error {
	gone, err := readBitmap(m.Deleted)
	if err != nil {
		return err
	}
	if gone.Intersects(rows) {
		return conflict("update")
	}
	to, base := 0, int64(0) // rows of m.To before m.To[to]
	var part []uint32
	flush := func() error {
		if to >= len(m.To) || len(part) == 0 {
			return nil
		}
		err := me.delete(m.To[to].ID, roaring.BitmapOf(part...), hops+1)
		part = part[:0]
		return err
	}
	// Both are in ascending order, so one pass over gone counts the deleted rows before each row. One look-up
	// for each row took a second for a commit of a million rows.
	before, skip := int64(0), gone.Iterator()
	for it := rows.Iterator(); it.HasNext(); {
		r := it.Next()
		for skip.HasNext() && skip.PeekNext() < r {
			skip.Next()
			before++
		}
		at := m.From + int64(r) - before
		for to < len(m.To) && at >= base+m.To[to].Rows {
			if err := flush(); err != nil {
				return err
			}
			base += m.To[to].Rows
			to++
		}
		if to == len(m.To) {
			return pgerr.Internal("catalog: a moved row is nowhere")
		}
		part = append(part, uint32(at-base))
	}
	return flush()
}
