package catalog

import (
	"slices"
	"sync/atomic"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// tail records how much of a partition's backing array is in use. Manifests of successive states share the
// array. An edit that can advance claimed from its own length may append in place, since no other slice
// reaches there; any other edit copies the array. So committed states append without copying, while a
// transaction's view of its own rows, or a rejected commit, costs one copy.
type tail struct{ claimed atomic.Int64 }

// fewFinds is how many segments an edit searches for before it makes an index.
const fewFinds = 4

// manifestEdit is a manifest being built.
type manifestEdit struct {
	m        *Manifest
	owned    []bool // partitions whose backing array is this edit's alone
	at       map[SegmentID][2]int
	finds    int
	removed  map[SegmentID]bool // left with no live row
	gone     []*Segment         // the same
	emptied  [][2]int           // their places, unless
	shifted  bool               // some have others since
	appended bool
	deleted  bool
	keep     bool // see delete
}

// manifest begins to change a table's manifest.
func (e *edit) manifest(table types.OID) (*manifestEdit, error) {
	if me := e.manifests[table]; me != nil {
		return me, nil
	}
	old := e.s.manifests[table]
	if old == nil {
		return nil, conflict("delete")
	}
	m := *old
	m.Version = e.version
	m.Partitions = slices.Clone(old.Partitions)
	m.tails = slices.Clone(old.tails)
	m.count()
	me := &manifestEdit{m: &m, owned: make([]bool, len(m.Partitions))}
	if e.manifests == nil {
		e.manifests = map[types.OID]*manifestEdit{}
	}
	e.manifests[table] = me
	writable(e, mapManifests, &e.s.manifests)[table] = &m
	return me, nil
}

// finish removes emptied segments and sets the manifest's version.
func (me *manifestEdit) finish(e *edit) {
	if me.appended {
		me.m.Appended = e.version
	}
	if me.deleted {
		me.m.Removed = e.version
	}
	e.bury(me.m.Table, e.s.relations[me.m.Table], me.gone...)
	me.takeOut()
	for p, own := range me.owned {
		if own {
			me.m.tails[p] = &tail{}
			me.m.tails[p].claimed.Store(int64(len(me.m.Partitions[p])))
		}
	}
}

// takeOut removes the emptied segments. If they are few, their places are known, so that an UPDATE of one row
// need not visit the segments of all other rows.
func (me *manifestEdit) takeOut() {
	if me.shifted || len(me.emptied) > fewFinds {
		gone := func(s *Segment) bool { return me.removed[s.ID] }
		for p, segs := range me.m.Partitions {
			if slices.ContainsFunc(segs, gone) {
				me.writable(p, 0)
				me.m.Partitions[p] = slices.DeleteFunc(me.m.Partitions[p], gone)
			}
		}
		return
	}
	slices.SortFunc(me.emptied, func(a, b [2]int) int { return slices.Compare(b[:], a[:]) })
	for _, at := range me.emptied { // the last ones first
		me.m.Partitions[at[0]] = slices.Delete(me.m.Partitions[at[0]], at[1], at[1]+1)
	}
}

// set replaces a partition's list by one that is private to this edit.
func (me *manifestEdit) set(p int, segs []*Segment) {
	me.m.Partitions[p], me.owned[p] = segs, true
	me.m.live[p] = liveRows(segs)
	me.at, me.shifted = nil, true
}

// writable makes a partition's list private to this edit, with room for some more segments.
func (me *manifestEdit) writable(p, room int) {
	if me.owned[p] {
		return
	}
	old := me.m.Partitions[p]
	me.m.Partitions[p] = append(make([]*Segment, 0, len(old)+max(room, len(old)/8, 16)), old...)
	me.owned[p] = true
}

// resize changes the table to n partitions. Segments of dropped partitions are added to the others,
// in turn.
func (me *manifestEdit) resize(n int) {
	from := me.m.Partitions
	me.m.Partitions, me.m.tails, me.owned = make([][]*Segment, n), make([]*tail, n), make([]bool, n)
	me.m.live = make([]int64, n)
	for p, segs := range from {
		me.set(p%n, append(me.m.Partitions[p%n], slices.Clone(segs)...))
	}
}

// number returns copies of new segments with numbers for their rows. Segments in the log from before Xmin
// existed get no numbers, since another node may have applied them without.
func (me *manifestEdit) number(e *edit, segs []*Segment) []*Segment {
	next, base := &me.m.Next, uint64(0)
	if !e.commit {
		next, base = &me.m.own, ownRows
	}
	out := make([]*Segment, len(segs))
	for i, s := range segs {
		if out[i] = s; s.Xmin != 0 {
			c := *s
			c.First = base + *next + 1
			*next += uint64(s.Rows)
			out[i] = &c
		}
	}
	return out
}

func (me *manifestEdit) append(p int, segs []*Segment) {
	old, t := me.m.Partitions[p], me.m.tails[p]
	n := len(old)
	if me.owned[p] || n+len(segs) > cap(old) || t == nil || !t.claimed.CompareAndSwap(int64(n), int64(n+len(segs))) {
		me.writable(p, n+2*len(segs))
	}
	me.m.Partitions[p] = append(me.m.Partitions[p], segs...)
	me.m.live[p] += liveRows(segs)
	if me.at != nil {
		for i, s := range segs {
			me.at[s.ID] = [2]int{p, n + i}
		}
	}
}

// find returns a segment's place. The first few are searched for from both ends, since a row is usually in a
// large old segment or in a small new one. For more an index is made, since a DELETE may touch many segments.
func (me *manifestEdit) find(id SegmentID) (p, i int, ok bool) {
	if me.finds++; me.at == nil && me.finds <= fewFinds {
		for p, segs := range me.m.Partitions {
			for i, j := 0, len(segs)-1; i <= j; i, j = i+1, j-1 {
				if segs[i].ID == id {
					return p, i, true
				}
				if segs[j].ID == id {
					return p, j, true
				}
			}
		}
		return 0, 0, false
	}
	if me.at == nil {
		me.at = map[SegmentID][2]int{}
		for p, segs := range me.m.Partitions {
			for i, s := range segs {
				me.at[s.ID] = [2]int{p, i}
			}
		}
	}
	at, ok := me.at[id]
	return at[0], at[1], ok
}

// swap puts another segment in a place, copying the list first.
func (me *manifestEdit) swap(p, i int, s *Segment) {
	me.writable(p, 0)
	me.m.live[p] += s.Live() - me.m.Partitions[p][i].Live()
	me.m.Partitions[p][i] = s
}

func (e *edit) expectTable(table types.OID, version uint64) error {
	if version == 0 {
		return nil
	}
	r := e.s.relations[table]
	if r == nil {
		return conflict("delete")
	}
	if r.Version != version {
		return conflict("update").WithDetail("The definition of %q has changed.", r.Name)
	}
	return nil
}

func (c *AppendSegments) apply(e *edit) error {
	if err := e.expectTable(c.Table, c.ExpectVersion); err != nil {
		return err
	}
	me, err := e.manifest(c.Table)
	if err != nil {
		return err
	}
	if c.Part < 0 || c.Part >= len(me.m.Partitions) {
		return pgerr.Internal("catalog: table %d has no partition %d", c.Table, c.Part)
	}
	if err := e.unknown(me, c.Segments); err != nil {
		return err
	}
	me.append(c.Part, me.number(e, c.Segments))
	me.appended = true
	return nil
}

// unknown refuses to commit a file that the table already has or recently had: its rows would count twice or
// reappear. Inline rows are part of the commit, which is applied once.
func (e *edit) unknown(me *manifestEdit, segs []*Segment) error {
	if !e.commit {
		return nil
	}
	var files map[SegmentID]bool
	for _, s := range segs {
		if s.Inline == nil {
			if files == nil {
				files = map[SegmentID]bool{}
			}
			if files[s.ID] {
				return knownSegment(s.ID)
			}
			files[s.ID] = true
		}
	}
	if len(files) == 0 {
		return nil
	}
	for _, p := range me.m.Partitions {
		for _, s := range p {
			if files[s.ID] {
				return knownSegment(s.ID)
			}
		}
	}
	for _, m := range me.m.Moved {
		if files[m.Old] {
			return knownSegment(m.Old)
		}
	}
	return nil
}

func knownSegment(id SegmentID) error {
	return pgerr.Internal("catalog: segment %s was committed before", id)
}

func (c *ReplaceSegments) apply(e *edit) error {
	me, err := e.manifest(c.Table)
	if err == nil {
		err = e.unknown(me, c.New)
	}
	if err != nil {
		return err
	}
	if c.Part < 0 || c.Part >= len(me.m.Partitions) {
		return conflict("update") // the table has fewer partitions since
	}
	segs := me.m.Partitions[c.Part]
	at := make(map[SegmentID]int, len(c.Old)) // of those to be replaced alone: the list is long
	for _, r := range c.Old {
		at[r.ID] = -1
	}
	first := -1
	for i, s := range segs {
		if _, ok := at[s.ID]; ok {
			if at[s.ID] = i; first < 0 {
				first = i
			}
		}
	}
	var moves []*Move
	var live, written int64
	to := make([]MoveTo, 0, len(c.New))
	for _, n := range c.New {
		to = append(to, MoveTo{n.ID, n.Rows})
		written += n.Rows
	}
	for _, r := range c.Old {
		i := at[r.ID]
		if i < 0 || me.removed[r.ID] {
			return conflict("delete")
		}
		o := segs[i]
		if o.DeletedRows != r.DeletedRows {
			return conflict("update")
		}
		e.bury(c.Table, e.s.relations[c.Table], o)
		moves = append(moves, &Move{Old: o.ID, Deleted: o.Deleted.Portable(), From: live, To: to})
		live += o.Live()
	}
	fresh := me.number(e, c.New)
	out := make([]*Segment, 0, len(segs)-len(c.Old)+len(fresh))
	for i, s := range segs {
		if i == first {
			out = append(out, fresh...)
		}
		if _, ok := at[s.ID]; !ok {
			out = append(out, s)
		}
	}
	if first < 0 {
		out = append(out, fresh...)
	}
	me.set(c.Part, out)
	if live == written {
		all := slices.Concat(me.m.Moved, moves) // the moves alone may be more than are kept
		me.m.Moved = all[max(0, len(all)-maxMoves):]
	}
	return nil
}

func (c *SetDeleted) apply(e *edit) error {
	me, err := e.manifest(c.Table)
	if err != nil {
		return err
	}
	p, i, ok := me.find(c.Segment)
	if !ok || me.removed[c.Segment] {
		return conflict("update")
	}
	s := *me.m.Partitions[p][i]
	if s.DeletedRows != c.ExpectDeletedRows || c.Rows < s.DeletedRows || c.Rows > s.Rows {
		return conflict("update")
	}
	s.Deleted, s.DeletedRows = RowSetOf(c.Bitmap), c.Rows
	me.put(p, i, &s)
	return nil
}

// put puts a segment with new deleted rows in its place.
func (me *manifestEdit) put(p, i int, s *Segment) {
	me.swap(p, i, s)
	me.deleted = true
	if s.Live() == 0 {
		if me.removed == nil {
			me.removed = map[SegmentID]bool{}
		}
		me.removed[s.ID] = true
		me.gone = append(me.gone, s)
		me.emptied = append(me.emptied, [2]int{p, i})
	}
}

func (c *Truncate) apply(e *edit) error {
	if err := e.expectTable(c.Table, c.ExpectVersion); err != nil {
		return err
	}
	me, err := e.manifest(c.Table)
	if err != nil {
		return err
	}
	e.buryAll(e.s.relations[c.Table], me.m)
	for p := range me.m.Partitions {
		me.set(p, nil)
	}
	me.m.Moved = nil
	me.deleted = true
	return nil
}

func (c *SetNodes) apply(e *edit) error {
	if e.s.manifests[c.Table] == nil {
		return nil
	}
	me, err := e.manifest(c.Table)
	if err != nil {
		return err
	}
	if p, i, ok := me.find(c.Segment); ok {
		s := *me.m.Partitions[p][i]
		s.Nodes = heldBy(s.Nodes, c.Nodes)
		me.swap(p, i, &s)
		e.s.moved = e.version
	}
	return nil
}

// forgetNode removes a node from the segments of a table.
func (e *edit) forgetNode(table types.OID, node uint64) {
	for p, segs := range e.s.manifests[table].Partitions {
		for i, s := range segs {
			if slices.Contains(s.Nodes, node) {
				me, err := e.manifest(table)
				if err != nil {
					return
				}
				n := *s
				n.Nodes = slices.DeleteFunc(slices.Clone(s.Nodes), func(x uint64) bool { return x == node })
				me.swap(p, i, &n)
			}
		}
	}
}

func (c *Guard) apply(e *edit) error {
	m := e.base.manifests[c.Table]
	if m == nil {
		if e.s.manifests[c.Table] != nil {
			return nil // made by this commit
		}
		return conflict("delete")
	}
	if c.Appends && m.Appended > c.Since || c.Deletes && m.Removed > c.Since {
		return conflict("update")
	}
	return nil
}
