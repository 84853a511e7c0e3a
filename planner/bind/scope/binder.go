package scope

import (
	"strings"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// Session is the part of the session that binding a statement needs. Only State, Named and Dated are changed: see Past.
type Session struct {
	typing.Names
	// ParamTypes are the types the client gave for $1, $2, …; OID 0 or unknown
	// where it gave none. Types that the binder infers are in the result.
	ParamTypes []types.Type
	NoParams   bool // $1 is an error: a simple query has no parameters
	Dialect    parse.Dialect
	Virtual    VirtualCatalog
	Sources    SourceCatalog
	// Text finds the positions for errors; with nil they have none.
	Text *parse.Statement
	// Env reads the literals: time zone, date order, the clock of 'now'. nil
	// is the default environment.
	Env *types.Env
	// Fold evaluates an expression without columns, for arguments that must be
	// constants (of sources, of ml relations). nil allows literals only.
	Fold func(expr.Expr) (types.Datum, error)
	// Past returns the catalog as it was at a time, as it may be read now; nil where the past cannot be read. A table that is
	// read so becomes one of State, which is another then.
	Past func(at time.Time) (*catalog.State, error)
	// Recorded: the text was bound before, and State has the tables of the past that it names (catalog.PastOf); Named counts
	// those that binding has come to.
	Recorded bool
	Named    int
	// Dated is set where what the statement means depends on the time or on values of parameters.
	Dated bool
	// HasParams: Fold knows the values of parameters.
	HasParams bool
	// Poll, where set, is called at each query, FROM item and expression; its error ends binding.
	Poll plan.Poll
	// Grown, where set, is told now and then how many columns the statement's plan has; its error ends binding.
	Grown func(columns expr.ColID) error
	// Trace, if not nil, receives what names and expressions are bound to.
	Trace *Trace
}

// VirtualCatalog has the relations that are computed: pg_catalog, information_schema, ml, cluster.
// Columns come with Name, Type and Num. The OID is that of a table, which has system columns; 0 for
// a view.
type VirtualCatalog interface {
	Virtual(schema, name string) ([]plan.Column, types.OID, bool)
	// OfModel reports whether a relation takes a model's name, as ml.weights('m')
	// does.
	OfModel(schema, name string) bool
}

// SourceCatalog has the table functions that read or make rows in bulk. Source describes a call,
// with all its columns; nil for an unknown name.
type SourceCatalog interface {
	Source(name string, args []plan.Arg) (*plan.Source, error)
}

// Binder binds one SQL text: the statement itself, or the text of a view or a default, which has
// its own search path and no positions. All binders of a statement share its stmt.
type Binder struct {
	told expr.ColID // the last that Grown was told of
	typing.Resolver
	Session *Session
	Stmt    *Statement
	// Named, if not nil, receives the relations and models that the text names.
	Named *Named
	// As is the role whose privileges count for what the text reads: the view's owner; 0 is the role
	// that runs the statement.
	As types.OID
	// Runs is the role that calls functions: the owner of a SECURITY DEFINER function for what its text
	// does; 0 is the role that runs the statement, also in the text of a view.
	Runs types.OID
	// In is the function whose text it is, and Args are its arguments.
	In    *catalog.Function
	Args  []expr.Expr
	Depth int     // of views within views
	over  *Binder // the text that reads this one's view; nil for the statement's
	// Rows says that the text may name ctid or xmin, so scans have them.
	Rows bool
	// inner are the aliases of a query that stands for a call: whoever wrote the call does not know them.
	inner map[string]bool
}

// Within binds a query that stands for a call, whose aliases no error names.
func (b *Binder) Within(aliases map[string]bool, bind func() (FromItem, error)) (FromItem, error) {
	was := b.inner
	b.inner = aliases
	defer func() { b.inner = was }()
	return bind()
}

// Named has the places in a text that name a relation, and for each model what changes the places that
// name it so that they name it as it is called now.
type Named struct {
	Relations map[*ast.RangeVar]types.OID
	Models    map[types.OID][]func(now string)
}

// Nested has the functions that bind parts of expressions and FROM clauses in packages above this
// one.
type Nested struct {
	Subquery    func(sc *Scope, n *ast.SubLink, p Place) (expr.Expr, error)
	RowSubquery func(sc *Scope, op string, row *ast.RowExpr, n *ast.SubLink, p Place) (expr.Expr, error)
	Predict     func(sc *Scope, name string, args []ast.Node, p Place) (expr.Expr, error)
	// ModelTable binds a relation made of a query and a model; ok is false for other names. ModelView
	// binds the arguments of one that shows a model's contents.
	ModelTable func(sc *Scope, name string, n *ast.RangeFunction, fc *ast.FuncCall) (item FromItem, ok bool, err error)
	ModelView  func(sc *Scope, name string, args []ast.Node) (view string, vals []types.Datum, keys []plan.Column, err error)
	DML        func(sc *Scope, n ast.Stmt) (*plan.DML, error)
	// Function binds the body of a function in place of a call.
	Function func(sc *Scope, f *fn.Func, args []expr.Expr, ret types.Type, p Place) (expr.Expr, error)
}

// Statement is shared by all binders of a statement.
type Statement struct {
	Next    expr.ColID
	NextBuf int
	Nested  Nested
	Buffers []plan.BufferDef
	Uses    []Use
	Owner   map[expr.ColID]*Level // the level that computes a column, as last registered
	Kind    map[expr.ColID]byte   // what computes it: 'a' aggregate, 'w' window, 's' set-returning call
	Locks   []plan.Lock
	// Top is the query that is the whole statement, if it is one.
	Top    *ast.SelectStmt
	Except int                // how many right sides of EXCEPT binding is in
	Outer  int                // how many outer joins' nullable sides binding is in
	closed map[plan.Node]bool // see Close
	// Promised are the bodies of functions that were put in place of calls, with the functions and the calls'
	// arguments.
	Promised map[expr.Expr]Promise
}

// Promise is what a function declares of its body, and the arguments, of which it declares nothing.
type Promise struct {
	Func *fn.Func
	Args []expr.Expr
}

// NewBinder makes the binder of a statement's text.
func NewBinder(s *Session, nested Nested) *Binder {
	return &Binder{
		Resolver: typing.NewResolver(&s.Names, s.Env, s.Text, s.ParamTypes, s.NoParams), Session: s,
		Rows: s.Text == nil || mayNameRows(s.Text.Text),
		Stmt: &Statement{Next: 1, Nested: nested, Owner: map[expr.ColID]*Level{}, Kind: map[expr.ColID]byte{}},
	}
}

// mayNameRows reports whether a text may name the system columns that scans read, which most do not, or have
// a sample that is chosen by them.
func mayNameRows(text string) bool {
	for i := range len(text) {
		var word string
		switch text[i] | 0x20 {
		case 'c':
			word = "ctid"
		case 'x':
			word = "xmin"
		case 'r':
			word = "repeatable"
		default:
			continue
		}
		if len(text)-i >= len(word) && strings.EqualFold(text[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// Poll reports whether the statement may go on.
func (b *Binder) Poll() error {
	if g := b.Session.Grown; g != nil && b.Stmt.Next >= b.told+1024 {
		b.told = b.Stmt.Next
		if err := g(b.told); err != nil {
			return err
		}
	}
	if b.Session.Poll == nil {
		return nil
	}
	return b.Session.Poll()
}

// NewCol makes a column of the level.
func (b *Binder) NewCol(lv *Level, name string, t types.Type) plan.Column {
	c := plan.Column{ID: b.Stmt.Next, Name: name, Type: t}
	b.Stmt.Next++
	b.Stmt.Owner[c.ID] = lv
	return c
}

func Col(c plan.Column) *expr.Col { return &expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name} }
