//go:build unix

package pg

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// eager is a connection whose reader polls for the client's next message a short while before it
// parks. For a statement by key, parking and being woken by the network cost as much as executing
// it: the thread sleeps, the client's message wakes it and the runtime's poller besides, and on a
// virtual machine each wake-up exits to the hypervisor.
//
// It polls only where the client was as quick with its last message, and stops when another
// connection gets one: with several clients the processor has other work.
type eager struct {
	net.Conn
	raw     syscall.RawConn
	attempt func(fd uintptr) bool // e.try
	latest  *atomic.Pointer[eager]

	// Of the read in progress, which is one at a time.
	p    []byte
	n    int
	err  error
	took time.Duration // the last wait
}

// eagerFor is how long a client is polled for, eagerEvery how often: a client that gets an answer
// and sends the next statement takes some 40 µs.
const (
	eagerFor   = 100 * time.Microsecond
	eagerEvery = 2 * time.Microsecond
)

// newEager makes a connection eager; latest is the one that got a message last, of all that share a
// processor. One that is no socket is returned unchanged.
func newEager(nc net.Conn, latest *atomic.Pointer[eager]) net.Conn {
	if s, ok := nc.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			e := &eager{Conn: nc, raw: raw, latest: latest, took: eagerFor + 1}
			e.attempt = e.try
			return e
		}
	}
	return nc
}

// Read implements net.Conn.
func (e *eager) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	from := time.Now()
	e.p = p
	err := e.raw.Read(e.attempt)
	e.p = nil
	e.took = time.Since(from)
	e.latest.Store(e)
	if err != nil || e.err != nil || e.n == 0 {
		return e.Conn.Read(p) // which returns the error: the end, a deadline, a failure
	}
	return e.n, nil
}

// try reads what is available; with false the goroutine parks until something is.
func (e *eager) try(fd uintptr) bool {
	if e.read(fd) {
		return true
	}
	if e.took > eagerFor {
		return false
	}
	for from, at := time.Now(), time.Now(); e.latest.Load() == e && at.Sub(from) < eagerFor; {
		if now := time.Now(); now.Sub(at) >= eagerEvery {
			if e.read(fd) {
				return true
			}
			at = now
		}
	}
	return false
}

func (e *eager) read(fd uintptr) bool {
	for {
		if e.n, e.err = syscall.Read(int(fd), e.p); e.err != syscall.EINTR {
			return e.err != syscall.EAGAIN
		}
	}
}
