package parse

import (
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// survey is what one pass over a statement's tokens finds that the grammar would lose or misread.
// Tokens suffice to recognise each.
type survey struct {
	rewrite     bool // some tokens must be rewritten: see rewrite
	bigNegative bool // -2147483648 and the like: see foldNegative
	recursive   bool // CREATE RECURSIVE VIEW: see recursiveView
	past        bool // a table is read as it was: see past.go
	clauses     bool // a query has clauses both inside and after its parentheses
	relations   map[int]relation
	pivots      map[int]pivot
	asofs       map[int]asof
	merge       map[int]int // ( and ) of a query with clauses inside and after: see merge.go
	err         error       // what the grammar takes and Postgres refuses
	early       error       // what it may not take, and says less about
}

func (s *source) survey(lo, hi int) survey {
	var v survey
	var open []int32   // brackets open at this place
	crossed := false   // they do not match
	named := false     // a relation of relation.go may be among them
	asofNamed := false // ASOF is a relation's name
	refuse := func(err error) {
		if v.err == nil {
			v.err = err
		}
	}
	for i := lo; i < hi; i++ {
		t := s.Toks[i]
		named = named || !s.MySQL && s.mayNameRelations(i, lo)
		if t.Kind == lex.Ident || t.Kind == lex.Quoted {
			v.rewrite = v.rewrite || s.dottedAt(i, hi) > 0
		}
		if (t.Kind == lex.Quoted || t.Kind == lex.String) && s.unicode(i) {
			if e := s.CheckEscapes(i); e != nil {
				refuse(e)
			}
		}
		switch t.Kind {
		case lex.Ident:
			switch t.End - t.Start {
			case 2:
				v.rewrite = v.rewrite || s.modelAt(i, hi) || s.listAt(i, hi) > 0
			case 4:
				if !s.MySQL && asofBegins(s, i, lo) {
					if v.asofs == nil {
						v.asofs, asofNamed = map[int]asof{}, asofNames(s, lo, hi)
					}
					if asofNamed {
						continue
					}
					a, err := asofAt(s, i, hi)
					if v.early == nil {
						v.early = err
					}
					v.rewrite, v.asofs[i] = true, a
				}
				if s.IsWord(i, "with") && s.IsSelf(i-1, '(') && s.IsSelf(i-2, ')') && s.afterCTE(lo, i-2) {
					refuse(pgerr.New(pgerr.SyntaxError, "multiple WITH clauses not allowed").At(s.Pos(i)))
				}
			case 5, 7:
				if start, p := pivotAt(s, lo, i, hi); start >= 0 {
					if v.pivots == nil {
						v.pivots = map[int]pivot{}
					}
					v.rewrite, v.pivots[start] = true, p
				}
				v.rewrite = v.rewrite || s.modelLiteral(i)
				if s.floatAt(i, hi) {
					v.rewrite = true
					refuse(s.checkFloat(i))
				}
			case 6:
				if s.IsWord(i, "within") && s.IsWord(i+1, "group") && s.IsSelf(i-1, ')') {
					refuse(s.checkWithinGroup(lo, i))
				}
			case 8:
				v.rewrite = v.rewrite || tryCastAt(s, i, hi) > 0
			case 9:
				if i-lo <= 3 && s.IsWord(i, "recursive") && s.IsWord(i+1, "view") && s.IsWord(lo, "create") {
					v.recursive = true
				}
			case 11:
				v.past = v.past || !s.MySQL && systemTime(s, i-1)
			}
		case lex.Op:
			v.rewrite = v.rewrite || s.excludeAt(i, lo, hi) > 0
		case lex.String:
			v.rewrite = v.rewrite || s.respelt(i)
		case lex.Number:
			v.bigNegative = v.bigNegative || t.End-t.Start >= 10 && s.IsSelf(i-1, '-')
		case lex.Self:
			switch s.Text[t.Start] {
			case '*':
				v.rewrite = v.rewrite || s.excludeAt(i, lo, hi) > 0
			case '(', '[':
				open = append(open, int32(i))
			case ')', ']':
				n := len(open) - 1
				if n < 0 || (s.Text[t.Start] == ')') != s.IsSelf(int(open[n]), '(') {
					crossed = true // the grammar will say so
					continue
				}
				from := int(open[n])
				open = open[:n]
				if i+1 < hi && s.clauseAt(i+1) >= 0 && s.queryParen(lo, from) {
					inner := s.clausesIn(from+1, i)
					v.clauses = v.clauses || inner != 0
					if err := s.checkClauses(inner, i, hi); err != nil {
						refuse(err)
					} else if inner != 0 {
						v.mergeAt(from, i)
					}
				}
			}
		}
	}
	if crossed || len(open) > 0 {
		v.merge = nil
	}
	if named {
		var err error
		if v.relations, err = s.relations(lo, hi); err != nil {
			refuse(err)
		}
	}
	v.rewrite = v.rewrite || v.past || v.merge != nil || len(v.relations) > 0
	return v
}

// modelAt reports whether "ml . f ( MODEL name" begins at token i.
func (s *source) modelAt(i, hi int) bool {
	return i+5 < hi && s.IsWord(i, "ml") && s.IsSelf(i+1, '.') && s.IsName(i+2) && s.IsSelf(i+3, '(') &&
		s.IsWord(i+4, "model") && s.IsName(i+5) && !s.IsSelf(i-1, '.')
}

// modelLiteral reports whether token i is the word in f(MODEL 'name', …), as some tools write a call of
// predict() that they have parsed.
func (s *source) modelLiteral(i int) bool {
	return s.IsWord(i, "model") && s.IsSelf(i-1, '(') && s.Kind(i+1) == lex.String &&
		(s.IsWord(i-2, "predict") || s.IsWord(i-2, "predict_proba") || s.IsName(i-2) && s.IsSelf(i-3, '.') && s.IsWord(i-4, "ml"))
}

// unicode reports whether token i is a U&” string or a U&"" name.
func (s *source) unicode(i int) bool {
	raw := s.Raw(i)
	return !s.MySQL && len(raw) > 3 && raw[1] == '&' && raw[0]|0x20 == 'u'
}

// respelt reports whether the grammar's lexer misreads the string at token i.
func (s *source) respelt(i int) bool {
	return !s.MySQL && (s.Text[s.Toks[i].Start] == '$' || s.commented(i) || s.ByteEscapes(i))
}

// commented reports whether a string may be of parts with a comment between them,
// where the grammar's lexer sees two strings.
func (s *source) commented(i int) bool {
	raw := s.Raw(i)
	if c := raw[0] | 0x20; c == 'u' || c == 'b' || c == 'x' {
		return false
	}
	return strings.Contains(raw, "--") && strings.ContainsAny(raw, "\n\r")
}

// floatAt reports whether "float ( n )" begins at token i; the grammar takes it
// and drops n, though float(1) to float(24) is real.
func (s *source) floatAt(i, hi int) bool {
	return i+3 < hi && s.IsWord(i, "float") && s.IsSelf(i+1, '(') && s.Kind(i+2) == lex.Number && s.IsSelf(i+3, ')') &&
		!s.IsSelf(i-1, '.')
}

func (s *source) checkFloat(i int) error {
	switch n, err := strconv.ParseInt(s.Raw(i+2), 10, 32); {
	case err != nil:
		return s.SyntaxError(i + 2)
	case n < 1:
		return pgerr.New(pgerr.InvalidParameterValue, "precision for type float must be at least 1 bit").At(s.Pos(i + 2))
	case n > 53:
		return pgerr.New(pgerr.InvalidParameterValue, "precision for type float must be less than 54 bits").At(s.Pos(i + 2))
	}
	return nil
}

// checkWithinGroup refuses f(… ORDER BY …) WITHIN GROUP (…), of which the
// grammar's tree keeps only the second order. Token i is WITHIN.
func (s *source) checkWithinGroup(lo, i int) error {
	open, depth := i-1, 0
	for ; open >= lo; open-- {
		if s.IsSelf(open, ')') {
			depth++
		} else if s.IsSelf(open, '(') {
			if depth--; depth == 0 {
				break
			}
		}
	}
	bad := func(what string) error {
		return pgerr.New(pgerr.SyntaxError, "cannot use %s with WITHIN GROUP", what).At(s.Pos(i))
	}
	if s.IsWord(open+1, "distinct") {
		return bad("DISTINCT")
	}
	depth = 0
	for k := open + 1; k < i-1; k++ {
		switch {
		case s.IsSelf(k, '('):
			depth++
		case s.IsSelf(k, ')'):
			depth--
		case depth == 0 && s.IsWord(k, "variadic"):
			return bad("VARIADIC")
		case depth == 0 && s.IsWord(k, "order") && s.IsWord(k+1, "by"):
			return bad("multiple ORDER BY clauses")
		}
	}
	return nil
}

// afterCTE reports whether the parenthesis closed at token i is a CTE's query.
func (s *source) afterCTE(lo, i int) bool {
	depth := 0
	for ; i >= lo; i-- {
		if s.IsSelf(i, ')') {
			depth++
		} else if s.IsSelf(i, '(') {
			if depth--; depth == 0 {
				return s.IsWord(i-1, "as") || s.IsWord(i-1, "materialized")
			}
		}
	}
	return false
}

// foldNegative turns - 2147483648 into the constant -2147483648, as Postgres's
// grammar does; else the least int4 and int8 could not be written as such.
func foldNegative(n ast.Node) {
	ast.Rewrite(n, func(c *ast.Cursor) bool {
		x, ok := c.Node().(*ast.A_Expr)
		if !ok || x.Lexpr != nil || x.Kind != ast.AEXPR_OP || x.Name == nil || len(x.Name.Items) != 1 {
			return true
		}
		if op, ok := x.Name.Items[0].(*ast.String); !ok || op.SVal != "-" {
			return true
		}
		k, ok := x.Rexpr.(*ast.A_Const)
		if !ok {
			return true
		}
		switch v := k.Val.(type) {
		case *ast.Float:
			if strings.HasPrefix(v.FVal, "-") {
				return true
			}
			v.FVal = "-" + v.FVal
		case *ast.Integer:
			v.IVal = -v.IVal
		default:
			return true
		}
		c.Replace(k)
		return false
	}, nil)
}

// recursiveView sets for CREATE RECURSIVE VIEW v (c) AS q the query that it stands for, WITH
// RECURSIVE v (c) AS (q) SELECT c FROM v: the grammar drops the word.
func (s *source) recursiveView(n ast.Stmt, hi int) error {
	v, ok := n.(*ast.ViewStmt)
	if !ok || v.View == nil {
		return nil
	}
	if v.WithCheckOption != ast.NO_CHECK_OPTION {
		return pgerr.Unsupported("WITH CHECK OPTION not supported on recursive views").At(s.Pos(hi - 1))
	}
	sel := ast.NewSelectStmt()
	var names []ast.Node
	if v.Aliases != nil {
		for _, a := range v.Aliases.Items {
			names = append(names, a)
			if str, ok := a.(*ast.String); ok {
				sel.TargetList.Append(ast.NewResTarget("", ast.NewColumnRef(ast.NewString(str.SVal))))
			}
		}
	}
	cte := &ast.CommonTableExpr{
		BaseNode: ast.BaseNode{Tag: ast.T_CommonTableExpr}, Ctename: v.View.RelName,
		Aliascolnames: ast.NewNodeList(names...), Ctequery: v.Query,
	}
	sel.WithClause = &ast.WithClause{BaseNode: ast.BaseNode{Tag: ast.T_WithClause}, Ctes: ast.NewNodeList(cte), Recursive: true}
	sel.FromClause.Append(ast.NewRangeVar(v.View.RelName, "", ""))
	v.Query = sel
	return nil
}

func (v *survey) mergeAt(open, end int) {
	if v.merge == nil {
		v.merge = map[int]int{}
	}
	v.merge[open] = end
}
