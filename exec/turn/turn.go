package turn

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Length is for how long a thread works before it lets others go first: those that have just been woken, such as a statement of
// a few rows, a commit or a heartbeat. The runtime itself takes a processor away only after ten milliseconds, and each of
// them needs one several times.
const Length = time.Millisecond

var (
	threads atomic.Int32             // of all statements that work
	changed = make(chan struct{}, 1) // has a value where their number may not be what Run has seen
	crowded atomic.Bool              // there is a processor for each thread

	epoch = time.Now()
	began atomic.Int64 // when a statement began or ended last, as time since epoch; 0: none did
)

// recently is for how long after a statement the next one is expected.
const recently = 250 * time.Millisecond

// Busy reports whether statements work, or one did so recently that others will follow: then what nobody waits for, such as a
// backup, goes slowly.
func Busy() bool {
	last := began.Load()
	return threads.Load() > 0 || last > 0 && time.Since(epoch)-time.Duration(last) < recently
}

// Work notes that a statement works with that many threads, 0 for one that is soon done, until end is called. Any goroutine may
// call end, and twice.
func Work(n int) (end func()) {
	if n == 0 {
		return func() {}
	}
	add(n)
	return sync.OnceFunc(func() { add(-n) })
}

func add(n int) {
	threads.Add(int32(n))
	select {
	case changed <- struct{}{}:
	default:
	}
}

// Give lets others go first. What works for long calls it each Length, on its own goroutine.
func Give() {
	if crowded.Load() {
		slice(longSlice)
		return
	}
	runtime.Gosched()
}

// Soon is called where a goroutine begins what is answered soon, or has done what took long.
func Soon() {
	began.Store(int64(time.Since(epoch)))
	if crowded.Load() {
		slice(soonSlice)
	}
}

// Run sets how many processors the runtime has, until ctx ends: then as many as while few threads work.
func Run(ctx context.Context, cores, spare int) {
	p := Processors{Cores: cores, Spare: spare}
	now := 0
	set := func(n int) {
		if n != now {
			runtime.GOMAXPROCS(n)
			crowded.Store(n > cores+spare)
			now = n
		}
	}
	defer set(cores + spare)
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-wait.C:
		}
		n, again := p.For(int(threads.Load()), time.Now())
		set(n)
		wait.Stop()
		if again > 0 {
			wait.Reset(again)
		}
	}
}
