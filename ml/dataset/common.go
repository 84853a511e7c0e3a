package dataset

import (
	"bytes"
	"hash/crc32"
	"math/bits"
	"slices"
	"sync"
)

// Equal rows share a bucket, so that a row with very many copies would make a leaf that
// outgrows memory and the others. Such rows are distributed by hash and ordinal of the
// copy: since copies are indistinguishable, only the number in each leaf matters. A row
// that is more than one in spreadIn makes its bucket heavy, by which such rows are
// found once all copies are on one node.

const (
	spreadIn   = 256
	visitBytes = 128 << 10
	longCommon = 16 << 10 // records beyond this stay in their leaf: all nodes get the others
)

// Of rows that are distributed encoded it is known before which may be so many: their
// copies are counted instead of distributed (Counted).

// Common is a row's record, encoded where rows are distributed so, and the number of its
// copies.
type Common struct {
	Hash   RowHash // of the row
	Record []byte
	N      int64
	Held   int64 // of rows that are distributed encoded: how many are held out
	Home   bool  // they are too few to be shared: all are in the row's own leaf
}

// common is a Common as a store has it.
type common struct {
	Common
	held bool // the store has those that are held out; else it has the others
	at   int  // of the record, in the region of all of them
}

// Common returns the rows that more than one row in spreadIn of total is a copy of,
// of the buckets that are here. All rows must have been put.
func (s *Store) Common(total int64) (out []Common, err error) {
	if err := s.Finish(); err != nil {
		return nil, err
	}
	limit := total / spreadIn
	for bkt, n := range s.Counts() {
		if n <= limit {
			continue
		}
		c := &counter{}
		if err := s.visit(bkt, func(rec []byte) { c.add(RowHash(rec), 1) }); err != nil {
			return nil, err
		}
		found := map[RowHash]*Common{}
		for _, x := range c.list() {
			if x.N+c.missed > limit {
				found[x.Hash] = &Common{}
			}
		}
		err := s.visit(bkt, func(rec []byte) {
			if f := found[RowHash(rec)]; f != nil {
				if f.N++; f.Record == nil {
					f.Hash, f.Record = RowHash(rec), bytes.Clone(rec)
				}
			}
		})
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if f.N > limit && len(f.Record) <= longCommon {
				out = append(out, *f)
			}
		}
	}
	slices.SortFunc(out, func(a, b Common) int { return bytes.Compare(a.Record, b.Record) })
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

// visitExtent reads an extent of records in chunks: one of equal rows may be as large
// as memory.
func (s *Store) visitExtent(e extent, f func(rec []byte)) error {
	if s.layout.keyed() {
		u := s.unpack(e.off, e.len)
		defer u.close()
		return u.extent(e, f)
	}
	size := min(visitBytes, e.len)
	if err := s.grow(int64(size)); err != nil {
		return err
	}
	defer func() { s.shrink(int64(size)) }()
	buf, have, sum := make([]byte, size), 0, uint32(0)
	for done := 0; done < e.len; {
		n := min(len(buf)-have, e.len-done)
		if err := s.file.readAt(e.off+int64(done), buf[have:have+n]); err != nil {
			return err
		}
		sum = crc32.Update(sum, castagnoli, buf[have:have+n])
		have, done = have+n, done+n
		rest := buf[:have]
		for {
			k, ok := s.layout.recordLen(rest)
			if !ok {
				break
			}
			f(rest[:k])
			rest = rest[k:]
		}
		if len(rest) == len(buf) && done < e.len { // not even one record
			if err := s.grow(int64(size)); err != nil {
				return err
			}
			size *= 2
			buf = append(rest, make([]byte, len(rest))...)
		}
		have = copy(buf, rest)
	}
	if sum != e.sum {
		return errDamaged()
	}
	return nil
}

// Spread distributes the copies of these rows, which Common of all stores gave Together,
// over all leaves: those held out, where that is what the store has, or else the others. It is for
// stores whose leaves are several, before the first MakeLeaf.
func (s *Store) Spread(list []Common, held bool) error {
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
		s.spread = append(s.spread, common{c, held, len(s.spreadRecs)})
		s.spreadRecs = append(s.spreadRecs, c.Record...)
		for len(s.spreadRecs)%8 != 0 {
			s.spreadRecs = append(s.spreadRecs, 0)
		}
	}
	return nil
}

// Together adds up the copies of each row, of total rows.
func Together(list []Common, total int64) []Common {
	slices.SortFunc(list, func(a, b Common) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
	out := list[:0]
	for _, c := range list {
		if n := len(out); n > 0 && out[n-1].Hash == c.Hash {
			out[n-1].N, out[n-1].Held = out[n-1].N+c.N, out[n-1].Held+c.Held
		} else {
			out = append(out, c)
		}
	}
	for i := range out {
		out[i].Home = out[i].N <= total/spreadIn
	}
	return out
}

// Perhaps returns the rows of which more than one in spreadIn may be copies.
func (c *Copies) Perhaps() (rows []RowHash) {
	c.each(func(h RowHash, _ []Copy, n int64) {
		if n+c.Missed > c.Rows/spreadIn {
			rows = append(rows, h)
		}
	})
	return rows
}

// Counted counts copies of rows that are not distributed. Its methods may be called from
// any goroutine.
type Counted struct {
	mu     sync.Mutex
	rows   map[RowHash]*Common
	bucket [Buckets]bool
}

// NewCounted counts those of these rows.
func NewCounted(rows []RowHash) *Counted {
	c := &Counted{rows: make(map[RowHash]*Common, len(rows))}
	for _, h := range rows {
		c.rows[h] = &Common{Hash: h}
		c.bucket[h.bucket()] = true
	}
	return c
}

// Count counts row i of a view, whose record record makes, and reports whether it is one
// of those.
func (c *Counted) Count(v *View, i int, held bool, record func() []byte) bool {
	if !c.bucket[v.Bucket(i)] {
		return false
	}
	h, size := v.Hash(i)
	x := c.rows[h]
	if x == nil || size > longCommon {
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
func (c *Counted) List() (list []Common) {
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
	h := RowHash(rec)
	return slices.ContainsFunc(s.spread, func(c common) bool { return c.Hash == h })
}

// away is the number of copies that came to a bucket and are spread, and their
// bytes: none where they were counted instead.
func (s *Store) away(bkt int) (rows, size int) {
	if s.layout.isCoded() {
		return 0, 0
	}
	for i := range s.spread {
		if c := &s.spread[i]; c.Hash.bucket() == bkt {
			rows, size = rows+int(c.N), size+int(c.N)*len(c.Record)
		}
	}
	return rows, size
}

// ordinals returns the copies [from, to) of a row that a leaf has.
func (c *common) ordinals(l *Leaf) (from, to int64) {
	if c.Home {
		if b := c.Hash.bucket(); b < l.from || b >= l.to {
			return 0, 0
		}
		return 0, c.N
	}
	leaves := int64(Buckets / (l.to - l.from))
	i := (int64(l.from/(l.to-l.from)) + int64(c.Hash[0])) % leaves
	return i * c.N / leaves, (i + 1) * c.N / leaves
}

// copies is how many of the store's a leaf has.
func (c *common) copies(l *Leaf) int64 {
	from, to := c.ordinals(l)
	held := mulDiv(to, c.Common.Held, c.N) - mulDiv(from, c.Common.Held, c.N)
	if c.held {
		return held
	}
	return to - from - held
}

// draws returns how many copies of spread rows a leaf holds out.
func (l *Leaf) draws(d *Drawer) map[RowHash]*leafDraw {
	out := map[RowHash]*leafDraw{}
	for i := range l.store.spread {
		c := &l.store.spread[i]
		if all := d.common[c.Hash]; all != nil {
			from, to := c.ordinals(l)
			out[c.Hash] = &leafDraw{of: to - from, held: mulDiv(to, all.Load(), c.N) - mulDiv(from, all.Load(), c.N)}
		}
	}
	return out
}

// leafDraw holds out some of a leaf's copies of a row, evenly among them.
type leafDraw struct{ held, of, seen int64 }

func (d *leafDraw) drawn() bool {
	d.seen++
	return mulDiv(d.seen, d.held, d.of) > mulDiv(d.seen-1, d.held, d.of)
}

// mulDiv is a·b/c, rounded down; a is not above c.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(q)
}

// spreadKeys appends the keys of the copies that a leaf has of spread rows, whose
// records are in region.
func (l *Leaf) spreadKeys(keys []key, region int) []key {
	for i := range l.store.spread {
		c := &l.store.spread[i]
		for range c.copies(l) {
			keys = append(keys, key{uint64(l.from) << (64 - bucketBits), loc(region)<<32 | loc(c.at/8)})
		}
	}
	return keys
}
