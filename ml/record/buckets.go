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

// takeRun is how many bytes of records Take emits at once, unless one record is longer,
// and takeLeast the same where memory is scarce.
const (
	takeRun   = 256 << 10
	takeLeast = 64 << 10
)

// Take hands the records of the buckets from … end-1, of rows that were added here, to
// emit in runs of whole records, and forgets them; their memory is free when
// the store spills or is closed. The bytes are emit's for the call.
func (s *Store) Take(from, end int, emit func(records []byte) error) error {
	if err := s.endAdds(); err != nil {
		return err
	}
	s.mu.Lock()
	added := s.added
	s.mu.Unlock()
	// Copied first: emit may wait for others, who may wait for room here.
	size := s.chunkBytes(takeLeast, takeRun)
	s.take(int64(size))
	run := make([]byte, 0, size)
	defer func() { s.shrink(int64(cap(run))) }()
	for bkt := from; bkt < end; bkt++ {
		for full := true; full; {
			if run, full = s.takeOut(added, bkt, run); full {
				if err := emit(run); err != nil {
					return err
				}
				run = run[:0]
			}
		}
		for _, sh := range added {
			if err := s.onDisk(sh, bkt, func(e extent) error { return s.emitExtent(e, emit) }); err != nil {
				return err
			}
			sh.gone[bkt], sh.rows[bkt] = true, 0
		}
	}
	if len(run) == 0 {
		return nil
	}
	return emit(run)
}

// takeOut forgets records of a bucket in memory and appends them to a run, which is
// charged; it reports whether the run is full before all are taken.
func (s *Store) takeOut(added []*shard, bkt int, run []byte) (_ []byte, full bool) {
	s.moving.Lock()
	defer s.moving.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sh := range added {
		for _, d := range sh.distributed {
			for _, k := range d.of(bkt) {
				rec := s.layout.whole(k.at.in(s.regions))
				if more := len(run) + len(rec) - cap(run); more > 0 {
					if len(run) > 0 {
						return run, true
					}
					s.acct.Take(int64(more)) // what frees more
					run = make([]byte, 0, len(rec))
				}
				run = append(run, rec...)
				d.gone[bkt]++
			}
		}
	}
	return run, false
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

// Put takes records that Take of another node's store emitted.
func (s *Store) Put(records []byte) error {
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
			if !ok {
				return errRecords()
			}
			sh.rows[be.Uint64(records[size:])>>(64-block.BucketBits)]++
			size += k
			n++
		}
		buf, at, keys, err := s.room(sh, size, n)
		if err != nil {
			return err
		}
		copy(buf, records)
		sh.keep(s.layout.keys(keys, buf, at))
		records = records[size:]
	}
	if s.shouldSpill(sh) {
		return s.spill(sh)
	}
	return nil
}
