package eval

import (
	"context"

	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// call is what a function's implementation sees of one evaluation. n rows are
// to be computed; arguments hold n rows or one value for all.
type call struct {
	ctx   context.Context
	env   *Env
	a     *arena
	f     *fn.Func
	types []types.Type // of the arguments
	ret   types.Type
	n     int
	valid []byte  // strict functions: rows without a NULL argument; nil: all
	col   *column // the result's, where its values are of variable length
	memo  *any    // kept between calls of one node: compiled patterns and the like
}

// meter is what the call charges; nil where there is none.
func (c *call) meter() *meter {
	if c == nil {
		return nil
	}
	return c.a.meter()
}

// impl computes a function. For strict functions it need not care about rows
// that valid excludes, and gives a result whose valid is c.valid or less.
type impl func(c *call, args []*vec) (*vec, error)

// maker chooses the implementation for the types at hand, when a program is
// compiled.
type maker func(f *fn.Func, args []types.Type, ret types.Type) impl

// always is a maker that does not look at types.
func always(i impl) maker {
	return func(*fn.Func, []types.Type, types.Type) impl { return i }
}

// table maps fn.Func.ID to what makes its implementation.
type table map[string]maker

// put registers an implementation; the ID must be one that planner/fn lists.
func (t table) put(id string, m maker) {
	if t[id] != nil {
		panic("BUG: " + id + " is implemented twice")
	}
	t[id] = m
}

// puts registers the same implementation under several IDs.
func (t table) puts(m maker, ids ...string) {
	for _, id := range ids {
		t.put(id, m)
	}
}

// skip tells whether row i is NULL and so need not be computed.
func (c *call) skip(i int) bool { return c.valid != nil && c.valid[i>>3]>>(i&7)&1 == 0 }
