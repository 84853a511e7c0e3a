package block

import (
	"slices"
	"sync"
)

// made is a block that is nowhere: it is made of rows each time that somebody
// opens it, and kept for the next until others are wanted. Mini-batches that
// follow each other are of the same leaf.
type made struct {
	rows    int
	windows int // of a block of windows
	bytes   int64
	build   func() (*Block, error)

	making sync.Mutex // held while it is made
	b      *Block
	users  int
}

// idleBlocks is how many unused re-created blocks are kept.
const idleBlocks = 2

// PutMade keeps a block of so many rows, windows, or 0, and bytes as what makes it.
func (s *Blocks) PutMade(id, rows, windows int, bytes int64, build func() (*Block, error)) {
	m := &made{rows: rows, windows: windows, bytes: bytes, build: build}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = true
	s.drop(id)
	s.items[id] = &stored{made: m}
}

// open returns the block, made if it is not there.
func (s *Blocks) open(m *made) (b *Block, release func(), err error) {
	m.making.Lock()
	defer m.making.Unlock()
	s.mu.Lock()
	have := m.b != nil
	if have {
		s.use(m)
	}
	s.mu.Unlock()
	if !have {
		if err := s.gate.Enter(func() error { return s.fill(m) }); err != nil {
			return nil, nil, err
		}
	}
	c := *m.b
	return &c, func() { s.unuse(m) }, nil
}

// fill makes a block, and takes its memory.
func (s *Blocks) fill(m *made) error {
	s.mu.Lock()
	s.dropIdle(idleBlocks - 1)
	s.mu.Unlock()
	if err := s.Reserve(m.bytes); err != nil {
		return err
	}
	b, err := m.build()
	if err != nil {
		// The memory of idle blocks may suffice for its rows.
		if err = s.Evict(); err == nil {
			b, err = m.build()
		}
	}
	if err != nil {
		s.Unreserve(m.bytes)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m.b, m.users = b, 1
	return nil
}

// use counts another user of a block that is there. Called with the lock held.
func (s *Blocks) use(m *made) {
	if m.users++; m.users == 1 {
		s.gate.Join()
		s.idle = slices.DeleteFunc(s.idle, func(o *made) bool { return o == m })
	}
}

func (s *Blocks) unuse(m *made) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.users--; m.users == 0 {
		s.gate.Leave()
		s.idle = append(s.idle, m)
		s.dropIdle(idleBlocks)
	}
}

// dropIdle drops the least recently used of the idle blocks, except for so many. The
// lock is held.
func (s *Blocks) dropIdle(but int) {
	for len(s.idle) > but {
		s.forget(s.idle[0])
	}
}

// forget drops a re-created block, if it is not in use. The lock is held.
func (s *Blocks) forget(m *made) {
	if m.b == nil || m.users > 0 {
		return
	}
	s.idle = slices.DeleteFunc(s.idle, func(o *made) bool { return o == m })
	m.b = nil
	s.acct.Shrink(m.bytes)
}
