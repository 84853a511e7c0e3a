package record

import (
	"hash/crc32"
	"io"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/tempfile"
)

// visitExtent reads an extent of records in chunks: one of equal rows may be as large
// as memory.
func (s *Store) visitExtent(e extent, f func(rec []byte)) error {
	if s.layout.keyed() {
		u := s.unpack(e.Off, e.Len)
		defer u.close()
		return u.extent(e, f)
	}
	size := min(visitBytes, e.Len)
	if err := s.grow(int64(size)); err != nil {
		return err
	}
	defer func() { s.shrink(int64(size)) }()
	buf, have, sum := make([]byte, size), 0, uint32(0)
	for done := 0; done < e.Len; {
		n := min(len(buf)-have, e.Len-done)
		if err := s.file.ReadFull(e.Off+int64(done), buf[have:have+n]); err != nil {
			return err
		}
		sum = crc32.Update(sum, tempfile.Castagnoli, buf[have:have+n])
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
		if len(rest) == len(buf) && done < e.Len { // not even one record
			if err := s.grow(int64(size)); err != nil {
				return err
			}
			size *= 2
			buf = append(rest, make([]byte, len(rest))...)
		}
		have = copy(buf, rest)
	}
	if sum != e.Sum {
		return tempfile.ErrDamaged()
	}
	return nil
}

// run is what a shard spilled at once: its records, extent by extent, an extent being a
// bucket, or a leaf where the leaves are known (Config.Leaves), followed by a directory
// with the end and the checksum of each extent. So a run takes a few bytes of memory
// however many extents it has, and spilled rows leave the memory to the processing.
type run struct {
	off int64
	len int // of the extents
}

// perRun returns the number of extents of a run.
func (s *Store) perRun() int {
	if s.cfg.Leaves > 0 {
		return s.cfg.Leaves
	}
	return block.Buckets
}

// writeRun writes the records of a shard, distributed: those of rows as the query gave
// them packed.
func (s *Store) writeRun(sh *shard, regions [][]byte) error {
	total, records := 0, 0
	for _, d := range sh.distributed {
		for bkt := range block.Buckets {
			for _, k := range d.of(bkt) {
				total += len(s.layout.whole(k.at.in(regions)))
				records++
			}
		}
	}
	if total == 0 { // all was taken
		return nil
	}
	per, packs := block.Buckets/s.perRun(), s.layout.keyed()
	dir := make([]byte, 0, s.perRun()*dirEntry)
	most, end := total, 0
	if packs {
		most = packedMost(total, records, s.perRun())
		s.take(packBytes)
		defer s.shrink(packBytes)
	}
	e, err := s.file.Stream(most+cap(dir), 8, func(w io.Writer) error {
		p := &packing{l: s.layout, w: w}
		raw := 0
		for bkt := range block.Buckets {
			for _, d := range sh.distributed {
				if s.cfg.Windows != nil { // hashes of one partition after the other are packed best
					slices.SortFunc(d.of(bkt), key.compare)
				}
				for _, k := range d.of(bkt) {
					rec := s.layout.whole(k.at.in(regions))
					raw += len(rec)
					put := p.write
					if packs {
						put = p.add
					}
					if err := put(rec); err != nil {
						return err
					}
				}
			}
			if (bkt+1)%per == 0 {
				size, sum, err := p.end()
				if err != nil {
					return err
				}
				end += size
				entry := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, uint32(end/dirWord)), sum), uint32(raw))
				dir = le.AppendUint32(append(dir, entry...), crc32.Checksum(entry, tempfile.Castagnoli))
				raw = 0
			}
		}
		_, err := w.Write(dir)
		return err
	})
	if err != nil {
		return err
	}
	s.file.GiveBack(e, end+len(dir))
	s.cfg.Pool.AddSpilled(int64(end + len(dir)))
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.runs = append(sh.runs, run{e.Off, end})
	return nil
}

// extents returns the extents of buckets [from, to) in a run, which must be whole
// extents.
func (s *Store) extents(r run, from, to int) ([]extent, error) {
	per := block.Buckets / s.perRun()
	from, to = from/per, to/per
	// The end of the bucket before is where the first one begins.
	first := max(from-1, 0)
	dir := make([]byte, (to-first)*dirEntry)
	if err := s.file.ReadFull(r.off+int64(r.len+first*dirEntry), dir); err != nil {
		return nil, err
	}
	out, at := make([]extent, 0, to-from), 0
	for i := first; i < to; i++ {
		end := int(le.Uint32(dir)) * dirWord
		if end < at || end > r.len || crc32.Checksum(dir[:dirEntry-4], tempfile.Castagnoli) != le.Uint32(dir[dirEntry-4:]) {
			return nil, tempfile.ErrDamaged()
		}
		if i >= from {
			out = append(out, extent{tempfile.Extent{Off: r.off + int64(at), Len: end - at, Sum: le.Uint32(dir[4:])}, int(le.Uint32(dir[8:]))})
		}
		at, dir = end, dir[dirEntry:]
	}
	return out, nil
}

// onDisk calls f with the extents of a bucket's records that are in the file.
func (s *Store) onDisk(sh *shard, bkt int, f func(e extent) error) error {
	if sh.gone != nil && sh.gone[bkt] {
		return nil
	}
	s.mu.Lock()
	runs := sh.runs // rows of other buckets may be on their way to it
	s.mu.Unlock()
	for _, r := range runs {
		e, err := s.extents(r, bkt, bkt+1)
		if err == nil && e[0].Len > 0 {
			err = f(e[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readRun appends the records of buckets [from, to) of a run to dst, which has room for
// them, except those of heavy buckets that are spread.
func (s *Store) readRun(dst []byte, r run, from, to int, heavy []bool) ([]byte, error) {
	list, err := s.extents(r, from, to)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, e := range list {
		size += e.Len
	}
	u := s.unpack(list[0].Off, size)
	defer u.close()
	for i, e := range list {
		room := true
		err := u.extent(e, func(rec []byte) {
			if heavy[i] && s.spreads(rec) {
				return
			}
			if room = room && len(rec) <= cap(dst)-len(dst); room {
				dst = append(dst, rec...)
			}
		})
		if err != nil {
			return nil, err
		}
		if !room {
			return nil, tempfile.ErrDamaged()
		}
	}
	return dst, nil
}

// visitRun calls f with the records of buckets [from, to) of a run; small extents are
// read together.
func (s *Store) visitRun(r run, from, to int, f func(rec []byte)) error {
	list, err := s.extents(r, from, to)
	if err != nil {
		return err
	}
	size := 0
	for _, e := range list {
		size += e.Len
	}
	if size > visitBytes {
		for _, e := range list {
			if err := s.visitExtent(e, f); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.grow(int64(size)); err != nil {
		return err
	}
	defer s.shrink(int64(size))
	buf := make([]byte, size)
	if err := s.file.ReadFull(list[0].Off, buf); err != nil {
		return err
	}
	for _, e := range list {
		part := buf[:e.Len]
		buf = buf[e.Len:]
		if err := e.Check(part); err != nil {
			return err
		}
		for len(part) > 0 {
			n, ok := s.layout.recordLen(part)
			if !ok {
				return tempfile.ErrDamaged()
			}
			f(part[:n])
			part = part[n:]
		}
	}
	return nil
}

// sizeOf is the bytes of the records of buckets [from, to) in the file.
func (s *Store) sizeOf(shards []*shard, from, to int) (size int, err error) {
	for _, sh := range shards {
		for _, r := range sh.runs {
			list, err := s.extents(r, from, to)
			if err != nil {
				return 0, err
			}
			for _, e := range list {
				size += e.raw
			}
		}
	}
	return size, nil
}

// hasRuns reports whether some of these shards wrote to the file.
func hasRuns(shards []*shard) bool {
	return slices.ContainsFunc(shards, func(sh *shard) bool { return len(sh.runs) > 0 })
}
