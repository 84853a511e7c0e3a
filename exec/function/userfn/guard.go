package userfn

import (
	"fmt"

	"go.starlark.net/syntax"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// guard replaces, in the tree of a function, what can make large values by calls that charge for them. Names that
// no source can have stand for these: ·add and the like.
type guard struct {
	f             *catalog.Function
	floats, ints  map[string]bool // parameters of the function that are always such numbers
	loops, unsafe bool            // the source has loops; it can make an integer grow
	err           error
}

// newGuard looks at what is known of a function's names.
func newGuard(f *catalog.Function, def *syntax.DefStmt, file *syntax.File, batch bool) *guard {
	g := &guard{f: f, floats: map[string]bool{}, ints: map[string]bool{}}
	if !batch {
		in := f.Inputs()
		for i, p := range def.Params {
			id, ok := p.(*syntax.Ident)
			if !ok || i >= len(in) {
				break
			}
			switch in[i].Type.Class() {
			case types.ClassFloat:
				g.floats[id.Name] = true
			case types.ClassInteger:
				g.ints[id.Name] = true
			}
		}
	}
	forget := func(e syntax.Expr) {
		syntax.Walk(e, func(n syntax.Node) bool {
			if id, ok := n.(*syntax.Ident); ok {
				delete(g.floats, id.Name)
				delete(g.ints, id.Name)
			}
			return true
		})
	}
	defs, operations := 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			forget(n.LHS)
			operations++
		case *syntax.ForStmt:
			g.loops = true
			forget(n.Vars)
		case *syntax.ForClause:
			g.loops = true
			forget(n.Vars)
		case *syntax.WhileStmt:
			g.loops = true
		case *syntax.DefStmt:
			if defs++; n != def {
				for _, p := range n.Params {
					forget(p)
				}
			}
		case *syntax.LambdaExpr:
			defs++
			for _, p := range n.Params {
				forget(p)
			}
		case *syntax.BinaryExpr:
			operations++
		}
		return true
	})
	g.unsafe = g.loops || defs > 1 || operations > 16
	return g
}

// float reports whether an expression is a float whatever happens.
func (g *guard) float(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.float(e.X)
	case *syntax.Literal:
		return e.Token == syntax.FLOAT
	case *syntax.Ident:
		return g.floats[e.Name]
	case *syntax.UnaryExpr:
		return e.Op == syntax.MINUS && e.X != nil && g.float(e.X)
	case *syntax.CondExpr:
		return g.float(e.True) && g.float(e.False)
	case *syntax.BinaryExpr:
		switch e.Op {
		case syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.SLASH:
			return g.float(e.X) || g.float(e.Y)
		}
	}
	return false
}

// int reports whether an expression is an integer whatever happens.
func (g *guard) int(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.int(e.X)
	case *syntax.Literal:
		_, small := e.Value.(int64)
		return e.Token == syntax.INT && small
	case *syntax.Ident:
		return g.ints[e.Name]
	case *syntax.UnaryExpr:
		return e.Op == syntax.MINUS && e.X != nil && g.int(e.X)
	case *syntax.BinaryExpr:
		switch e.Op {
		case syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.SLASHSLASH, syntax.PERCENT:
			return g.int(e.X) && g.int(e.Y)
		}
	}
	return false
}

func (g *guard) file(f *syntax.File) error {
	g.stmts(f.Stmts)
	return g.err
}

func (g *guard) refuse(at syntax.Position, format string, args ...any) {
	if g.err == nil {
		g.err = pgerr.Unsupported("Starlark function %s: "+format, append([]any{g.f.Name}, args...)...).
			WithDetail("Line %d of its source.", lineOf(g.f, int(at.Line)))
	}
}

func (g *guard) stmts(list []syntax.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			g.assign(s)
		case *syntax.DefStmt:
			g.params(s.Params)
			g.stmts(s.Body)
		case *syntax.ExprStmt:
			s.X = g.expr(s.X)
		case *syntax.ForStmt:
			s.X = g.expr(s.X)
			s.Vars = g.expr(s.Vars)
			g.stmts(s.Body)
		case *syntax.WhileStmt:
			s.Cond = g.expr(s.Cond)
			g.stmts(s.Body)
		case *syntax.IfStmt:
			s.Cond = g.expr(s.Cond)
			g.stmts(s.True)
			g.stmts(s.False)
		case *syntax.ReturnStmt:
			if s.Result != nil {
				s.Result = g.expr(s.Result)
			}
		case *syntax.LoadStmt:
			g.refuse(s.Load, "load is not supported")
		}
	}
}

func (g *guard) params(list []syntax.Expr) {
	for _, p := range list {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			b.Y = g.expr(b.Y)
		}
	}
}

// assign makes x += y into x = ·iadd(x, y), where x can be evaluated twice.
func (g *guard) assign(s *syntax.AssignStmt) {
	name := map[syntax.Token]string{syntax.PLUS_EQ: "·iadd", syntax.STAR_EQ: "·mul", syntax.PERCENT_EQ: "·mod", syntax.PIPE_EQ: "·or", syntax.LTLT_EQ: "·shl"}[s.Op]
	s.RHS = g.expr(s.RHS)
	if name == "" || name != "·mod" && g.float(s.RHS) {
		s.LHS = g.expr(s.LHS)
		return
	}
	if !simple(s.LHS) {
		g.refuse(s.OpPos, "%s of what is not a name, or an element by a name or a number, is not supported", s.Op)
		return
	}
	value := s.LHS
	if x, ok := value.(*syntax.IndexExpr); ok {
		value = &syntax.IndexExpr{X: x.X, Lbrack: x.Lbrack, Y: x.Y, Rbrack: x.Rbrack}
	} else if id, ok := value.(*syntax.Ident); ok {
		value = &syntax.Ident{NamePos: id.NamePos, Name: id.Name}
	}
	s.RHS = call(s.OpPos, name, value, s.RHS)
	s.Op = syntax.EQ
}

func simple(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Ident, *syntax.Literal:
		return true
	case *syntax.IndexExpr:
		_, name := e.X.(*syntax.Ident)
		return name && simple(e.Y)
	}
	return false
}

func call(at syntax.Position, name string, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: name}, Lparen: at, Args: args, Rparen: at}
}

func (g *guard) list(list []syntax.Expr) {
	for i := range list {
		list[i] = g.expr(list[i])
	}
}

func (g *guard) expr(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		e.X = g.expr(e.X)
	case *syntax.BinaryExpr:
		plain := e.Op != syntax.PERCENT && (g.float(e.X) || g.float(e.Y)) || !g.unsafe && g.int(e.X) && g.int(e.Y)
		e.X, e.Y = g.expr(e.X), g.expr(e.Y)
		if name := map[syntax.Token]string{syntax.PLUS: "·add", syntax.STAR: "·mul", syntax.PERCENT: "·mod", syntax.PIPE: "·or", syntax.LTLT: "·shl"}[e.Op]; name != "" && !plain {
			return call(e.OpPos, name, e.X, e.Y)
		}
	case *syntax.UnaryExpr:
		if e.X != nil {
			e.X = g.expr(e.X)
		}
	case *syntax.CondExpr:
		e.Cond, e.True, e.False = g.expr(e.Cond), g.expr(e.True), g.expr(e.False)
	case *syntax.TupleExpr:
		g.list(e.List)
	case *syntax.ListExpr:
		g.list(e.List)
	case *syntax.DictExpr:
		for _, x := range e.List {
			d := x.(*syntax.DictEntry)
			d.Key, d.Value = g.expr(d.Key), g.expr(d.Value)
		}
	case *syntax.IndexExpr:
		e.X, e.Y = g.expr(e.X), g.expr(e.Y)
	case *syntax.SliceExpr:
		args := []syntax.Expr{g.expr(e.X)}
		for _, x := range []syntax.Expr{e.Lo, e.Hi, e.Step} {
			if x == nil {
				x = &syntax.Ident{NamePos: e.Lbrack, Name: "None"}
			}
			args = append(args, g.expr(x))
		}
		return call(e.Lbrack, "·slice", args...)
	case *syntax.LambdaExpr:
		g.params(e.Params)
		e.Body = g.expr(e.Body)
	case *syntax.Comprehension:
		for _, c := range e.Clauses {
			switch c := c.(type) {
			case *syntax.ForClause:
				c.X = g.expr(c.X)
			case *syntax.IfClause:
				c.Cond = g.expr(c.Cond)
			}
		}
		if d, ok := e.Body.(*syntax.DictEntry); ok {
			d.Key, d.Value = g.expr(d.Key), g.expr(d.Value)
		} else {
			e.Body = g.expr(e.Body)
		}
	case *syntax.DotExpr:
		if heavy[e.Name.Name] {
			g.refuse(e.NamePos, "the method %s must be called where it is named", e.Name.Name)
		}
		e.X = g.expr(e.X)
	case *syntax.CallExpr:
		for i, a := range e.Args {
			switch a := a.(type) {
			case *syntax.BinaryExpr:
				if a.Op == syntax.EQ {
					a.Y = g.expr(a.Y)
					continue
				}
				e.Args[i] = g.expr(a)
			case *syntax.UnaryExpr:
				if a.Op == syntax.STAR && a.X != nil {
					a.X = call(a.OpPos, "tuple", g.expr(a.X))
					continue
				}
				e.Args[i] = g.expr(a)
			default:
				e.Args[i] = g.expr(a)
			}
		}
		if d, ok := e.Fn.(*syntax.DotExpr); ok && heavy[d.Name.Name] {
			name := &syntax.Literal{Token: syntax.STRING, TokenPos: d.NamePos, Raw: fmt.Sprintf("%q", d.Name.Name), Value: d.Name.Name}
			e.Fn = &syntax.Ident{NamePos: d.NamePos, Name: "·method"}
			e.Args = append([]syntax.Expr{g.expr(d.X), name}, e.Args...)
			return e
		}
		e.Fn = g.expr(e.Fn)
	}
	return e
}

// heavy are the methods that may return, or add to a value, as much as they are given or more.
var heavy = map[string]bool{"extend": true, "update": true, "union": true, "join": true, "replace": true, "format": true, "split": true,
	"rsplit": true, "splitlines": true, "elems": true, "elem_ords": true, "codepoints": true, "codepoint_ords": true, "items": true, "keys": true, "values": true,
	"upper": true, "lower": true, "title": true, "capitalize": true, "intersection": true, "difference": true, "symmetric_difference": true, "partition": true, "rpartition": true}
