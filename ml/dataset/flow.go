package dataset

// A flowing store does not keep rows: what it would spill it hands, as views, to
// Config.Flow, and forgets. It is for rows that can be read again.

const (
	flowRows  = leafRows
	flowBytes = 4 << 20 // of records at most, and as little as
	flowLeast = 128 << 10
	flowShare = 64 // a piece of what is held is at most the memory over so much
)

// Flow makes the store one that keeps no rows from now on.
func (s *Store) Flow() { s.flowing.Store(true) }

// Short reports whether rows have flowed by, or should, for what is held leaves
// too little memory for what comes: then it does not hold all rows, and Drain is
// to be called. All rows must have been added.
func (s *Store) Short() bool {
	if s.cfg.Flow != nil && s.tight() {
		s.Flow()
	}
	return s.flowing.Load()
}

// Drain hands out what is still held, and frees the memory.
func (s *Store) Drain() error {
	s.mu.Lock()
	all := s.shards
	s.mu.Unlock()
	return s.spill(all...)
}

// full reports whether a shard of a flowing store has enough for a view.
func (s *Store) full(sh *shard) bool {
	return s.flowing.Load() && (sh.held >= flowRows || sh.bytes >= s.flowBytes())
}

func (s *Store) flowBytes() int { return s.pieceBytes(flowLeast, flowBytes) }

// pieceBytes is how long a piece of what is held is to be: small where memory is
// scarce, within bounds.
func (s *Store) pieceBytes(least, most int) int {
	return int(min(max(s.cfg.Pool.Limit()/flowShare, int64(least)), int64(most)))
}

// flow hands out the rows of shards.
func (s *Store) flow(shards ...*shard) error {
	s.Flow()
	s.mu.Lock()
	regions := s.regions
	s.mu.Unlock()
	for _, sh := range shards {
		if sh.held == 0 {
			continue
		}
		n := int64(min(sh.held, flowRows)) * 8
		s.take(n)
		order := make([]loc, 0, min(sh.held, flowRows))
		give := func() error {
			v := &View{layout: s.layout, Rows: len(order), order: order, regions: regions, release: func() {}}
			order = order[:0]
			return s.cfg.Flow(v)
		}
		var err error
		keys := 0
		for _, run := range sh.fresh {
			keys += cap(run)
			for _, k := range run {
				if order = append(order, k.at); len(order) == flowRows && err == nil {
					err = give()
				}
			}
		}
		if len(order) > 0 && err == nil {
			err = give()
		}
		s.shrink(n)
		if err != nil {
			return err
		}
		s.mu.Lock()
		for _, num := range sh.regions {
			s.acct.Shrink(int64(len(s.regions[num])))
			s.regions[num] = nil
		}
		s.acct.Shrink(int64(keys) * keyBytes)
		s.mu.Unlock()
		sh.regions, sh.used, sh.fresh, sh.held, sh.bytes = nil, 0, nil, 0, 0
	}
	return nil
}

// take charges what is needed to free more.
func (s *Store) take(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acct.Take(n)
}
