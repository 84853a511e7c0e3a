package dataset

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"math"
	"math/bits"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Leaf is the rows of one leaf in canonical order.
type Leaf struct {
	Rows    int
	store   *Store
	order   []loc
	regions [][]byte // what order points into: the store's regions, or one slab of its own
	slab    int64    // bytes charged for the slab
	disk    *extent  // the slab lies there instead
	held    []uint64 // rows held out, a bit each; nil for none
	share   float64  // of windows held out
}

// Finish ends the adding of rows: it must be called after the last of them and
// before the first Settle. If the memory is not plainly sufficient for what
// comes, the rows go to the file now.
func (s *Store) Finish() error {
	s.mu.Lock()
	var held int64
	onDisk := false
	for _, sh := range s.shards {
		sh.enc = nil
		onDisk = onDisk || sh.disk != nil
	}
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
	return s.shouldSpill() || float64(s.cfg.Pool.Used()) > mem.SpillShare*float64(s.cfg.Pool.Limit())
}

// Settle makes the leaf of buckets [from, to). Where they lie in memory the
// leaf is an order of them; where some lie in the file they are all brought
// together in a new slab, in memory or, where that is scarce, mapped.
// All rows must have been added; the caller is the only one to work on these
// buckets.
func (s *Store) Settle(ctx context.Context, from, to int) (*Leaf, error) {
	l := &Leaf{store: s}
	s.mu.Lock()
	shards, regions := s.shards, s.regions
	s.mu.Unlock()
	disk := false
	for _, sh := range shards {
		for bkt := from; bkt < to; bkt++ {
			l.Rows += int(sh.rows[bkt])
			disk = disk || sh.disk != nil && len(sh.disk[bkt]) > 0
		}
	}
	if s.cfg.Windows != nil && l.Rows > math.MaxInt32 {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "a partition of the training query has too many rows")
	}
	// The order, and while it is made twice the keys, of a keyed store with ranks.
	n, keys2 := int64(l.Rows), int64(2*keyBytes)
	if s.cfg.Windows != nil {
		keys2 += 8
	}
	if err := s.grow(n * (8 + keys2)); err != nil {
		return nil, err
	}
	defer s.shrink(n * keys2)
	if disk {
		return s.gather(ctx, l, shards, from, to)
	}
	keys := make([]key, 0, l.Rows)
	for _, sh := range shards {
		for _, d := range sh.dealt {
			for bkt := from; bkt < to; bkt++ {
				keys = append(keys, d.of(bkt)...)
			}
		}
	}
	l.regions = regions
	l.sort(keys, from, to)
	return l, ctx.Err()
}

// gather makes a leaf whose records lie partly in the file.
func (s *Store) gather(ctx context.Context, l *Leaf, shards []*shard, from, to int) (*Leaf, error) {
	s.mu.Lock()
	regions := s.regions
	s.mu.Unlock()
	size := 0
	for _, sh := range shards {
		for bkt := from; bkt < to; bkt++ {
			for _, d := range sh.dealt {
				for _, k := range d.of(bkt) {
					size += len(s.layout.whole(k.at.in(regions)))
				}
			}
			if sh.disk != nil {
				for _, e := range sh.disk[bkt] {
					size += e.len
				}
			}
		}
	}
	if err := s.grow(int64(size)); err != nil {
		return nil, err
	}
	l.slab = int64(size)
	buf := make([]byte, 0, size)
	for bkt := from; bkt < to; bkt++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, sh := range shards {
			for _, d := range sh.dealt {
				for _, k := range d.of(bkt) {
					buf = append(buf, s.layout.whole(k.at.in(regions))...)
				}
				d.gone[bkt] = true
			}
			if sh.disk == nil {
				continue
			}
			for _, e := range sh.disk[bkt] {
				n := len(buf)
				buf = buf[:n+e.len]
				if err := s.file.read(e, buf[n:]); err != nil {
					return nil, err
				}
			}
			sh.disk[bkt] = nil // read once; the file's space comes back with the file
		}
	}
	l.regions = [][]byte{buf}
	l.sort(s.layout.keys(make([]key, 0, l.Rows), buf, 0), from, to)
	if !s.shouldSpill() && s.cfg.Pool.Used() < s.cfg.Pool.Limit()/2 {
		return l, nil
	}
	// Written in order, so that reading it later is sequential.
	at := 0
	e, err := s.file.stream(size, fileAlign, func(w io.Writer) error {
		for i, p := range l.order {
			rec := s.layout.whole(p.in(l.regions))
			if _, err := w.Write(rec); err != nil {
				return err
			}
			l.order[i] = loc(at / 8)
			at += len(rec)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.cfg.Pool.AddSpilled(l.slab)
	s.shrink(l.slab)
	l.disk, l.regions, l.slab = &e, nil, 0
	return l, nil
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
func (l *Leaf) sort(keys []key, from, to int) {
	n := len(keys)
	if w := l.store.cfg.Windows; w != nil {
		l.sortKeyed(keys, w)
		return
	}
	if l.store.cfg.InPlace {
		l.order = make([]loc, n)
		for i, k := range keys {
			l.order[i] = k.at
		}
		return
	}
	width := bits.Len(uint(max(n-1, 1)))
	shared := bucketBits - bits.Len(uint(to-from-1))
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
			slices.SortFunc(sorted[at:end], l.compare)
			copies = l.part(sorted[at:end], shared) || copies
		}
		at = end
	}
	if copies {
		slices.SortFunc(sorted, l.compare)
	}
	l.order = make([]loc, n)
	for i, k := range sorted {
		l.order[i] = k.at
	}
}

// part gives the copies of a row, neighbours in keys, places of their own in the
// leaf, by their ordinals: a mini-batch is a run of a leaf's rows, and should be a
// sample of them. shared bits are the leaf's. It tells whether there are copies.
func (l *Leaf) part(keys []key, shared int) (copies bool) {
	runs(len(keys), func(i, j int) bool { return l.compare(keys[i], keys[j]) == 0 }, func(from, to int) {
		for i := from + 1; i < to; i++ {
			place := fold(keys[from].hi^k1, uint64(i-from)^k3)
			keys[i].hi = keys[from].hi>>(64-shared)<<(64-shared) | place>>shared
			copies = true
		}
	})
	return copies
}

func (l *Leaf) compare(a, b key) int {
	if c := cmp.Compare(a.hi, b.hi); c != 0 {
		return c
	}
	lay := l.store.layout
	return bytes.Compare(lay.whole(a.at.in(l.regions)), lay.whole(b.at.in(l.regions)))
}

// Free gives the leaf's own memory back; the leaf is empty then.
func (l *Leaf) Free() {
	l.store.shrink(l.slab + int64(len(l.order)+len(l.held))*8)
	*l = Leaf{store: l.store}
}

// Open gives access to the rows. Close the view; several may be open at once.
func (l *Leaf) Open() (*View, error) {
	v := &View{layout: l.store.layout, Rows: l.Rows, order: l.order, regions: l.regions, release: func() {},
		held: l.held, share: l.share, keyed: l.store.cfg.Windows}
	if l.disk != nil {
		b, release, err := l.store.file.mapped(*l.disk)
		if err != nil {
			return nil, err
		}
		v.regions, v.release = [][]byte{b}, release
	}
	return v, nil
}
