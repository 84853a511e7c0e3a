package sequence

import (
	"maps"
	"slices"
	"sync"

	"github.com/tributarydb/tributary/sql/types"
)

// Session holds the values that a session took last from sequences. Its methods may be
// called from any goroutine.
type Session struct {
	own sync.Mutex // of sequences that only its transaction knows

	mu   sync.Mutex
	vals map[types.OID]int64
	last types.OID
}

func (s *Session) took(seq types.OID, value int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vals == nil {
		s.vals = map[types.OID]int64{}
	}
	s.vals[seq], s.last = value, seq
}

// Currval returns the value taken last from a sequence; false if there was none.
func (s *Session) Currval(seq types.OID) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.vals[seq]
	return v, ok
}

// Lastval returns the value taken last, and its sequence; 0 if there was none.
func (s *Session) Lastval() (seq types.OID, value int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.vals[s.last]
}

// sequences lists those that values were taken from.
func (s *Session) sequences() []types.OID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.vals))
}

// Discard forgets what was taken.
func (s *Session) Discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vals, s.last = nil, 0
}
