package trainer

import "sync"

// buffers is a free list of buffers for slices in transit, most of which have the same
// length. All buffers are charged.
type buffers struct {
	hold    func(n int64) error
	release func(n int64)

	mu   sync.Mutex
	idle [][]byte
}

// mostIdle bounds the free list: as many slices as a worker sends at once.
const mostIdle = 32

// get returns an empty buffer: a kept one of any capacity, or a new one for so many
// bytes; nil for 0.
func (b *buffers) get(room int) ([]byte, error) {
	b.mu.Lock()
	if k := len(b.idle) - 1; k >= 0 {
		buf := b.idle[k]
		b.idle = b.idle[:k]
		b.mu.Unlock()
		return buf[:0], nil
	}
	b.mu.Unlock()
	if room == 0 {
		return nil, nil
	}
	if err := b.hold(int64(room)); err != nil {
		return nil, err
	}
	return make([]byte, 0, room), nil
}

// grown adjusts the charge of a buffer that may have been reallocated; on an error the
// buffer is not charged at all.
func (b *buffers) grown(from, to int) error {
	err := b.hold(int64(to - from))
	if err != nil {
		b.release(int64(from))
	}
	return err
}

// put returns a buffer to the free list.
func (b *buffers) put(buf []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cap(buf) > 2*chunkBytes || len(b.idle) == mostIdle {
		b.release(int64(cap(buf)))
		return
	}
	b.idle = append(b.idle, buf)
}

// drain frees the idle buffers.
func (b *buffers) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, buf := range b.idle {
		b.release(int64(cap(buf)))
	}
	b.idle = nil
}
