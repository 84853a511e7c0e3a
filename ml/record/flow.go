package record

import (
	"io"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
)

// A flowing store does not keep rows: instead of spilling them it passes them, as
// views, to Config.Flow and drops them. It is for rows that can be read again.

const (
	flowRows  = leafRows
	flowBytes = 4 << 20 // of records at most, and as little as
	flowLeast = 128 << 10
	flowShare = 64 // a chunk of held rows is at most the memory divided by this
)

// Flow makes the store one that keeps no rows from now on.
func (s *Store) Flow() { s.flowing.Store(true) }

// Short reports whether rows were dropped, or should be because the held ones leave too
// little memory for what follows: then the store does not hold all rows, and Drain must
// be called. All rows must have been added.
func (s *Store) Short() bool {
	if s.cfg.Flow != nil && !s.flowing.Load() && s.tight() {
		s.mu.Lock()
		all := s.shards
		s.mu.Unlock()
		if s.lets(all) {
			s.Flow()
		}
	}
	return s.flowing.Load()
}

// lets reports whether rows that there is no memory for, those of these shards first, flow by.
func (s *Store) lets(shards []*shard) bool {
	if s.cfg.Flow == nil || s.cfg.Worth == nil || s.flowing.Load() {
		return s.cfg.Flow != nil
	}
	if !slices.ContainsFunc(shards, func(sh *shard) bool { return sh.held > 0 }) {
		return false // nothing to ask of
	}
	s.asked.Do(func() {
		v, packed := s.sample(shards)
		s.worth = s.cfg.Worth(v, packed)
		s.shrink(int64(v.Rows) * sampleBytes)
	})
	return s.worth
}

const (
	sampleRows  = 4096 // about how many a sample has, and four times as many at most
	sampleBytes = keyBytes + 8
)

// sample returns some of the rows of shards, whole partitions of a keyed store, and the bytes
// that they take where they are packed.
func (s *Store) sample(shards []*shard) (v *View, packed int) {
	s.mu.Lock()
	regions, held := s.regions, 0
	s.mu.Unlock()
	for _, sh := range shards {
		held += sh.held
	}
	var keys []key
	for step := min(max(held/sampleRows, 1), block.Buckets/8); ; step /= 2 {
		keys = keys[:0]
		for _, sh := range shards {
			for _, run := range sh.fresh {
				for _, k := range run {
					if k.bucket()%step == 0 && len(keys) < 4*sampleRows {
						keys = append(keys, k)
					}
				}
			}
		}
		if step == 1 || len(keys) >= sampleRows/4 {
			break
		}
	}
	s.take(int64(len(keys)) * sampleBytes)
	slices.SortFunc(keys, key.compare)
	v = &View{layout: s.layout, Rows: len(keys), regions: regions, release: func() {}}
	p := packing{l: s.layout, w: io.Discard}
	for i, k := range keys {
		v.order = append(v.order, k.at)
		if p.add(s.layout.whole(v.rec(i))) != nil {
			break // nothing that discards fails
		}
	}
	_ = p.flush()
	return v, p.size
}

// Drain passes the rows still held to Config.Flow, and frees the memory. Nothing may
// have been Written.
func (s *Store) Drain() error {
	s.Flow()
	s.mu.Lock()
	all := s.shards
	s.mu.Unlock()
	return s.spill(all...)
}

// Written reports whether rows went to the file.
func (s *Store) Written() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return hasRuns(s.shards)
}

// full reports whether a shard of a flowing store has enough for a view.
func (s *Store) full(sh *shard) bool {
	return s.flowing.Load() && (sh.held >= flowRows || sh.bytes >= s.flowBytes())
}

func (s *Store) flowBytes() int { return s.chunkBytes(flowLeast, flowBytes) }

// flow hands out the rows of shards.
func (s *Store) flow(shards ...*shard) error {
	s.Flow()
	s.mu.Lock()
	regions := s.regions
	s.mu.Unlock()
	var by []int
	if w := s.cfg.Windows; w != nil {
		by = w.Order
	}
	for _, sh := range shards {
		if s.cfg.Lengths != nil {
			s.cfg.Lengths.count(sh.fresh, regions)
		}
	}
	for _, sh := range shards {
		if sh.held == 0 {
			continue
		}
		n := int64(min(sh.held, flowRows)) * 8
		s.take(n)
		order := make([]loc, 0, min(sh.held, flowRows))
		give := func() error {
			v := &View{store: s, layout: s.layout, Rows: len(order), order: order, regions: regions, by: by, release: func() {}}
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

// take charges, beyond the limit, what is needed to free more.
func (s *Store) take(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acct.Take(n)
}
