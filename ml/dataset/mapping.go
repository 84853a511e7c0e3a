package dataset

import (
	"slices"
	"sync"
)

// mapping is the bytes of a block in the file, mapped and checked when somebody opens it, and
// kept for the next until others are wanted: mini-batches that follow each other are of
// the same leaf, and a check reads the whole of it.
type mapping struct {
	extent extent

	opening sync.Mutex // held while it is mapped
	bytes   []byte     // nil: not mapped
	release func()
	users   int
}

// idleMappings is how many unused mappings are kept. They take no memory of their own: the system
// drops their pages as it needs to.
const idleMappings = 4

// mapped returns a mapping's bytes. done must be called once.
func (s *Blocks) mapped(m *mapping) (b []byte, done func(), err error) {
	m.opening.Lock()
	defer m.opening.Unlock()
	s.mu.Lock()
	have := m.bytes != nil
	if have {
		s.use(m)
	}
	s.mu.Unlock()
	if !have {
		b, release, err := s.file.mapped(m.extent)
		if err != nil {
			return nil, nil, err
		}
		s.mu.Lock()
		m.bytes, m.release, m.users = b, release, 1
		s.mu.Unlock()
	}
	return m.bytes, func() { s.unuse(m) }, nil
}

// use counts another user of a mapping that is there. The lock is held.
func (s *Blocks) use(m *mapping) {
	if m.users++; m.users == 1 {
		s.idle = slices.DeleteFunc(s.idle, func(o *mapping) bool { return o == m })
	}
}

func (s *Blocks) unuse(m *mapping) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.users--; m.users == 0 {
		s.idle = append(s.idle, m)
		s.unmap(idleMappings)
	}
}

// unmap releases the least recently used of the idle mappings, except for so many. The lock
// is held.
func (s *Blocks) unmap(but int) {
	for ; len(s.idle) > but; s.idle = s.idle[1:] {
		m := s.idle[0]
		m.release()
		m.bytes, m.release = nil, nil
	}
}
