package write

import (
	"slices"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// apply adds a statement's deletions and new segments to the transaction and
// notes what foreign keys have to do with them.
func (r *Executor) apply(rel *catalog.Relation, changes []catalog.Change, segs []*catalog.Segment) error {
	f := &r.x.Txn.foreign
	w := &written{rel: rel, keys: f.keys}
	f.keys = nil
	if err := r.write(rel, changes, segs, w.keys); err != nil {
		w.keys.close()
		return err
	}
	child := slices.ContainsFunc(rel.Constraints, func(k catalog.Constraint) bool { return k.Kind == 'f' })
	if !child && len(rel.ReferencedBy) == 0 {
		w.keys.close()
		return nil
	}
	if child && len(segs) > 0 {
		w.fresh = map[catalog.SegmentID]bool{}
		for _, g := range segs {
			w.fresh[g.ID] = true
		}
	}
	f.todo = append(f.todo, w)
	if len(rel.ReferencedBy) == 0 {
		return nil
	}
	var err error
	w.gone, err = removed(r.st.Manifest(rel.OID), changes)
	return err
}

// write adds a statement's deletions and new segments to the transaction,
// after checking unique constraints against both.
func (r *Executor) write(rel *catalog.Relation, changes []catalog.Change, segs []*catalog.Segment, watched *keyWatch) (err error) {
	t, st := r.x.Txn, r.st
	moved := len(changes) > 0 || t.Known() != st // an earlier part of the statement may have made a key
	t.Put(changes...)
	if len(segs) == 0 {
		return nil
	}
	if moved && slices.ContainsFunc(rel.Constraints, func(c catalog.Constraint) bool { return watched.looks(&c) }) {
		if st, err = t.State(); err != nil {
			return err
		}
	}
	keys, err := r.checkUnique(st, rel, segs, watched)
	if err != nil {
		return firstDuplicate(r, rel, watched, segs, st.Manifest(rel.OID), err)
	}
	t.Put(append(Append(st, rel, segs), keys...)...)
	return nil
}

// Append returns the changes that distribute new segments to the partitions of a table: to
// that of their rows' hash, where that decides, else to the one with the fewest rows.
func Append(st *catalog.State, rel *catalog.Relation, segs []*catalog.Segment) []catalog.Change {
	for _, g := range segs {
		g.Xmin = st.Xmin()
	}
	n := max(rel.Partitions, 1)
	if n == 1 {
		return []catalog.Change{&catalog.AppendSegments{Table: rel.OID, Segments: segs, ExpectVersion: rel.Version}}
	}
	rows := make([]int64, n)
	if m := st.Manifest(rel.OID); m != nil {
		for i := range min(n, len(m.Partitions)) {
			rows[i] = m.LiveIn(i)
		}
	}
	byPart := make([][]*catalog.Segment, n)
	for _, g := range segs {
		best := g.Part
		if g.Of != n {
			best = 0
			for i := range rows {
				if rows[i] < rows[best] {
					best = i
				}
			}
		}
		rows[best] += g.Rows
		byPart[best] = append(byPart[best], g)
	}
	var out []catalog.Change
	for i, list := range byPart {
		if len(list) > 0 {
			out = append(out, &catalog.AppendSegments{Table: rel.OID, Part: i, Segments: list, ExpectVersion: rel.Version})
		}
	}
	return out
}

// removed is a manifest of the very rows that changes delete.
func removed(m *catalog.Manifest, changes []catalog.Change) (*catalog.Manifest, error) {
	if m == nil {
		return nil, nil
	}
	rows := map[catalog.SegmentID][]byte{}
	for _, c := range changes {
		if d, ok := c.(*catalog.DeleteRows); ok {
			rows[d.Segment] = d.Rows
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	var segs []*catalog.Segment
	for _, part := range m.Partitions {
		for _, g := range part {
			gone, ok := rows[g.ID]
			if !ok {
				continue
			}
			live := roaring.New()
			if err := live.UnmarshalBinary(gone); err != nil {
				return nil, pgerr.From(err)
			}
			rest := roaring.New()
			rest.AddRange(0, uint64(g.Rows))
			rest.AndNot(live)
			n := *g
			n.DeletedRows = int64(rest.GetCardinality())
			n.Deleted = catalog.RowSet{}
			if n.DeletedRows > 0 {
				b, err := rest.ToBytes()
				if err != nil {
					return nil, pgerr.From(err)
				}
				n.Deleted = catalog.RowSetOf(b)
			}
			segs = append(segs, &n)
		}
	}
	return &catalog.Manifest{Table: m.Table, Partitions: [][]*catalog.Segment{segs}}, nil
}
