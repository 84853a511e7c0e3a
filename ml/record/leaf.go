package record

import (
	"context"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/tempfile"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Leaf is the rows of one leaf.
type Leaf struct {
	Rows     int
	store    *Store
	from, to int             // its buckets
	order    []loc           // of rows in memory
	regions  [][]byte        // what order points into: the store's
	spilled  bool            // they are in the file instead, and brought together to be looked at
	held     []uint64        // rows held out, a bit each; nil for none
	share    float64         // of windows held out
	drawer   *holdout.Drawer // that marked them
	tied     bool            // see View
}

// Finish ends the adding of rows: it must be called after the last of them and
// before the first MakeLeaf. If the memory is not plainly sufficient for what
// comes, the rows go to the file now.
func (s *Store) Finish() error {
	s.mu.Lock()
	var held int64
	for _, sh := range s.shards {
		sh.enc = nil
	}
	if !s.cfg.InPlace {
		s.cfg.Flow = nil // who shares rows out holds them
	}
	onDisk := hasRuns(s.shards)
	for _, r := range s.regions {
		held += int64(len(r))
	}
	all := s.shards
	s.mu.Unlock()
	keep := s.cfg.Flow != nil // they were not Short
	if held > 0 && !keep && (onDisk || s.tight()) {
		return s.spill(all...)
	}
	var g errgroup.Group
	for _, sh := range all {
		g.Go(func() error { return s.distribute(sh, keep) })
	}
	if g.Wait() != nil { // no memory for it
		return s.spill(all...)
	}
	return nil
}

// tight reports whether memory is not plainly sufficient for what comes after the
// adding of rows.
func (s *Store) tight() bool {
	s.mu.Lock()
	asked := s.acct.ShouldSpill()
	s.mu.Unlock()
	return asked || float64(s.cfg.Pool.Used()) > mem.SpillShare*float64(s.cfg.Pool.Limit())
}

// MakeLeaf makes the leaf of buckets [from, to). Where they are in memory the leaf is
// an order of them. Where they are in the file nothing of it is kept, and it is rebuilt
// each time it is opened: the order of many rows takes much memory. All rows must have
// been added, and no other call may use these buckets.
func (s *Store) MakeLeaf(ctx context.Context, from, to int) (*Leaf, error) {
	l := &Leaf{store: s, from: from, to: to}
	s.mu.Lock()
	shards, regions := s.shards, s.regions
	s.mu.Unlock()
	l.spilled = hasRuns(shards) // then all rows are (Finish)
	for bkt := from; bkt < to; bkt++ {
		var here int64
		for _, sh := range shards {
			here += sh.rows[bkt]
		}
		if l.Rows += int(here); here > 0 {
			rows, _ := s.away(bkt)
			l.Rows -= rows
		}
	}
	kept := l.Rows // by the order; for encoded rows without the copies that are spread
	for i := range s.spread {
		l.Rows += int(s.spread[i].copies(l))
	}
	if !s.layout.isCoded() {
		kept = l.Rows
	}
	if s.cfg.Windows != nil && l.Rows > math.MaxInt32 {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "a partition of the training query has too many rows")
	}
	if l.spilled {
		return l, nil
	}
	done, err := l.roomToSort(kept, 0)
	if err != nil {
		return nil, err
	}
	defer done()
	t := s.sorts.take(kept)
	defer s.sorts.Put(t)
	keys := t.keys
	for bkt := from; bkt < to; bkt++ {
		heavy, _ := s.away(bkt)
		for _, sh := range shards {
			for _, d := range sh.distributed {
				if heavy == 0 {
					keys = append(keys, d.of(bkt)...)
					continue
				}
				for _, k := range d.of(bkt) {
					if !s.spreads(k.at.in(regions)) {
						keys = append(keys, k)
					}
				}
			}
		}
	}
	l.regions = append(regions[:len(regions):len(regions)], s.spreadRecs)
	if !s.layout.isCoded() {
		keys = l.spreadKeys(keys, len(regions))
	}
	t.keys = keys
	l.order, l.tied = l.sort(t, l.regions)
	return l, ctx.Err()
}

// roomToSort charges the order of so many rows, and until done is called what sorting
// takes, except lent bytes: the keys, in a keyed store with ranks.
func (l *Leaf) roomToSort(rows int, lent int64) (done func(), err error) {
	n, each := int64(rows), int64(keyBytes)
	if l.store.cfg.Windows != nil {
		each += keyBytes + 8
	}
	sort := max(n*each-lent, 0)
	if err := l.store.grow(n*8 + sort); err != nil {
		return nil, err
	}
	return func() { l.store.shrink(sort) }, nil
}

// gather reads the records of a leaf from the file. The view is charged until release
// is called.
func (l *Leaf) gather(lent int64) (v View, err error) {
	s := l.store
	s.mu.Lock()
	shards := s.shards
	s.mu.Unlock()
	size, err := s.sizeOf(shards, l.from, l.to)
	if err != nil {
		return v, err
	}
	heavy := make([]bool, l.to-l.from)
	for i := range heavy {
		rows, bytes := s.away(l.from + i)
		heavy[i], size = rows > 0, size-bytes
	}
	if err := s.grow(int64(size)); err != nil {
		return v, err
	}
	done, err := l.roomToSort(l.Rows, lent)
	if err != nil {
		s.shrink(int64(size))
		return v, err
	}
	defer done()
	held := int64(size) + 8*int64(l.Rows) // the leaf may be gone when it is released
	v.release = func() { s.shrink(held) }
	slab := make([]byte, 0, size)
	for _, sh := range shards {
		for _, r := range sh.runs {
			if slab, err = s.readRun(slab, r, l.from, l.to, heavy); err != nil {
				v.release()
				return v, err
			}
		}
	}
	t := s.sorts.take(l.Rows)
	defer s.sorts.Put(t)
	t.keys = l.spreadKeys(s.layout.keys(t.keys, slab, 0), 1)
	if len(t.keys) != l.Rows {
		v.release()
		return v, tempfile.ErrDamaged()
	}
	v.regions = [][]byte{slab, s.spreadRecs}
	v.order, v.tied = l.sort(t, v.regions)
	return v, nil
}

// sorting is what an order is made of. Leaves are handed that of those before them: it is
// charged while a leaf uses it, garbage else, and fresh memory would be touched for the first
// time for each, a page at a time.
type sorting struct {
	keys   []key
	ranked []ranked
}

// sortings are the idle ones.
type sortings struct{ sync.Pool }

// take returns one that has no keys, and room for n.
func (s *sortings) take(n int) *sorting {
	t, ok := s.Get().(*sorting)
	if !ok {
		t = &sorting{}
	}
	t.keys = slices.Grow(t.keys[:0], n)
	return t
}

// keys appends the keys of the records in run, the first of which is at at.
func (l *Layout) keys(dst []key, run []byte, at loc) []key {
	for len(run) > 0 {
		n, ok := l.recordLen(run)
		if !ok {
			break // cannot be: only whole records are kept
		}
		dst = append(dst, key{be.Uint64(run), at})
		run = run[n:]
		at += loc(n / 8)
	}
	return dst
}

// sort makes the order: of a keyed store that of values, else any, for blocks have
// an order of their own.
func (l *Leaf) sort(t *sorting, regions [][]byte) (order []loc, tied bool) {
	if w := l.store.cfg.Windows; w != nil {
		return l.sortKeyed(t, w, regions)
	}
	order = make([]loc, len(t.keys))
	for i, k := range t.keys {
		order[i] = k.at
	}
	return order, false
}

// Free frees the leaf's own memory; the leaf is empty then.
func (l *Leaf) Free() {
	l.store.shrink(int64(len(l.order)+len(l.held)) * 8)
	*l = Leaf{store: l.store}
}

// Open returns access to the rows. Close the view; several may be open at once.
func (l *Leaf) Open() (*View, error) { return l.OpenWithin(0) }

// OpenWithin is Open for a caller that has charged lent bytes which are not in use
// before it returns: the rows are sorted within them.
func (l *Leaf) OpenWithin(lent int64) (*View, error) {
	v := View{order: l.order, regions: l.regions, tied: l.tied, release: func() {}}
	if l.spilled {
		var err error
		if v, err = l.gather(lent); err != nil {
			return nil, err
		}
	}
	v.store, v.layout, v.Rows, v.held, v.share, v.keyed = l.store, l.store.layout, l.Rows, l.held, l.share, l.store.cfg.Windows
	return &v, nil
}
