package record

import (
	"github.com/tributarydb/tributary/ml/block"
)

// endAdds parts the shards of rows that were added from those of rows that will
// be put, and distributes them: they may be taken from now on.
func (s *Store) endAdds() error {
	s.moving.Lock()
	defer s.moving.Unlock()
	s.mu.Lock()
	done := s.added != nil
	if !done {
		s.cfg.Flow = nil // they are held
		s.added, s.idle = append(make([]*shard, 0, len(s.shards)), s.shards...), nil
	}
	added := s.added
	s.mu.Unlock()
	if done {
		return nil
	}
	for _, sh := range added {
		sh.gone = make([]bool, block.Buckets)
		if err := s.distribute(sh, false); err != nil {
			if err := s.spill(sh); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeRun is how many bytes of records TakeBucket emits at once, unless one record is
// longer, and takeLeast the same where memory is scarce.
const (
	takeRun   = 1 << 20
	takeLeast = 64 << 10
)

// TakeBucket hands the records of a bucket, of rows that were added here, to
// emit in runs of whole records, and forgets them; their memory is free when
// the store spills or is closed. The bytes are emit's for the call.
func (s *Store) TakeBucket(bkt int, emit func(records []byte) error) error {
	if err := s.endAdds(); err != nil {
		return err
	}
	s.mu.Lock()
	added := s.added
	s.mu.Unlock()
	// Copied first: emit may wait for others, who may wait for room here.
	for {
		records := s.takeOut(added, bkt)
		if records == nil {
			break
		}
		err := emit(records)
		s.shrink(int64(cap(records)))
		if err != nil {
			return err
		}
	}
	for _, sh := range added {
		if err := s.onDisk(sh, bkt, func(e extent) error { return s.emitExtent(e, emit) }); err != nil {
			return err
		}
		sh.gone[bkt], sh.rows[bkt] = true, 0
	}
	return nil
}

// takeOut forgets a run of a bucket's records in memory, and returns a copy of them,
// which is charged; nil where there are no more.
func (s *Store) takeOut(added []*shard, bkt int) (records []byte) {
	s.moving.Lock()
	defer s.moving.Unlock()
	most := s.chunkBytes(takeLeast, takeRun)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sh := range added {
		for _, d := range sh.distributed {
			keys := d.of(bkt)
			n, size := 0, 0
			for ; n < len(keys); n++ {
				k := len(s.layout.whole(keys[n].at.in(s.regions)))
				if n > 0 && size+k > most {
					break
				}
				size += k
			}
			if n == 0 {
				continue
			}
			s.acct.Take(int64(size)) // what frees more
			records = make([]byte, 0, size)
			for _, k := range keys[:n] {
				records = append(records, s.layout.whole(k.at.in(s.regions))...)
			}
			d.gone[bkt] += uint32(n)
			return records
		}
	}
	return nil
}

// emitExtent hands out the records of an extent in runs.
func (s *Store) emitExtent(e extent, emit func(records []byte) error) error {
	size := min(s.chunkBytes(takeLeast, takeRun), e.raw)
	s.take(int64(size))
	defer s.shrink(int64(size))
	buf := make([]byte, 0, size)
	var failed error
	err := s.visitExtent(e, func(rec []byte) {
		if len(buf)+len(rec) > size && len(buf) > 0 && failed == nil {
			failed, buf = emit(buf), buf[:0]
		}
		buf = append(buf, rec...)
	})
	if err == nil {
		err = failed
	}
	if err == nil && len(buf) > 0 {
		err = emit(buf)
	}
	return err
}

// PutBucket takes records that TakeBucket of another node's store emitted.
func (s *Store) PutBucket(bkt int, records []byte) error {
	if bkt < 0 || bkt >= block.Buckets {
		return errRecords()
	}
	if err := s.endAdds(); err != nil {
		return err
	}
	sh, err := s.checkout()
	if err != nil {
		return err
	}
	defer s.checkin(sh)
	for len(records) > 0 {
		// As many as have room for their keys in a run.
		size, n := 0, 0
		for size < len(records) && n < groupRows {
			k, ok := s.layout.recordLen(records[size:])
			if !ok || int(be.Uint64(records[size:])>>(64-block.BucketBits)) != bkt {
				return errRecords()
			}
			size += k
			n++
		}
		buf, at, keys, err := s.room(sh, size, n)
		if err != nil {
			return err
		}
		copy(buf, records)
		sh.keep(s.layout.keys(keys, buf, at))
		sh.rows[bkt] += int64(n)
		records = records[size:]
	}
	if s.shouldSpill(sh) {
		return s.spill(sh)
	}
	return nil
}
