package record

import (
	"bytes"
	"slices"
	"sync"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/holdout"
)

// Equal rows share a bucket, so that a row with very many copies would make a leaf that
// outgrows memory and the others. Such rows are distributed by hash and ordinal of the
// copy: since copies are indistinguishable, only the number in each leaf matters. A row
// that is more than one in FrequentIn makes its bucket heavy, by which such rows are
// found once all copies are on one node.

const (
	FrequentIn   = 256 // a row is frequent if more than one in so many is a copy of it
	visitBytes   = 128 << 10
	longFrequent = 16 << 10 // records beyond this stay in their leaf: all nodes get the others
)

// Of rows that are distributed encoded it is known before which may be so many: their
// copies are counted instead of distributed (FrequentCounter).

// Frequent is a row's record, encoded where rows are distributed so, and the number of its
// copies.
type Frequent struct {
	Hash   block.RowHash // of the row
	Record []byte
	N      int64
	Held   int64 // of rows that are distributed encoded: how many are held out
	Home   bool  // they are too few to be shared: all are in the row's own leaf
}

// frequent is a Frequent as a store has it.
type frequent struct {
	Frequent
	held bool // the store has those that are held out; else it has the others
	at   int  // of the record, in the region of all of them
}

// Frequent returns the rows that more than one row in FrequentIn of total is a copy of,
// of the buckets that are here. All rows must have been put.
func (s *Store) Frequent(total int64) (out []Frequent, err error) {
	if err := s.Finish(); err != nil {
		return nil, err
	}
	limit := total / FrequentIn
	for bkt, n := range s.Counts() {
		if n <= limit {
			continue
		}
		c := &holdout.Counter{}
		if err := s.visit(bkt, func(rec []byte) { c.Add(block.RowHash(rec), 1) }); err != nil {
			return nil, err
		}
		found := map[block.RowHash]*Frequent{}
		for _, x := range c.List() {
			if x.N+c.Missed > limit {
				found[x.Hash] = &Frequent{}
			}
		}
		err := s.visit(bkt, func(rec []byte) {
			if f := found[block.RowHash(rec)]; f != nil {
				if f.N++; f.Record == nil {
					f.Hash, f.Record = block.RowHash(rec), bytes.Clone(rec)
				}
			}
		})
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if f.N > limit && len(f.Record) <= longFrequent {
				out = append(out, *f)
			}
		}
	}
	slices.SortFunc(out, func(a, b Frequent) int { return bytes.Compare(a.Record, b.Record) })
	return out, nil
}

// visit calls f with the records of a bucket.
func (s *Store) visit(bkt int, f func(rec []byte)) error {
	s.mu.Lock()
	shards, regions := s.shards, s.regions
	s.mu.Unlock()
	for _, sh := range shards {
		for _, d := range sh.distributed {
			for _, k := range d.of(bkt) {
				f(s.layout.whole(k.at.in(regions)))
			}
		}
		if err := s.onDisk(sh, bkt, func(e extent) error { return s.visitExtent(e, f) }); err != nil {
			return err
		}
	}
	return nil
}

// ShareFrequent distributes the copies of these rows, which Frequent of all stores gave
// (MergeFrequent), over all leaves: those held out, where that is what the store has, or else the others. It is for
// stores whose leaves are several, before the first MakeLeaf.
func (s *Store) ShareFrequent(list []Frequent, held bool) error {
	size := 0
	for _, c := range list {
		if n, ok := s.layout.recordLen(c.Record); !ok || n != len(c.Record) || c.N < 1 {
			return errRecords()
		}
		size += (len(c.Record) + 7) &^ 7
	}
	if size == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.acct.Grow(int64(size)); err != nil {
		return err
	}
	s.spread, s.spreadRecs = nil, make([]byte, 0, size)
	for _, c := range list {
		s.spread = append(s.spread, frequent{c, held, len(s.spreadRecs)})
		s.spreadRecs = append(s.spreadRecs, c.Record...)
		for len(s.spreadRecs)%8 != 0 {
			s.spreadRecs = append(s.spreadRecs, 0)
		}
	}
	return nil
}

// MergeFrequent adds up the copies of each row, of total rows.
func MergeFrequent(list []Frequent, total int64) []Frequent {
	slices.SortFunc(list, func(a, b Frequent) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
	out := list[:0]
	for _, c := range list {
		if n := len(out); n > 0 && out[n-1].Hash == c.Hash {
			out[n-1].N, out[n-1].Held = out[n-1].N+c.N, out[n-1].Held+c.Held
		} else {
			out = append(out, c)
		}
	}
	for i := range out {
		out[i].Home = out[i].N <= total/FrequentIn
	}
	return out
}

// FrequentCounter counts copies of rows that are not distributed. Its methods may be called from
// any goroutine.
type FrequentCounter struct {
	mu     sync.Mutex
	rows   map[block.RowHash]*Frequent
	bucket [block.Buckets]bool
}

// NewFrequentCounter counts those of these rows.
func NewFrequentCounter(rows []block.RowHash) *FrequentCounter {
	c := &FrequentCounter{rows: make(map[block.RowHash]*Frequent, len(rows))}
	for _, h := range rows {
		c.rows[h] = &Frequent{Hash: h}
		c.bucket[h.Bucket()] = true
	}
	return c
}

// Count counts row i of a view, whose record record makes, and reports whether it is one
// of those.
func (c *FrequentCounter) Count(v *View, i int, held bool, record func() []byte) bool {
	if !c.bucket[v.Bucket(i)] {
		return false
	}
	h, size := v.Hash(i)
	x := c.rows[h]
	if x == nil || size > longFrequent {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.N++; held {
		x.Held++
	}
	if x.Record == nil {
		x.Record = record()
	}
	return true
}

// List returns those that were counted, in no order.
func (c *FrequentCounter) List() (list []Frequent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.rows {
		if x.N > 0 {
			list = append(list, *x)
		}
	}
	return list
}

// spreads reports whether a record is a copy of a row that is spread.
func (s *Store) spreads(rec []byte) bool {
	h := block.RowHash(rec)
	return slices.ContainsFunc(s.spread, func(c frequent) bool { return c.Hash == h })
}

// away is the number of copies that came to a bucket and are spread, and their
// bytes: none where they were counted instead.
func (s *Store) away(bkt int) (rows, size int) {
	if s.layout.isCoded() {
		return 0, 0
	}
	for i := range s.spread {
		if c := &s.spread[i]; c.Hash.Bucket() == bkt {
			rows, size = rows+int(c.N), size+int(c.N)*len(c.Record)
		}
	}
	return rows, size
}

// ordinals returns the copies [from, to) of a row that a leaf has.
func (c *frequent) ordinals(l *Leaf) (from, to int64) {
	if c.Home {
		if b := c.Hash.Bucket(); b < l.from || b >= l.to {
			return 0, 0
		}
		return 0, c.N
	}
	leaves := int64(block.Buckets / (l.to - l.from))
	i := (int64(l.from/(l.to-l.from)) + int64(c.Hash[0])) % leaves
	return i * c.N / leaves, (i + 1) * c.N / leaves
}

// copies is how many of the store's a leaf has.
func (c *frequent) copies(l *Leaf) int64 {
	from, to := c.ordinals(l)
	held := holdout.MulDiv(to, c.Frequent.Held, c.N) - holdout.MulDiv(from, c.Frequent.Held, c.N)
	if c.held {
		return held
	}
	return to - from - held
}

// draws returns how many copies of spread rows a leaf holds out.
func (l *Leaf) draws(d *holdout.Drawer) map[block.RowHash]*leafDraw {
	out := map[block.RowHash]*leafDraw{}
	for i := range l.store.spread {
		c := &l.store.spread[i]
		if all, ok := d.Quota(c.Hash); ok {
			from, to := c.ordinals(l)
			out[c.Hash] = &leafDraw{of: to - from, held: holdout.MulDiv(to, all, c.N) - holdout.MulDiv(from, all, c.N)}
		}
	}
	return out
}

// leafDraw holds out some of a leaf's copies of a row, evenly among them.
type leafDraw struct{ held, of, seen int64 }

func (d *leafDraw) drawn() bool {
	d.seen++
	return holdout.MulDiv(d.seen, d.held, d.of) > holdout.MulDiv(d.seen-1, d.held, d.of)
}

// spreadKeys appends the keys of the copies that a leaf has of spread rows, whose
// records are in region.
func (l *Leaf) spreadKeys(keys []key, region int) []key {
	for i := range l.store.spread {
		c := &l.store.spread[i]
		for range c.copies(l) {
			keys = append(keys, key{uint64(l.from) << (64 - block.BucketBits), loc(region)<<32 | loc(c.at/8)})
		}
	}
	return keys
}
