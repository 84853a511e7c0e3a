package rpc

import "sync"

// reused is a free list of buffers of one size, for requests of more than least bytes.
// Their contents are not cleared: they are always overwritten.
type reused struct {
	sync.Pool
	room, least int
}

// chunkRoom is the chunk size that senders of long streams use; buffers of other sizes
// are not kept.
const chunkRoom = 256 << 10

var received = reused{room: chunkRoom, least: chunkRoom / 2}

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

// frames are the buffers that frames of HTTP/2, of at most 16 KiB, are read into.
// gRPC's own pool clears each buffer before it is overwritten.
type frames struct{ short, long reused }

var read = frames{reused{room: 4 << 10, least: 1 << 10}, reused{room: 16 << 10, least: 4 << 10}}

// Get implements mem.BufferPool.
func (f *frames) Get(n int) *[]byte {
	if n <= f.short.room {
		return f.short.Get(n)
	}
	return f.long.Get(n)
}

// Put implements mem.BufferPool. After the call the buffer may be reused by others at
// once.
func (f *frames) Put(b *[]byte) {
	if cap(*b) == f.short.room {
		f.short.Put(b)
		return
	}
	f.long.Put(b)
}

// take returns a buffer for a chunk that is received.
func take(n int) []byte { return *received.Get(n) }

// Free returns a chunk that a stream's recv returned, for reuse: it must not be read
// any more. Calling it is optional.
func Free(chunk []byte) { received.Put(&chunk) }
