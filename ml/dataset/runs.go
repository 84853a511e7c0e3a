package dataset

import (
	"hash/crc32"
	"io"
	"slices"
)

// run is what a shard wrote to the file at once: its records piece by piece, a piece
// being a bucket, or a leaf where the leaves are known (Config.Leaves), and behind
// them a directory that says where each piece ends and what its bytes sum up to. So a
// run takes a few bytes of memory however many pieces it has, and rows on disk leave
// memory to those who work on them.
type run struct {
	off int64
	len int // of the records
}

// dirEntry is the bytes of a directory for each piece: its end in the run in words
// of dirWord bytes, and the sum.
const (
	dirEntry = 8
	dirWord  = 4
)

// pieces is the number of pieces of a run.
func (s *Store) pieces() int {
	if s.cfg.Leaves > 0 {
		return s.cfg.Leaves
	}
	return Buckets
}

// writeRun writes the records of a shard, distributed.
func (s *Store) writeRun(sh *shard, regions [][]byte) error {
	total := 0
	for _, d := range sh.distributed {
		for bkt := range Buckets {
			for _, k := range d.of(bkt) {
				total += len(s.layout.whole(k.at.in(regions)))
			}
		}
	}
	if total == 0 { // all was taken
		return nil
	}
	per := Buckets / s.pieces()
	dir := make([]byte, 0, s.pieces()*dirEntry)
	e, err := s.file.stream(total+cap(dir), 8, func(w io.Writer) error {
		end := 0
		sum := uint32(0)
		for bkt := range Buckets {
			for _, d := range sh.distributed {
				for _, k := range d.of(bkt) {
					rec := s.layout.whole(k.at.in(regions))
					sum = crc32.Update(sum, castagnoli, rec)
					if _, err := w.Write(rec); err != nil {
						return err
					}
					end += len(rec)
				}
			}
			if (bkt+1)%per == 0 {
				dir = le.AppendUint32(le.AppendUint32(dir, uint32(end/dirWord)), sum)
				sum = 0
			}
		}
		_, err := w.Write(dir)
		return err
	})
	if err != nil {
		return err
	}
	s.cfg.Pool.AddSpilled(int64(e.len))
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.runs = append(sh.runs, run{e.off, total})
	return nil
}

// extents gives the pieces of a run that buckets [from, to) have, which are whole
// pieces.
func (s *Store) extents(r run, from, to int) ([]extent, error) {
	per := Buckets / s.pieces()
	from, to = from/per, to/per
	// The end of the bucket before is where the first one begins.
	first := max(from-1, 0)
	dir := make([]byte, (to-first)*dirEntry)
	if err := s.file.readAt(r.off+int64(r.len+first*dirEntry), dir); err != nil {
		return nil, err
	}
	out, at := make([]extent, 0, to-from), 0
	for i := first; i < to; i++ {
		end := int(le.Uint32(dir)) * dirWord
		if end < at || end > r.len {
			return nil, errDamaged()
		}
		if i >= from {
			out = append(out, extent{r.off + int64(at), end - at, le.Uint32(dir[4:])})
		}
		at, dir = end, dir[dirEntry:]
	}
	return out, nil
}

// onDisk calls f with the pieces of a bucket's records that are in the file.
func (s *Store) onDisk(sh *shard, bkt int, f func(e extent) error) error {
	if sh.gone != nil && sh.gone[bkt] {
		return nil
	}
	s.mu.Lock()
	runs := sh.runs // rows of other buckets may be on their way to it
	s.mu.Unlock()
	for _, r := range runs {
		e, err := s.extents(r, bkt, bkt+1)
		if err == nil && e[0].len > 0 {
			err = f(e[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readRun appends the records of buckets [from, to) of a run to dst, which has
// room for them, but for those of heavy buckets that are spread.
func (s *Store) readRun(dst []byte, r run, from, to int, heavy []bool) ([]byte, error) {
	list, err := s.extents(r, from, to)
	if err != nil {
		return nil, err
	}
	for len(list) > 0 {
		// Buckets that follow each other are read at once.
		n, size := 0, 0
		for n < len(list) && !heavy[to-len(list)+n-from] {
			size += list[n].len
			n++
		}
		if n == 0 {
			if err := s.visitExtent(list[0], func(rec []byte) {
				if !s.spreads(rec) {
					dst = append(dst, rec...)
				}
			}); err != nil {
				return nil, err
			}
			list = list[1:]
			continue
		}
		if size > cap(dst)-len(dst) {
			return nil, errDamaged()
		}
		at := len(dst)
		dst = dst[:at+size]
		if err := s.file.readAt(list[0].off, dst[at:]); err != nil {
			return nil, err
		}
		for _, e := range list[:n] {
			if err := e.check(dst[at : at+e.len]); err != nil {
				return nil, err
			}
			at += e.len
		}
		list = list[n:]
	}
	return dst, nil
}

// visitRun calls f with the records of buckets [from, to) of a run: what is little
// is read at once.
func (s *Store) visitRun(r run, from, to int, f func(rec []byte)) error {
	list, err := s.extents(r, from, to)
	if err != nil {
		return err
	}
	size := 0
	for _, e := range list {
		size += e.len
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
	if err := s.file.readAt(list[0].off, buf); err != nil {
		return err
	}
	for _, e := range list {
		part := buf[:e.len]
		buf = buf[e.len:]
		if err := e.check(part); err != nil {
			return err
		}
		for len(part) > 0 {
			n, ok := s.layout.recordLen(part)
			if !ok {
				return errDamaged()
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
				size += e.len
			}
		}
	}
	return size, nil
}

// hasRuns tells whether some of these shards wrote to the file.
func hasRuns(shards []*shard) bool {
	return slices.ContainsFunc(shards, func(sh *shard) bool { return len(sh.runs) > 0 })
}
