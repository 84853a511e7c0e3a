package typing

import (
	"github.com/multigres/multigres/go/common/parser/ast"
)

// PosCast returns PostgreSQL's error position for a cast that it refuses.
func (b *Resolver) PosCast(n *ast.TypeCast) int {
	if p := b.PosWord("cast"); p > 0 {
		return p
	}
	return b.PosOp("::")
}

// ---- positions ----

// Position is a position in the statement's text. Finding it takes a pass over the tokens, so it is
// deferred until there is an error.
type Position struct {
	b                *Resolver
	node             ast.Node
	word, op, f, lit string
	typ              string
	isLit            bool
	ident            []string
}

func (s Position) At() int {
	switch {
	case s.b == nil:
		return 0
	case s.node != nil:
		return s.b.PosExpr(s.node)
	case s.word != "":
		return s.b.PosWord(s.word)
	case s.op != "":
		return s.b.PosOp(s.op)
	case s.f != "":
		return s.b.PosFunc(s.f)
	case s.isLit:
		return s.b.posLit(s.lit)
	case s.typ != "":
		return s.b.posType(s.typ)
	case s.ident != nil:
		return s.b.PosIdent(s.ident...)
	}
	return 0
}

func (b *Resolver) SpotExpr(n ast.Node) Position { return Position{b: b, node: n} }

func (b *Resolver) SpotWord(w string) Position { return Position{b: b, word: w} }

func (b *Resolver) SpotOp(op string) Position { return Position{b: b, op: op} }

func (b *Resolver) SpotFunc(name string) Position { return Position{b: b, f: name} }

func (b *Resolver) spotType(name string) Position { return Position{b: b, typ: name} }

func (b *Resolver) spotLit(text string) Position { return Position{b: b, lit: text, isLit: true} }

func (b *Resolver) SpotIdent(parts ...string) Position { return Position{b: b, ident: parts} }

func (b *Resolver) posParam(n int) int {
	if b.Text == nil {
		return 0
	}
	return b.Text.FindParam(n)
}

func (b *Resolver) PosIdent(parts ...string) int {
	if b.Text == nil {
		return 0
	}
	return b.Text.FindIdent(parts...)
}

func (b *Resolver) PosFunc(name string) int {
	if b.Text == nil {
		return 0
	}
	return b.Text.FindFunc(name)
}

func (b *Resolver) posType(name string) int {
	if b.Text == nil {
		return 0
	}
	return b.Text.FindType(name)
}

func (b *Resolver) PosOp(op string) int {
	if b.Text == nil {
		return 0
	}
	return b.Text.FindOperator(op)
}

func (b *Resolver) posLit(text string) int {
	if b.Text == nil {
		return 0
	}
	return b.Text.FindLiteral(text)
}

func (b *Resolver) PosWord(w string) int {
	if b.Text == nil {
		return 0
	}
	return b.Text.FindWord(w)
}

// PosExpr returns the position of an expression: that of its first name or literal.
func (b *Resolver) PosExpr(n ast.Node) int {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return b.PosExpr(n.Expr)
	case *ast.ColumnRef:
		names, _ := SplitFields(n)
		return b.PosIdent(names...)
	case *ast.A_Const:
		return b.PosConst(n)
	case *ast.FuncCall:
		_, name := Qualified(n.Funcname)
		return b.PosFunc(name)
	case *ast.ParamRef:
		return b.posParam(n.Number)
	case *ast.TypeCast:
		return b.PosExpr(n.Arg)
	case *ast.A_Expr:
		if n.Lexpr != nil {
			return b.PosExpr(n.Lexpr)
		}
		return b.PosOp(OpName(n.Name))
	case *ast.CaseExpr:
		return b.PosWord("case")
	case *ast.SubLink:
		if n.Testexpr != nil {
			return b.PosExpr(n.Testexpr)
		}
	case *ast.ResTarget:
		return b.PosExpr(n.Val)
	case *ast.NullTest:
		return b.PosExpr(n.Arg)
	case *ast.A_Indirection:
		return b.PosExpr(n.Arg)
	case *ast.A_ArrayExpr:
		return b.PosWord("array")
	case *ast.CoalesceExpr:
		return b.PosWord("coalesce")
	case *ast.BoolExpr:
		if n.Args != nil && len(n.Args.Items) > 0 {
			if n.Boolop == ast.NOT_EXPR {
				return b.PosWord("not")
			}
			return b.PosExpr(n.Args.Items[0])
		}
	case *ast.CollateClause:
		return b.PosExpr(n.Arg)
	}
	return 0
}

// PosSubquery returns the position of a subquery as PostgreSQL reports it.
func (b *Resolver) PosSubquery(n *ast.SubLink) int {
	switch {
	case b.Text == nil:
		return 0
	case n.SubLinkType == ast.EXISTS_SUBLINK:
		return b.PosWord("exists")
	case n.SubLinkType == ast.ARRAY_SUBLINK:
		return b.PosWord("array")
	case n.SubLinkType == ast.ANY_SUBLINK && len(Items(n.OperName)) == 0:
		return b.PosWord("in")
	case len(Items(n.OperName)) > 0:
		return b.PosOp(OpName(n.OperName))
	}
	return b.Text.FindSubquery()
}

func (b *Resolver) PosConst(n *ast.A_Const) int {
	switch v := n.Val.(type) {
	case *ast.String:
		return b.posLit(v.SVal)
	case *ast.Integer:
		return b.posLit(Itoa(v.IVal))
	case *ast.Float:
		return b.posLit(v.FVal)
	case *ast.Boolean:
		if v.BoolVal {
			return b.PosWord("true")
		}
		return b.PosWord("false")
	}
	return b.PosWord("null")
}
