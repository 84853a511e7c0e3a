package dataset

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Leaf is the rows of one leaf in canonical order.
type Leaf struct {
	Rows     int
	store    *Store
	from, to int      // its buckets
	order    []loc    // of rows in memory
	regions  [][]byte // what order points into: the store's
	spilled  bool     // they are in the file instead, and brought together to be looked at
	held     []uint64 // rows held out, a bit each; nil for none
	share    float64  // of windows held out
	drawer   *Drawer  // that marked them
}

// Finish ends the adding of rows: it must be called after the last of them and
// before the first Settle. If the memory is not plainly sufficient for what
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
		g.Go(func() error { return s.deal(sh, keep) })
	}
	if g.Wait() != nil { // no memory for it
		return s.spill(all...)
	}
	return nil
}

// tight tells whether memory is not plainly sufficient for what comes after the
// adding of rows.
func (s *Store) tight() bool {
	s.mu.Lock()
	asked := s.acct.ShouldSpill()
	s.mu.Unlock()
	return asked || float64(s.cfg.Pool.Used()) > mem.SpillShare*float64(s.cfg.Pool.Limit())
}

// Settle makes the leaf of buckets [from, to). Where they lie in memory the leaf
// is an order of them. Where they lie in the file nothing is kept of it, and it is
// made anew each time that it is opened: an order of many rows is no little memory.
// All rows must have been added; the caller is the only one to work on these
// buckets.
func (s *Store) Settle(ctx context.Context, from, to int) (*Leaf, error) {
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
	for i := range s.spread {
		a, b := s.spread[i].ordinals(l)
		l.Rows += int(b - a)
	}
	if s.cfg.Windows != nil && l.Rows > math.MaxInt32 {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "a partition of the training query has too many rows")
	}
	if l.spilled {
		return l, nil
	}
	done, err := l.roomToSort()
	if err != nil {
		return nil, err
	}
	defer done()
	keys := make([]key, 0, l.Rows)
	for bkt := from; bkt < to; bkt++ {
		heavy, _ := s.away(bkt)
		for _, sh := range shards {
			for _, d := range sh.dealt {
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
	l.order = l.sort(l.spreadKeys(keys, len(regions)), l.regions)
	return l, ctx.Err()
}

// roomToSort charges the order, and until done is called what making it takes:
// twice the keys, of a keyed store with ranks.
func (l *Leaf) roomToSort() (done func(), err error) {
	n, keys2 := int64(l.Rows), int64(2*keyBytes)
	if l.store.cfg.Windows != nil {
		keys2 += 8
	}
	if err := l.store.grow(n * (8 + keys2)); err != nil {
		return nil, err
	}
	return func() { l.store.shrink(n * keys2) }, nil
}

// gather brings together the records of a leaf in the file. What it gives is
// charged until release is called.
func (l *Leaf) gather() (order []loc, regions [][]byte, release func(), err error) {
	s := l.store
	s.mu.Lock()
	shards := s.shards
	s.mu.Unlock()
	size, err := s.sizeOf(shards, l.from, l.to)
	if err != nil {
		return nil, nil, nil, err
	}
	heavy := make([]bool, l.to-l.from)
	for i := range heavy {
		rows, bytes := s.away(l.from + i)
		heavy[i], size = rows > 0, size-bytes
	}
	if err := s.grow(int64(size)); err != nil {
		return nil, nil, nil, err
	}
	done, err := l.roomToSort()
	if err != nil {
		s.shrink(int64(size))
		return nil, nil, nil, err
	}
	defer done()
	held := int64(size) + 8*int64(l.Rows) // the leaf may be gone when it is released
	release = func() { s.shrink(held) }
	slab := make([]byte, 0, size)
	for _, sh := range shards {
		for _, r := range sh.runs {
			if slab, err = s.readRun(slab, r, l.from, l.to, heavy); err != nil {
				release()
				return nil, nil, nil, err
			}
		}
	}
	keys := l.spreadKeys(s.layout.keys(make([]key, 0, l.Rows), slab, 0), 1)
	if len(keys) != l.Rows {
		release()
		return nil, nil, nil, errDamaged()
	}
	regions = [][]byte{slab, s.spreadRecs}
	return l.sort(keys, regions), regions, release, nil
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

// whole cuts b to the record it starts with.
func (l *Layout) whole(b []byte) []byte {
	n, _ := l.recordLen(b)
	return b[:n]
}

// sort makes the order. Hashes being uniform, the bits after those that all
// keys of the leaf share put nearly every key in its place; the rest is left to
// a comparison within each place.
func (l *Leaf) sort(keys []key, regions [][]byte) (order []loc) {
	n := len(keys)
	if w := l.store.cfg.Windows; w != nil {
		return l.sortKeyed(keys, w, regions)
	}
	order = make([]loc, n)
	if l.store.cfg.InPlace {
		for i, k := range keys {
			order[i] = k.at
		}
		return order
	}
	compare := func(a, b key) int { return l.store.layout.compare(a, b, regions) }
	width := bits.Len(uint(max(n-1, 1)))
	shared := l.shared()
	place := func(k key) uint64 { return k.hi << shared >> (64 - width) }
	ends := make([]uint32, 1<<width)
	for _, k := range keys {
		ends[place(k)]++
	}
	sum := uint32(0)
	for i, c := range ends {
		ends[i] = sum
		sum += c
	}
	sorted := make([]key, n)
	for _, k := range keys {
		p := place(k)
		sorted[ends[p]] = k
		ends[p]++
	}
	at, copies := uint32(0), false
	for _, end := range ends {
		if end-at > 1 {
			slices.SortFunc(sorted[at:end], compare)
			copies = partCopies(sorted[at:end], shared, compare) || copies
		}
		at = end
	}
	if copies {
		slices.SortFunc(sorted, compare)
	}
	for i, k := range sorted {
		order[i] = k.at
	}
	return order
}

// shared is how many of the first bits of their hashes a leaf's rows share.
func (l *Leaf) shared() int { return bucketBits - bits.Len(uint(l.to-l.from-1)) }

// partCopies gives the copies of a row, neighbours in keys, places of their own in the
// leaf, by their ordinals: a mini-batch is a run of a leaf's rows, and should be a
// sample of them. shared bits are the leaf's. It tells whether there are copies.
func partCopies(keys []key, shared int, compare func(a, b key) int) (copies bool) {
	runs(len(keys), func(i, j int) bool { return compare(keys[i], keys[j]) == 0 }, func(from, to int) {
		for i := from + 1; i < to; i++ {
			keys[i].hi = copyPlace(keys[from].hi, i-from, shared)
			copies = true
		}
	})
	return copies
}

// copyPlace is what the copy of this ordinal of a row stands by.
func copyPlace(hi uint64, ordinal, shared int) uint64 {
	place := fold(hi^k1, uint64(ordinal)^k3)
	return hi>>(64-shared)<<(64-shared) | place>>shared
}

func (l *Layout) compare(a, b key, regions [][]byte) int {
	if c := cmp.Compare(a.hi, b.hi); c != 0 {
		return c
	}
	return bytes.Compare(l.whole(a.at.in(regions)), l.whole(b.at.in(regions)))
}

// Free gives the leaf's own memory back; the leaf is empty then.
func (l *Leaf) Free() {
	l.store.shrink(int64(len(l.order)+len(l.held)) * 8)
	*l = Leaf{store: l.store}
}

// Open gives access to the rows. Close the view; several may be open at once.
func (l *Leaf) Open() (*View, error) {
	v := &View{layout: l.store.layout, Rows: l.Rows, order: l.order, regions: l.regions, release: func() {},
		held: l.held, share: l.share, keyed: l.store.cfg.Windows}
	if l.spilled {
		order, regions, release, err := l.gather()
		if err != nil {
			return nil, err
		}
		v.order, v.regions, v.release = order, regions, release
	}
	return v, nil
}
