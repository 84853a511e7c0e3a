package block

import (
	"sync"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/tempfile"
)

// State is memory for a family's state per row, besides blocks: charged memory while
// there is plenty of it, else a mapped file that the system pages out and in. Its
// methods may be called from any goroutine.
type State struct {
	cfg  Config
	file tempfile.File
	mu   sync.Mutex
	acct *mem.Account
	maps []func()
}

// stateShare bounds the memory of a State, to the pool's divided by this: it cannot be
// freed before the end, and steps and drivers need some too.
const stateShare = 4

// NewState makes an empty one.
func NewState(cfg Config) *State {
	return &State{cfg: cfg, file: tempfile.File{Dir: cfg.Temp}, acct: cfg.Pool.Account("training state of rows", false)}
}

// Space returns n bytes of zeros, aligned to eight, that are good until Close. A
// page of the file that cannot be read or written is a fault as under any mapped
// file: see batch.Guard.
func (s *State) Space(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.cfg.Pool.Limit()
	if limit > 0 && s.acct.Used()+int64(n) > limit/stateShare ||
		limit > 0 && float64(s.cfg.Pool.Used()+int64(n)) > mem.SpillShare*float64(limit) || !s.acct.Try(int64(n)) {
		b, release, err := s.file.Space(n)
		if err == nil {
			s.maps = append(s.maps, release)
			s.cfg.Pool.AddSpilled(int64(n))
			return b, nil
		}
		if err != tempfile.ErrNoMapping {
			return nil, err
		}
		if err := s.acct.Grow(int64(n)); err != nil {
			return nil, err
		}
	}
	return tempfile.Bytes(make([]float64, (n+7)/8))[:n], nil
}

// Numbers keeps a copy of some numbers.
func (s *State) Numbers(v []float64) ([]float64, error) {
	b, err := s.Space(8 * len(v))
	if err != nil {
		return nil, err
	}
	kept := tempfile.Numbers[float64](b)
	copy(kept, v)
	return kept, nil
}

// Close frees everything: no bytes may be in use. It may be called twice.
func (s *State) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, release := range s.maps {
		release()
	}
	s.maps = nil
	s.acct.Close()
	return s.file.Close()
}
