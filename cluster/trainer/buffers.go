package trainer

import "sync"

// buffers are for slices on their way, and kept for those that follow: most are of one
// length. All are charged.
type buffers struct {
	hold    func(n int64) error
	release func(n int64)

	mu   sync.Mutex
	idle [][]byte
}

// mostIdle bounds what is kept: as many as a worker sends at once, of a slice.
const mostIdle = 32

// get returns an empty buffer, of at least so many bytes.
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

// grown charges for a buffer that may have become longer, which is not charged at all
// where that cannot be.
func (b *buffers) grown(from, to int) error {
	err := b.hold(int64(to - from))
	if err != nil {
		b.release(int64(from))
	}
	return err
}

// put takes a buffer back.
func (b *buffers) put(buf []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cap(buf) > 2*pieceBytes || len(b.idle) == mostIdle {
		b.release(int64(cap(buf)))
		return
	}
	b.idle = append(b.idle, buf)
}

// drain frees those that wait.
func (b *buffers) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, buf := range b.idle {
		b.release(int64(cap(buf)))
	}
	b.idle = nil
}
