package mem

import (
	"runtime"
	"runtime/metrics"
	"sync"
)

// roomBytes is how large a reservation is for which room is made first.
const roomBytes = 1 << 20

var room struct {
	sync.Mutex
	s       []metrics.Sample
	cycle   uint64
	granted [2]uint64 // before that cycle and since: what was let through may not be allocated yet
}

// makeRoom collects garbage before n bytes are allocated that would bring the
// heap over the runtime's limit. The runtime looks at its limit after a large
// allocation, and collects beside the program: a few long values in turn, each
// dead when the next is made, would be there all at once. So would those of several
// goroutines that look at the heap before any of them allocates: what was let
// through since the last collection counts as if it were there.
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
	if have+uint64(n) <= limit-limit/4 || have < live+uint64(min(n, 16<<20)) {
		return // there is room, or little to collect
	}
	runtime.GC()
}
