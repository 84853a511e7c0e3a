package parse

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/lex"
)

// A long list of integers, x IN (1, 2, …), goes through the grammar as one constant, and becomes x = ANY
// ('{1,2,…}'): a node of the tree for each number would take some hundred times the room of its digits.

// fewIntegers is the longest list that is parsed number by number.
const fewIntegers = 1000

// integers reads a list of integers that begins at byte i of a text, inside of parentheses, and returns
// where the parenthesis is that ends it, how many there are, and whether all are int4; n is 0 where it is
// no such list, or a short one.
func integers(text string, i int) (end, n int, small bool) {
	small = true
	blank := func() {
		for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
			i++
		}
	}
	for {
		blank()
		if i < len(text) && text[i] == '-' {
			i++
		}
		from := i
		for i < len(text) && ascii.IsDigit(text[i]) {
			i++
		}
		if digits := i - from; digits == 0 || digits > 18 {
			return 0, 0, false
		} else if digits > 9 {
			small = false
		}
		n++
		blank()
		switch {
		case i < len(text) && text[i] == ',':
			i++
		case i < len(text) && text[i] == ')' && n > fewIntegers:
			return i, n, small
		default:
			return 0, 0, false
		}
	}
}

// listAt returns the token that ends the list of integers of an IN at token i; 0 if there is none.
func (s *source) listAt(i, hi int) int {
	if s.MySQL || i+2 >= hi || !s.IsWord(i, "in") || !s.IsSelf(i+1, '(') || s.Kind(i+2) != lex.Number && !s.IsSelf(i+2, '-') {
		return 0
	}
	end, n, _ := integers(s.Text, int(s.Toks[i+1].End))
	if n == 0 {
		return 0
	}
	for i += 2; i < hi && int(s.Toks[i].Start) < end; i++ {
	}
	return i
}

// listMark begins the constant that stands for a list. No text has it, for it is no UTF-8.
const listMark = "\xff"

// writeList writes the list from token i to the parenthesis of token end as one constant.
func (s *source) writeList(w *rewriter, i, end int) {
	from, to := int(s.Toks[i-1].End), int(s.Toks[end].Start)
	of := "8"
	if _, _, small := integers(s.Text, from); small {
		of = "4"
	}
	w.lists = true
	w.Put(i, "'"+listMark+of+"{"+s.Text[from:to]+"}'")
}

// putLists makes the lists of a tree comparisons with arrays.
func putLists(n ast.Node) {
	ast.Rewrite(n, func(c *ast.Cursor) bool {
		x, ok := c.Node().(*ast.A_Expr)
		if !ok || x.Kind != ast.AEXPR_IN {
			return true
		}
		l, ok := x.Rexpr.(*ast.NodeList)
		if !ok || len(l.Items) != 1 {
			return true
		}
		k, ok := l.Items[0].(*ast.A_Const)
		if !ok {
			return true
		}
		str, ok := k.Val.(*ast.String)
		if !ok || !strings.HasPrefix(str.SVal, listMark) {
			return true
		}
		of := ast.NewTypeName([]string{"pg_catalog", "int" + str.SVal[1:2]})
		of.ArrayBounds = ast.NewNodeList(ast.NewInteger(-1))
		str.SVal = str.SVal[2:]
		x.Kind, x.Rexpr = ast.AEXPR_OP_ANY, ast.NewTypeCast(k, of, k.Location())
		if op, ok := x.Name.Items[0].(*ast.String); ok && op.SVal == "<>" {
			x.Kind = ast.AEXPR_OP_ALL
		}
		return true
	}, nil)
}
