package mem

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/tributarydb/tributary/exec/spare"
)

// Watch compares the pool of a node with the live heap that garbage collections find, until stop is
// closed: what lives beyond the accounts and share counts as used from then on, so that others
// spill and new work waits. It catches what no account knows of: a client's huge literal, a
// function's long result. Where that is much it collects once more, to be sure: of a statement that
// ended during a collection everything is found alive though no account has it any more, and the
// next statement would be refused memory before another collection.
//
// It also returns memory to the system once a large statement is over: the runtime would keep it
// for the next one, and the process would look as large as the largest thing it ever did.
func (p *Pool) Watch(stop <-chan struct{}, share int64) {
	const every = 50 * time.Millisecond
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	t := time.NewTicker(every)
	defer t.Stop()
	l := &liveHeap{p: p, share: share, s: []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}}
	p.live.Store(l)
	defer p.live.Store(nil)
	var idle release
	var again doubt
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		if p.limit.Load() == noLimit {
			continue
		}
		l.look()
		if again.after(p.doubtful()) {
			runtime.GC()
		}
		metrics.Read(s)
		var held uint64 // from the system
		for _, m := range s[:3] {
			held += m.Value.Uint64()
		}
		if idle.after(int64(held)-p.used.Load()-share, s[3].Value.Uint64()+spare.Reused()) {
			debug.FreeOSMemory()
		}
	}
}

// liveHeap finds what lives beyond a pool's accounts.
type liveHeap struct {
	p     *Pool
	share int64

	mu    sync.Mutex
	s     []metrics.Sample
	cycle uint64

	counting sync.Mutex
	counted  time.Time     // the last recount
	took     time.Duration // it did
}

// recountRest: an account that can spill, and does not insist, causes no recount until this many times the duration of the last one has passed.
const recountRest = 10

// look reads what the last collection found, if there was one since the last look.
func (l *liveHeap) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	metrics.Read(l.s)
	high := l.p.high.Swap(l.p.used.Load())
	if c := l.s[1].Value.Uint64(); c != l.cycle {
		l.cycle = c
		// The collection was between the two looks: the most that was charged in that time may have been
		// live then. A sort fills its memory and spills it many times between two looks, so what is
		// charged at them is no measure of it.
		l.p.setBeyond(int64(l.s[0].Value.Uint64()) - high - l.share)
	}
}

// doubtful reports whether much was found beyond the accounts.
func (p *Pool) doubtful() bool { return p.beyond.Load() > p.Limit()/doubtShare }

// recount collects garbage where much was found beyond the accounts, before somebody is refused
// bytes for it: it may have died since. It reports whether less was found. often is for accounts that
// can spill, unless they insist: they are refused often where much does live there, and do not collect
// each time.
func (p *Pool) recount(often bool) bool {
	l := p.live.Load()
	if l == nil || !p.doubtful() {
		return false
	}
	l.counting.Lock()
	defer l.counting.Unlock()
	from, before := time.Now(), p.beyond.Load()
	if often && from.Sub(l.counted) < recountRest*l.took {
		return false
	}
	runtime.GC()
	l.look()
	l.counted = time.Now()
	l.took = l.counted.Sub(from)
	return p.beyond.Load() < before
}

// doubt decides when to check whether what was found beyond the accounts still lives.
type doubt struct{ wait int }

const (
	doubtShare = 8  // of the limit, what is worth a collection
	doubtLooks = 20 // a second: what does live there is not collected all the time
)

// after takes at each look whether much was found, and reports whether to collect.
func (d *doubt) after(much bool) bool {
	if d.wait > 0 {
		d.wait--
		return false
	}
	if much {
		d.wait = doubtLooks
	}
	return much
}

// release decides when to return memory to the system, by what the heap holds of it beyond all
// accounts at each look.
type release struct {
	looks int    // in a row at which that was much
	from  uint64 // what had been allocated at the first of them
}

const (
	releaseBytes = 64 << 20 // worth it
	// Ten seconds: a user at work sends the next statement before that, and memory fresh from the
	// system may cost a large statement a third of its time.
	releaseLooks = 200
)

// after takes how many bytes could go back now, and how many were ever allocated or taken of
// spares, and reports whether to return them. What statements allocated meanwhile came out of the
// same memory: where one follows another there is much to return at every look, and as much of it
// as they took, half or more, is about to be used.
func (r *release) after(free int64, allocated uint64) bool {
	if free < releaseBytes {
		r.looks = 0
		return false
	}
	if r.looks == 0 {
		r.from = allocated
	}
	r.looks++
	if r.looks < releaseLooks {
		return false
	}
	r.looks = 0
	return 2*(allocated-r.from) < uint64(free)
}

// setBeyond sets how many bytes are in use beyond the accounts. The pool keeps half its limit, so
// that work goes on.
func (p *Pool) setBeyond(n int64) {
	n = max(min(n, p.Limit()/2), 0)
	if old := p.beyond.Swap(n); n < old && p.waiting.Load() > 0 {
		p.wake()
	}
}
