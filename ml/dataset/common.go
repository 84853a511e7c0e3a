package dataset

import (
	"bytes"
	"hash/crc32"
	"math/bits"
	"slices"
)

// Equal rows share a bucket, so that a row with very many copies would make a
// leaf that outgrows memory and the others. Such rows are dealt by hash and
// ordinal of the copy: since copies cannot be told apart it is enough that each
// leaf has its number of them. A row that is more than one in spreadIn makes its
// bucket heavy, which is how they are found once all copies have met.

const (
	spreadIn   = 256
	visitBytes = 128 << 10
	longCommon = 16 << 10 // records beyond this stay in their leaf: all nodes get the others
)

// Common is a row's record and the number of its copies.
type Common struct {
	Record []byte
	N      int64
}

// common is a Common as a store has it.
type common struct {
	Common
	hash RowHash
	at   int // of the record, in the region of all of them
}

// Common gives the rows that more than one row in spreadIn of total is a copy of,
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
					f.Record = bytes.Clone(rec)
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
		for _, d := range sh.dealt {
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

// visitExtent reads a run of records piece by piece: one of equal rows may be as
// long as memory.
func (s *Store) visitExtent(e extent, f func(rec []byte)) error {
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

// Spread deals the copies of these rows, which Common of all stores gave, over all
// leaves. It is for stores whose leaves are several, before the first Settle.
func (s *Store) Spread(list []Common) error {
	size := 0
	for _, c := range list {
		if n, ok := s.layout.recordLen(c.Record); !ok || n != len(c.Record) || c.N < 1 {
			return errRecords()
		}
		size += len(c.Record)
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
		s.spread = append(s.spread, common{c, RowHash(c.Record), len(s.spreadRecs)})
		s.spreadRecs = append(s.spreadRecs, c.Record...)
	}
	return nil
}

// spreads tells whether a record is a copy of a row that is spread.
func (s *Store) spreads(rec []byte) bool {
	h := RowHash(rec)
	return slices.ContainsFunc(s.spread, func(c common) bool { return c.hash == h })
}

// away is the number of copies that came to a bucket and are spread, and their
// bytes.
func (s *Store) away(bkt int) (rows, size int) {
	for i := range s.spread {
		if c := &s.spread[i]; int(be.Uint64(c.hash[:])>>(64-bucketBits)) == bkt {
			rows, size = rows+int(c.N), size+int(c.N)*len(c.Record)
		}
	}
	return rows, size
}

// ordinals gives the copies [from, to) of a row that a leaf has.
func (c *common) ordinals(l *Leaf) (from, to int64) {
	leaves := int64(Buckets / (l.to - l.from))
	i := (int64(l.from/(l.to-l.from)) + int64(c.hash[0])) % leaves
	return i * c.N / leaves, (i + 1) * c.N / leaves
}

// draws gives how many copies of spread rows a leaf holds out.
func (l *Leaf) draws(d *Drawer) map[RowHash]*leafDraw {
	out := map[RowHash]*leafDraw{}
	for i := range l.store.spread {
		c := &l.store.spread[i]
		if all := d.common[c.hash]; all != nil {
			from, to := c.ordinals(l)
			out[c.hash] = &leafDraw{of: to - from, held: mulDiv(to, all.Load(), c.N) - mulDiv(from, all.Load(), c.N)}
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
	shared := l.shared()
	for i := range l.store.spread {
		c := &l.store.spread[i]
		at, hi := loc(region)<<32|loc(c.at/8), be.Uint64(c.hash[:])
		for k, to := c.ordinals(l); k < to; k++ {
			place := fold(hi^k1, uint64(k)^k3)
			keys = append(keys, key{uint64(l.from)<<(64-bucketBits) | place>>shared, at})
		}
	}
	return keys
}
