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
	s []metrics.Sample
}

// makeRoom collects garbage before n bytes are allocated that would bring the
// heap over the runtime's limit. The runtime looks at its limit after a large
// allocation, and collects beside the program: a few long values in turn, each
// dead when the next is made, would be there all at once.
func makeRoom(n int64) {
	room.Lock()
	defer room.Unlock()
	if room.s == nil {
		room.s = []metrics.Sample{{Name: "/gc/gomemlimit:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	}
	metrics.Read(room.s)
	limit, have, live := room.s[0].Value.Uint64(), room.s[1].Value.Uint64(), room.s[2].Value.Uint64()
	if have+uint64(n) <= limit-limit/8 || have < live+uint64(min(n, 16<<20)) {
		return // there is room, or little to collect
	}
	runtime.GC()
}
