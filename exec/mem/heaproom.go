package mem

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

const (
	// roomBytes is the least reservation for which garbage is collected first.
	roomBytes = 1 << 20
	// litter is how much there must be for a collection to be worth it.
	litter = 16 << 20
)

// given is what all accounts of the process have released so far.
var given atomic.Int64

var room struct {
	sync.Mutex
	s       []metrics.Sample
	cycle   uint64
	granted [2]uint64 // before that cycle and since: what was granted may not be allocated yet
	given   int64     // at the last collection here: what was released since may be garbage
}

// makeRoom collects garbage before n bytes are allocated that would bring the heap over the
// runtime's limit. The runtime looks at its limit after a large allocation, and collects beside the
// program: a few long values in turn, each dead when the next is made, would be there all at once.
// So would those of several goroutines that look at the heap before any of them allocates: what was
// granted since the last collection counts as if it were there.
//
// What the last collection left alive does not show whether there is something to collect: a value
// that a statement had then may be garbage now. What accounts have released since does.
func makeRoom(n int64) {
	room.Lock()
	defer room.Unlock()
	if room.s == nil {
		room.s = []metrics.Sample{{Name: "/gc/gomemlimit:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"},
			{Name: "/gc/cycles/total:gc-cycles"}}
	}
	metrics.Read(room.s)
	limit, have, live := room.s[0].Value.Uint64(), room.s[1].Value.Uint64(), room.s[2].Value.Uint64()
	if c := room.s[3].Value.Uint64(); c != room.cycle {
		room.cycle, room.granted = c, [2]uint64{room.granted[1], 0}
	}
	have = max(have, live+room.granted[0]+room.granted[1])
	room.granted[1] += uint64(n)
	back := given.Load()
	if have+uint64(n) <= limit-limit/4 || have < live+uint64(min(n, litter)) && back-room.given < litter {
		return // there is room, or little to collect
	}
	room.given = back
	runtime.GC()
}
