package cursor

import (
	"iter"
	"maps"
	"slices"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Set is a session's cursors, by name.
type Set struct {
	// Declared is how many cursors were declared so far.
	Declared int

	byName map[string]*Cursor
}

// Len returns how many cursors there are.
func (s *Set) Len() int { return len(s.byName) }

// All returns the cursors in the order of their names.
func (s *Set) All() iter.Seq[*Cursor] {
	return func(yield func(*Cursor) bool) {
		if len(s.byName) == 0 {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(s.byName)) {
			if !yield(s.byName[name]) {
				return
			}
		}
	}
}

// Free returns an error if there is a cursor of the name.
func (s *Set) Free(name string) error {
	if s.byName[name] != nil {
		return pgerr.New(pgerr.DuplicateCursor, "cursor %q already exists", name)
	}
	return nil
}

// Find returns the cursor of a name.
func (s *Set) Find(name string) (*Cursor, error) {
	if c := s.byName[name]; c != nil {
		return c, nil
	}
	return nil, pgerr.New(pgerr.InvalidCursorName, "cursor %q does not exist", name)
}

// Add adds a cursor, whose name must be free.
func (s *Set) Add(c *Cursor) {
	if s.byName == nil {
		s.byName = map[string]*Cursor{}
	}
	s.byName[c.Name] = c
}

// Close closes the cursors for which gone returns true.
func (s *Set) Close(gone func(*Cursor) bool) {
	for name, c := range s.byName {
		if gone(c) {
			c.Close()
			delete(s.byName, name)
		}
	}
}

// CloseAll closes all cursors, WITH HOLD or not.
func (s *Set) CloseAll() { s.Close(func(*Cursor) bool { return true }) }

// EndTransaction closes the cursors of a transaction that ends, except those WITH HOLD.
// Before a commit these are read to their end first (Materialize).
func (s *Set) EndTransaction() { s.Close(func(c *Cursor) bool { return !c.Hold }) }

// Materialize reads cursors WITH HOLD to their end.
func (s *Set) Materialize() error {
	for c := range s.All() {
		if c.Hold {
			if err := c.Materialize(); err != nil {
				return err
			}
		}
	}
	return nil
}
