package function

import (
	"context"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// Call is one evaluation of a function. N rows are to be computed; arguments hold N rows or
// one value for all.
type Call struct {
	Ctx   context.Context
	Env   *Env
	Arena *vector.Arena
	Fn    *fn.Func
	Types []types.Type // of the arguments
	Ret   types.Type
	N     int
	Valid []byte         // strict functions: rows without a NULL argument; nil: all
	col   *vector.Column // the result's, where its values are of variable length
	Memo  *any           // kept between calls of one node: compiled patterns and the like
	// NullOn, where set, says which errors of a row make its result NULL.
	NullOn func(error) bool
}

// Meter returns the meter that the call charges; nil where there is none.
func (c *Call) Meter() *vector.Meter {
	if c == nil {
		return nil
	}
	return c.Arena.Meter()
}

// Impl computes a function. For strict functions it may ignore rows that c.Valid excludes, and
// returns a result whose Valid is c.Valid or a subset.
type Impl func(c *Call, args []*vector.Vec) (*vector.Vec, error)

// Maker chooses the implementation for the types at hand, when a program is
// compiled.
type Maker func(f *fn.Func, args []types.Type, ret types.Type) Impl

// Always returns a Maker that ignores the types.
func Always(i Impl) Maker {
	return func(*fn.Func, []types.Type, types.Type) Impl { return i }
}

// Table maps fn.Func.ID to the Maker of its implementation.
type Table map[string]Maker

// Put registers an implementation; the ID must be one that planner/fn lists.
func (t Table) Put(id string, m Maker) {
	if t[id] != nil {
		panic("BUG: " + id + " is implemented twice")
	}
	t[id] = m
}

// Puts registers the same implementation under several IDs.
func (t Table) Puts(m Maker, ids ...string) {
	for _, id := range ids {
		t.Put(id, m)
	}
}

// Skip reports whether row i is NULL and so need not be computed.
func (c *Call) Skip(i int) bool { return c.Valid != nil && c.Valid[i>>3]>>(i&7)&1 == 0 }
