package mem

import (
	"runtime/metrics"
	"time"
)

// Watch holds the pool of a node against the live heap, as collections find it,
// until stop is closed: what lives beyond the accounts and share counts as used
// from then on, so that others spill and new work waits. It catches what no
// account knows of: a client's huge literal, a function's long result.
func (p *Pool) Watch(stop <-chan struct{}, share int64) {
	const every = 50 * time.Millisecond
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	t := time.NewTicker(every)
	defer t.Stop()
	var cycle uint64
	before := p.used.Load()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		metrics.Read(s)
		now := p.used.Load()
		if c := s[1].Value.Uint64(); c != cycle {
			cycle = c
			// The collection was between the two looks: what either charged may
			// have been live then.
			p.setBeyond(int64(s[0].Value.Uint64()) - max(now, before) - share)
		}
		before = now
	}
}

// setBeyond says how many bytes are in use beyond the accounts. The pool keeps
// half its limit, so that work goes on.
func (p *Pool) setBeyond(n int64) {
	n = max(min(n, p.limit/2), 0)
	if old := p.beyond.Swap(n); n < old && p.waiting.Load() > 0 {
		p.wake()
	}
}
