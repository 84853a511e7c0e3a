package mem

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// TestReleaseAfterUse: unused heap is returned to the operating system after it has been unused for
// a while, not between statements that follow each other, and not all the time.
func TestReleaseAfterUse(t *testing.T) {
	var r release
	allocated, each := uint64(0), uint64(0)
	looks := func(spare int64, n int) (given int) {
		for range n {
			if allocated += each; r.after(spare, allocated) {
				given++
			}
		}
		return given
	}
	if n := looks(releaseBytes-1, 5*releaseLooks); n != 0 {
		t.Errorf("given back %d times with little to give", n)
	}
	for range 5 {
		if n := looks(0, 10) + looks(3*releaseBytes, releaseLooks-1); n != 0 {
			t.Errorf("given back %d times between statements", n)
		}
	}
	if n := looks(3*releaseBytes, 1) + looks(0, 10); n != 1 {
		t.Errorf("given back %d times after the last", n)
	}
	if n := looks(3*releaseBytes, 2*releaseLooks); n != 2 {
		t.Errorf("given back %d times in %d looks", n, 2*releaseLooks)
	}
	each = 1 << 10
	if n := looks(3*releaseBytes, 2*releaseLooks); n != 2 {
		t.Errorf("given back %d times beside what the node does by itself", n)
	}
	each = 2 * releaseBytes / releaseLooks
	if n := looks(3*releaseBytes, 5*releaseLooks); n != 0 {
		t.Errorf("given back %d times what statements go through", n)
	}
	each = 0
	if n := looks(3*releaseBytes, releaseLooks); n != 1 {
		t.Errorf("given back %d times after the last of them", n)
	}
}

// TestBeyondIsLookedAtAgain: memory that a garbage collection found live outside of the accounts,
// because it ran just as a statement ended, counts only until the next collection, which the
// watcher must start: nothing else may.
func TestBeyondIsLookedAtAgain(t *testing.T) {
	const size = 256 << 20
	p := NewPool("n", size)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		p.Watch(stop, 64<<20)
	}()
	defer func() {
		close(stop)
		<-ended
	}()
	kept := make([]byte, size)
	until := func(much bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); p.beyond.Load() > size/doubtShare != much; runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("%d bytes are in use beyond the accounts", p.beyond.Load())
			}
		}
	}
	runtime.GC()
	until(true)
	runtime.KeepAlive(kept)
	kept = nil
	until(false)
}

// TestDoubt: while much live memory is outside of the accounts, garbage collections are at least a
// second apart.
func TestDoubt(t *testing.T) {
	var d doubt
	n := 0
	for range 10 * doubtLooks {
		if d.after(true) {
			n++
		}
	}
	if d.wait = 0; n < 9 || n > 10 || d.after(false) {
		t.Errorf("%d collections in ten seconds, or one for nothing", n)
	}
}

// TestChargedBetweenLooks: memory that was charged and released between two samples is not counted
// as outside of the accounts because a collection found it live in between; an operator that spills
// does so many times a second.
func TestChargedBetweenLooks(t *testing.T) {
	const size = 64 << 20
	p := NewPool("n", 4*size)
	l := &liveHeap{p: p, share: size / 2, s: []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}}
	l.look()
	a := p.Account("sort", true)
	defer a.Close()
	a.Take(size)
	rows := make([]byte, size)
	runtime.GC()
	runtime.KeepAlive(rows)
	a.Shrink(size)
	if l.look(); p.beyond.Load() > 0 {
		t.Errorf("%d bytes are beyond the accounts that were charged", p.beyond.Load())
	}
}

// TestInsistingRecounts: what was found beyond the accounts is counted again before a request that insists
// is refused for it, however short ago that was done: after GROUP BY had spilled its tables, which a
// collection had found alive, the writer of CREATE TABLE AS was refused 44 bytes.
func TestInsistingRecounts(t *testing.T) {
	const size = 64 << 20
	p := NewPool("n", size)
	l := &liveHeap{p: p, share: size / 2, s: []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}}
	p.live.Store(l)
	l.counted, l.took = time.Now(), time.Hour
	q := p.Child("q", 0)
	defer q.Close()
	table, a := q.Account("hash aggregate", true), q.Account("write", true)
	defer table.Close()
	defer a.Close()
	table.Take(size / 2) // what is beyond counts as half of the limit at most
	kept := make([]byte, 2*size)
	runtime.GC()
	l.look()
	runtime.KeepAlive(kept)
	kept = nil
	if err := a.Grow(1); !a.Refused(err) {
		t.Fatalf("%v, with %d bytes beyond the accounts", err, p.beyond.Load())
	}
	if err := a.Insist(t.Context(), 1); err != nil {
		t.Error(err)
	}
}
