package rpc

import "sync"

// reused keeps buffers of one size, for what takes more than least of it. What is in them is
// always written over.
type reused struct {
	sync.Pool
	room, least int
}

// pieceRoom is a piece as the senders of long streams make them; other sizes are not kept.
const pieceRoom = 256 << 10

var received = reused{room: pieceRoom, least: pieceRoom / 2}

// Get implements mem.BufferPool.
func (p *reused) Get(n int) *[]byte {
	if n > p.least && n <= p.room {
		if b, ok := p.Pool.Get().(*[]byte); ok {
			*b = (*b)[:n]
			return b
		}
		b := make([]byte, n, p.room)
		return &b
	}
	b := make([]byte, n)
	return &b
}

// Put implements mem.BufferPool.
func (p *reused) Put(b *[]byte) {
	if cap(*b) == p.room {
		p.Pool.Put(b)
	}
}

// frames are the buffers that frames of HTTP/2, of at most 16 KiB, are read into. gRPC's own
// clears each before it is written over.
type frames struct{ short, long reused }

var read = frames{reused{room: 4 << 10, least: 1 << 10}, reused{room: 16 << 10, least: 4 << 10}}

// Get implements mem.BufferPool.
func (f *frames) Get(n int) *[]byte {
	if n <= f.short.room {
		return f.short.Get(n)
	}
	return f.long.Get(n)
}

// Put implements mem.BufferPool. What is put is somebody else's: it is not looked at again.
func (f *frames) Put(b *[]byte) {
	if cap(*b) == f.short.room {
		f.short.Put(b)
		return
	}
	f.long.Put(b)
}

// take makes room for a piece that is received.
func take(n int) []byte { return *received.Get(n) }

// Free takes back a piece that a stream gave, for others to come: nobody may look at it
// any more. It need not be called.
func Free(piece []byte) { received.Put(&piece) }
