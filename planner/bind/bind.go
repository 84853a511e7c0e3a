package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/model"
	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The input of binding, and what it records on request.
type (
	Session        = scope.Session
	Names          = typing.Names
	VirtualCatalog = scope.VirtualCatalog
	SourceCatalog  = scope.SourceCatalog
	Trace          = scope.Trace
)

func newBinder(s *Session) *scope.Binder {
	return scope.NewBinder(s, scope.Nested{Subquery: query.Subquery, RowSubquery: query.RowSubquery, Predict: model.Predict,
		ModelTable: model.Table, ModelView: model.View, DML: bindDML, Function: query.Function})
}

// Query binds a statement that returns rows: SELECT, VALUES, TABLE, WITH. For SELECT INTO it
// returns the query.
func Query(s *Session, n ast.Stmt) (*plan.Query, error) {
	sel, ok := n.(*ast.SelectStmt)
	if !ok {
		return nil, pgerr.Internal("a %T is not a query", n)
	}
	return wholeQuery(newBinder(s), sel)
}

func wholeQuery(b *scope.Binder, sel *ast.SelectStmt) (*plan.Query, error) {
	b.Stmt.Top = sel
	r, err := query.Bind(&scope.Scope{Binder: b}, sel, scope.Place{}, true)
	if err != nil {
		return nil, err
	}
	params, err := b.CloseParams()
	if err != nil {
		return nil, err
	}
	return &plan.Query{Root: r.Node, Cols: r.Columns(), Buffers: b.Stmt.Buffers, Params: params,
		Tables: b.Stmt.Tables(), NextCol: b.Stmt.Next, Locks: query.Locks(b, r.Node)}, nil
}

// DML binds INSERT, UPDATE, DELETE or MERGE.
func DML(s *Session, n ast.Stmt) (*plan.DML, error) {
	b := newBinder(s)
	d, err := bindDML(&scope.Scope{Binder: b}, n)
	if err != nil {
		return nil, err
	}
	if d.Params, err = b.CloseParams(); err != nil {
		return nil, err
	}
	d.Buffers, d.Tables, d.NextCol = b.Stmt.Buffers, b.Stmt.Tables(), b.Stmt.Next
	return d, nil
}
