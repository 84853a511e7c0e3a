package dataset

import "github.com/tributarydb/tributary/sql/pgerr"

// endAdds parts the shards of rows that were added from those of rows that will
// be put, and deals them: they may be taken from now on.
func (s *Store) endAdds() error {
	s.moving.Lock()
	defer s.moving.Unlock()
	s.mu.Lock()
	done := s.added != nil
	if !done {
		s.added, s.idle = append(make([]*shard, 0, len(s.shards)), s.shards...), nil
	}
	added := s.added
	s.mu.Unlock()
	if done {
		return nil
	}
	for _, sh := range added {
		if err := s.deal(sh, false); err != nil {
			if err := s.spill(sh); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeRun is how many bytes of records TakeBucket hands out at once.
const takeRun = 1 << 20

// TakeBucket hands the records of a bucket, of rows that were added here, to
// emit in runs of whole records, and forgets them; their memory is free when
// the store spills or is closed. The bytes are emit's for the call.
func (s *Store) TakeBucket(bkt int, emit func(records []byte) error) error {
	if err := s.endAdds(); err != nil {
		return err
	}
	// Copied first: emit may wait for others, who may wait for room here.
	buf, disk := s.takeOut(bkt)
	for len(buf) > 0 {
		n := 0
		for n < len(buf) {
			k := len(s.layout.whole(buf[n:]))
			if n > 0 && n+k > takeRun {
				break
			}
			n += k
		}
		if err := emit(buf[:n]); err != nil {
			return err
		}
		buf = buf[n:]
	}
	for _, e := range disk {
		buf := make([]byte, e.len)
		if err := s.file.read(e, buf); err != nil {
			return err
		}
		if err := emit(buf); err != nil {
			return err
		}
	}
	return nil
}

// takeOut forgets a bucket of the rows that were added: those in memory are
// given as a copy.
func (s *Store) takeOut(bkt int) (records []byte, disk []extent) {
	s.moving.Lock()
	defer s.moving.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sh := range s.added {
		for _, d := range sh.dealt {
			for _, k := range d.of(bkt) {
				records = append(records, s.layout.whole(k.at.in(s.regions))...)
			}
			d.gone[bkt] = true
		}
		if sh.disk != nil {
			disk = append(disk, sh.disk[bkt]...)
			sh.disk[bkt] = nil
		}
		sh.rows[bkt] = 0
	}
	return records, disk
}

// PutBucket takes records that TakeBucket of another node's store emitted.
func (s *Store) PutBucket(bkt int, records []byte) error {
	if bkt < 0 || bkt >= Buckets {
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
			if !ok || int(be.Uint64(records[size:])>>(64-bucketBits)) != bkt {
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
	if s.shouldSpill() {
		return s.spill(sh)
	}
	return nil
}

func errRecords() error {
	return pgerr.New(pgerr.DataCorrupted, "invalid encoding of training rows")
}

// recordLen is the length of the record at the start of b; false if b does not
// hold it whole.
func (l *Layout) recordLen(b []byte) (int, bool) {
	n := l.fixed
	if len(b) < n {
		return 0, false
	}
	if len(l.vars) > 0 {
		for _, c := range l.vars {
			n += int(le.Uint32(b[l.at[c]:]))
		}
		n = (n + 7) &^ 7
	}
	return n, n <= len(b)
}
