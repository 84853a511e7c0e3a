package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Session is what binding a statement needs of the session that sent it. It is
// only read.
type Session struct {
	State *catalog.State
	// SearchPath lists schema names, "$user" already resolved. pg_catalog comes
	// before them unless it is among them.
	SearchPath []string
	TempSchema types.OID // the session's schema of temporary tables; 0 while it has none
	Role       types.OID
	// ParamTypes are the types the client gave for $1, $2, …; OID 0 or unknown
	// where it gave none. Types that the binder infers are in the result.
	ParamTypes []types.Type
	NoParams   bool // $1 is an error: a simple query has no parameters
	// Trusted says that the text is the engine's own, which needs no privileges.
	Trusted bool
	Dialect parse.Dialect
	Virtual VirtualCatalog
	Sources SourceCatalog
	// Text finds the positions for errors; nil gives errors without any.
	Text *parse.Statement
	// Env reads the literals: time zone, date order, the clock of 'now'. nil
	// is the default environment.
	Env *types.Env
	// Fold evaluates an expression without columns, for arguments that must be
	// constants (of sources, of ml relations). nil allows literals only.
	Fold func(expr.Expr) (types.Datum, error)
	// Poll, where set, is asked at each query, FROM item and expression whether
	// the statement may go on.
	Poll plan.Poll
	// Trace takes what is found; nil for nobody who asks.
	Trace *Trace
}

// VirtualCatalog knows the relations that are computed: pg_catalog,
// information_schema, ml, cluster. Columns come with Name, Type and Num. The
// OID is that of a table, which has system columns; 0 for a view.
type VirtualCatalog interface {
	Virtual(schema, name string) ([]plan.Column, types.OID, bool)
	// OfModel tells whether a relation takes a model's name, as ml.weights('m')
	// does.
	OfModel(schema, name string) bool
}

// SourceCatalog knows the table functions that read or make rows in bulk. An
// unknown name gives no columns and no error.
type SourceCatalog interface {
	Source(name string, args []plan.Arg) (cols []plan.Column, rows float64, err error)
}

// binder binds one piece of SQL text: the statement itself, or the text of a
// view or a default, which has its own search path and no positions. All
// binders of a statement share its stmt.
type binder struct {
	s    *Session
	st   *stmt
	path []string
	text *parse.Statement
	view *catalog.Relation // whose text it is; nil for any other text
	// named are the relations that the text names, where that is asked for.
	named map[*ast.RangeVar]types.OID
	// as is whose privileges count for what the text reads: the view's owner; 0
	// is who runs the statement.
	as    types.OID
	depth int  // of views within views
	plain bool // parameters are not allowed
}

// stmt is what a whole statement shares.
type stmt struct {
	next    expr.ColID
	nextBuf int
	params  []types.Type
	unknown map[int][]*expr.Param // parameters whose type is not known yet
	buffers []plan.BufferDef
	uses    []use
	owner   map[expr.ColID]*level // who computes a column, as last registered
	kind    map[expr.ColID]byte   // what computes it: 'a' aggregate, 'w' window, 's' set-returning call
	locks   []plan.Lock
	except  int // how many right sides of EXCEPT binding is in
	outer   int // how many outer joins' nullable sides binding is in
}

func newBinder(s *Session) *binder {
	return &binder{
		s: s, path: s.SearchPath, text: s.Text,
		st: &stmt{next: 1, params: append([]types.Type(nil), s.ParamTypes...),
			unknown: map[int][]*expr.Param{}, owner: map[expr.ColID]*level{}, kind: map[expr.ColID]byte{}},
	}
}

// look asks whether the statement may go on.
func (b *binder) look() error {
	if b.s.Poll == nil {
		return nil
	}
	return b.s.Poll()
}

// newCol makes a column of the level.
func (b *binder) newCol(lv *level, name string, t types.Type) plan.Column {
	c := plan.Column{ID: b.st.next, Name: name, Type: t}
	b.st.next++
	b.st.owner[c.ID] = lv
	return c
}

func col(c plan.Column) *expr.Col { return &expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name} }

// Query binds a statement that gives rows: SELECT, VALUES, TABLE, WITH. Of
// SELECT INTO it gives the query.
func Query(s *Session, n ast.Stmt) (*plan.Query, error) {
	sel, ok := n.(*ast.SelectStmt)
	if !ok {
		return nil, pgerr.Internal("a %T is not a query", n)
	}
	return newBinder(s).wholeQuery(sel)
}

func (b *binder) wholeQuery(sel *ast.SelectStmt) (*plan.Query, error) {
	r, err := (&scope{b: b}).query(sel, place{}, true)
	if err != nil {
		return nil, err
	}
	params, err := b.closeParams()
	if err != nil {
		return nil, err
	}
	return &plan.Query{Root: r.node, Cols: r.columns(), Buffers: b.st.buffers, Params: params,
		Tables: b.st.tables(), NextCol: b.st.next, Locks: b.locks(r.node)}, nil
}

// DML binds INSERT, UPDATE, DELETE or MERGE.
func DML(s *Session, n ast.Stmt) (*plan.DML, error) {
	b := newBinder(s)
	d, err := b.dml(n, &scope{b: b})
	if err != nil {
		return nil, err
	}
	if d.Params, err = b.closeParams(); err != nil {
		return nil, err
	}
	d.Buffers, d.Tables, d.NextCol = b.st.buffers, b.st.tables(), b.st.next
	return d, nil
}

// Params gives the parameter types of a statement of either kind, binding it;
// for Describe of a statement that is not planned yet.
func Params(s *Session, n ast.Stmt) ([]types.Type, error) {
	if _, ok := n.(*ast.SelectStmt); ok {
		q, err := Query(s, n)
		if err != nil {
			return nil, err
		}
		return q.Params, nil
	}
	d, err := DML(s, n)
	if err != nil {
		return nil, err
	}
	return d.Params, nil
}

// closeParams checks that each parameter's type was found.
func (b *binder) closeParams() ([]types.Type, error) {
	for i, t := range b.st.params {
		if t.OID == 0 || t.OID == types.UnknownOID {
			return nil, pgerr.New(pgerr.IndeterminateDatatype, "could not determine data type of parameter $%d", i+1).At(b.posParam(i + 1))
		}
	}
	return b.st.params, nil
}

// param binds $n.
func (b *binder) param(n int) (expr.Expr, error) {
	if b.plain || b.view != nil || b.s.NoParams {
		return nil, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $%d", n).At(b.posParam(n))
	}
	if n < 1 || n > 65535 {
		return nil, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $%d", n).At(b.posParam(n))
	}
	for len(b.st.params) < n {
		b.st.params = append(b.st.params, types.Type{})
	}
	p := &expr.Param{N: n, Typ: b.st.params[n-1]}
	if p.Typ.OID == 0 || p.Typ.OID == types.UnknownOID {
		p.Typ = types.Unknown
		b.st.unknown[n] = append(b.st.unknown[n], p)
	}
	return p, nil
}

// setParam fixes the type of a parameter that was unknown. The nodes made for
// it so far get the type too: nothing outside has seen them yet.
func (b *binder) setParam(p *expr.Param, t types.Type) (expr.Expr, error) {
	t = plainNumeric(t)
	t.Mod = -1
	if had := b.st.params[p.N-1]; had.OID != 0 && had.OID != types.UnknownOID && had.OID != t.OID {
		return nil, pgerr.New(pgerr.AmbiguousParameter, "inconsistent types deduced for parameter $%d", p.N).
			WithDetail("%s versus %s", b.typeName(had), b.typeName(t)).At(b.posParam(p.N))
	}
	b.st.params[p.N-1] = t
	for _, q := range b.st.unknown[p.N] {
		q.Typ = t
	}
	b.st.unknown[p.N] = nil
	return &expr.Param{N: p.N, Typ: t}, nil
}

// ---- positions ----

// spot is where something stands in the statement's text. Finding the place
// takes a pass over the tokens, so it is put off until there is an error.
type spot struct {
	b                *binder
	node             ast.Node
	word, op, f, lit string
	typ              string
	isLit            bool
	ident            []string
}

func (s spot) at() int {
	switch {
	case s.b == nil:
		return 0
	case s.node != nil:
		return s.b.posExpr(s.node)
	case s.word != "":
		return s.b.posWord(s.word)
	case s.op != "":
		return s.b.posOp(s.op)
	case s.f != "":
		return s.b.posFunc(s.f)
	case s.isLit:
		return s.b.posLit(s.lit)
	case s.typ != "":
		return s.b.posType(s.typ)
	case s.ident != nil:
		return s.b.posIdent(s.ident...)
	}
	return 0
}

func (b *binder) spotExpr(n ast.Node) spot       { return spot{b: b, node: n} }
func (b *binder) spotWord(w string) spot         { return spot{b: b, word: w} }
func (b *binder) spotOp(op string) spot          { return spot{b: b, op: op} }
func (b *binder) spotFunc(name string) spot      { return spot{b: b, f: name} }
func (b *binder) spotType(name string) spot      { return spot{b: b, typ: name} }
func (b *binder) spotLit(text string) spot       { return spot{b: b, lit: text, isLit: true} }
func (b *binder) spotIdent(parts ...string) spot { return spot{b: b, ident: parts} }

func (b *binder) posParam(n int) int {
	if b.text == nil {
		return 0
	}
	return b.text.FindParam(n)
}

func (b *binder) posIdent(parts ...string) int {
	if b.text == nil {
		return 0
	}
	return b.text.FindIdent(parts...)
}

func (b *binder) posFunc(name string) int {
	if b.text == nil {
		return 0
	}
	return b.text.FindFunc(name)
}

func (b *binder) posType(name string) int {
	if b.text == nil {
		return 0
	}
	return b.text.FindType(name)
}

func (b *binder) posOp(op string) int {
	if b.text == nil {
		return 0
	}
	return b.text.FindOperator(op)
}

func (b *binder) posLit(text string) int {
	if b.text == nil {
		return 0
	}
	return b.text.FindLiteral(text)
}

func (b *binder) posWord(w string) int {
	if b.text == nil {
		return 0
	}
	return b.text.FindWord(w)
}

// posExpr points at an expression as far as its first name or literal tells.
func (b *binder) posExpr(n ast.Node) int {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return b.posExpr(n.Expr)
	case *ast.ColumnRef:
		names, _ := splitFields(n)
		return b.posIdent(names...)
	case *ast.A_Const:
		return b.posConst(n)
	case *ast.FuncCall:
		_, name := qualified(n.Funcname)
		return b.posFunc(name)
	case *ast.ParamRef:
		return b.posParam(n.Number)
	case *ast.TypeCast:
		return b.posExpr(n.Arg)
	case *ast.A_Expr:
		if n.Lexpr != nil {
			return b.posExpr(n.Lexpr)
		}
		return b.posOp(opName(n.Name))
	case *ast.CaseExpr:
		return b.posWord("case")
	case *ast.SubLink:
		if n.Testexpr != nil {
			return b.posExpr(n.Testexpr)
		}
	case *ast.ResTarget:
		return b.posExpr(n.Val)
	case *ast.NullTest:
		return b.posExpr(n.Arg)
	case *ast.A_Indirection:
		return b.posExpr(n.Arg)
	case *ast.A_ArrayExpr:
		return b.posWord("array")
	case *ast.CoalesceExpr:
		return b.posWord("coalesce")
	case *ast.BoolExpr:
		if n.Args != nil && len(n.Args.Items) > 0 {
			if n.Boolop == ast.NOT_EXPR {
				return b.posWord("not")
			}
			return b.posExpr(n.Args.Items[0])
		}
	case *ast.CollateClause:
		return b.posExpr(n.Arg)
	}
	return 0
}

func (b *binder) posConst(n *ast.A_Const) int {
	switch v := n.Val.(type) {
	case *ast.String:
		return b.posLit(v.SVal)
	case *ast.Integer:
		return b.posLit(itoa(v.IVal))
	case *ast.Float:
		return b.posLit(v.FVal)
	case *ast.Boolean:
		if v.BoolVal {
			return b.posWord("true")
		}
		return b.posWord("false")
	}
	return b.posWord("null")
}

// opName is the operator's name without its schema.
func opName(l *ast.NodeList) string {
	_, name := qualified(l)
	return name
}

// strs are the String items of a list.
func strs(l *ast.NodeList) []string {
	if l == nil {
		return nil
	}
	out := make([]string, 0, len(l.Items))
	for _, n := range l.Items {
		if s, ok := n.(*ast.String); ok {
			out = append(out, s.SVal)
		}
	}
	return out
}

// items are a list's nodes; nil for no list.
func items(l *ast.NodeList) []ast.Node {
	if l == nil {
		return nil
	}
	return l.Items
}
