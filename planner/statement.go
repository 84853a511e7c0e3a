package planner

import (
	"slices"
	"sync/atomic"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Bound is a statement that was bound: a query, or one that writes. It may be
// shared and is never changed.
type Bound struct {
	Query *plan.Query // nil for one that writes
	DML   *plan.DML

	// State is that in which the statement runs where it reads tables as they were; nil: the one in which it was bound.
	State *catalog.State
	dated bool // see bind.Session

	generic atomic.Pointer[Planned] // empty: there is none
	wide    atomic.Pointer[Bound]   // see Wide
	isWide  bool
}

// Wide returns the query with the row ids of what it locks as further columns, for who locks them.
func (b *Bound) Wide() *Bound {
	if w := b.wide.Load(); w != nil {
		return w
	}
	q := *b.Query
	q.Cols = slices.Clone(q.Cols)
	for _, l := range q.Locks {
		if l.Col != 0 {
			q.Cols = append(q.Cols, plan.Column{ID: l.Col, Name: "rowid", Type: types.Int8})
		}
	}
	b.wide.CompareAndSwap(nil, &Bound{Query: &q, State: b.State, dated: b.dated, isWide: true})
	return b.wide.Load()
}

// Bind binds a statement that returns rows or writes.
func Bind(s *bind.Session, n ast.Stmt) (*Bound, error) {
	b, was := &Bound{}, s.State
	var err error
	if _, ok := n.(*ast.SelectStmt); ok {
		b.Query, err = bind.Query(s, n)
	} else {
		b.DML, err = bind.DML(s, n)
	}
	if err != nil {
		return nil, err
	}
	if b.dated = s.Dated; s.State != was {
		b.State = s.State
	}
	return b, nil
}

// In returns the state in which a statement that was bound in st runs.
func (b *Bound) In(st *catalog.State) *catalog.State {
	if b.State != nil {
		return b.State
	}
	return st
}

// Once is a bound query that is run once: a generic plan is not looked for.
func Once(q *plan.Query) *Bound {
	b := &Bound{Query: q}
	b.generic.Store(&Planned{})
	return b
}

// uses are the relations that the statement uses, with the privileges that takes.
func (b *Bound) uses() []plan.TableUse {
	if b.DML != nil {
		return b.DML.Tables
	}
	return b.Query.Tables
}

// Lasting reports whether a statement's binding depends on its text, its context and
// the catalog's definitions alone: files and the state of nodes may be others by
// the next time.
func (b *Bound) Lasting() bool {
	if b.dated {
		return false
	}
	ok := true
	var walk func(n plan.Node)
	walk = func(n plan.Node) {
		switch n.(type) {
		case *plan.Source, *plan.Virtual:
			ok = false
		}
		for _, e := range plan.Exprs(n) {
			expr.Walk(e, func(x expr.Expr) bool {
				if s, isSub := x.(*expr.Subquery); isSub {
					if below, isNode := s.Plan.(plan.Node); isNode {
						walk(below)
					}
				}
				return ok
			})
		}
		for _, k := range n.Children() {
			if ok {
				walk(k)
			}
		}
	}
	var dml func(d *plan.DML)
	buffers := func(defs []plan.BufferDef) {
		for _, d := range defs {
			if d.DML != nil {
				dml(d.DML)
			} else {
				walk(d.Root)
			}
		}
	}
	dml = func(d *plan.DML) {
		buffers(d.Buffers)
		if d.Source != nil {
			walk(d.Source)
		}
	}
	if b.DML != nil {
		dml(b.DML)
	} else {
		buffers(b.Query.Buffers)
		walk(b.Query.Root)
	}
	return ok
}
