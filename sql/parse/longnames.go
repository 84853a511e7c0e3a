package parse

import (
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The grammar takes relation names of one or two parts and of a longer one
// keeps the first part alone, so that "db"."schema"."t" would name a table db.
// Names of more than two parts therefore go through it as names of two, the
// first of which is a mark for all parts but the last:
//
//	source   SELECT s.t.a    FROM db.s.t
//	written  SELECT "⁅0⁆".a  FROM "⁅1⁆".t
//
// and whole removes the marks from the tree.

// dottedNames are a fragment's names of more than two parts.
type dottedNames struct {
	mark  string     // begins a mark and nothing else in the text
	parts [][]string // by the number in the mark: all parts but the last
	first []int      // their first tokens
}

// dottedAt returns the token after the last part of the name of more than two
// parts that begins at token i; 0 if none does.
func (s *source) dottedAt(i, hi int) int {
	if !s.IsName(i) || !s.IsSelf(i+1, '.') || !s.IsName(i+2) || !s.IsSelf(i+3, '.') || i+4 >= hi || !s.IsName(i+4) || s.IsSelf(i-1, '.') {
		return 0
	}
	if s.Kind(i) == lex.Ident && lex.IsReserved(lex.Fold(s.Raw(i))) {
		return 0 // the grammar says what is wrong
	}
	end := i + 5
	for s.IsSelf(end, '.') && end+1 < hi && s.IsName(end+1) {
		end += 2
	}
	return end
}

// writeDotted writes the name of tokens [i, end) as one of two parts.
func (s *source) writeDotted(w *rewriter, i, end int) {
	if w.names == nil {
		mark := "\x01"
		for strings.Contains(s.Text, mark) {
			mark += "\x01"
		}
		w.names = &dottedNames{mark: mark}
	}
	n := w.names
	var parts []string
	for k := i; k < end-1; k += 2 {
		parts = append(parts, s.Name(k))
	}
	w.Put(i, lex.QuoteIdent(n.mark+strconv.Itoa(len(n.parts))))
	w.Glue()
	w.Put(end-2, ".")
	w.Glue()
	w.Put(end-1, s.Raw(end-1))
	n.parts, n.first = append(n.parts, parts), append(n.first, i)
}

// of returns the parts that a mark stands for.
func (n *dottedNames) of(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, n.mark)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil && i < len(n.parts)
}

// whole puts the parts of the fragment's names back into the tree.
func (f *fragment) whole(node ast.Node) error {
	n := f.names
	if n == nil {
		return nil
	}
	var err error
	done := make([]bool, len(n.parts))
	setting := func(name *string) {
		head, tail, _ := strings.Cut(*name, ".")
		if i, ok := n.of(head); ok {
			*name, done[i] = strings.Join(n.parts[i], ".")+"."+tail, true
		}
	}
	ast.Rewrite(node, func(c *ast.Cursor) bool {
		switch x := c.Node().(type) {
		case *ast.RangeVar:
			i, ok := n.of(x.SchemaName)
			if !ok {
				break
			}
			done[i] = true
			if len(n.parts[i]) > 2 && err == nil {
				err = pgerr.New(pgerr.SyntaxError, "improper qualified name (too many dotted names): %s.%s",
					strings.Join(n.parts[i], "."), x.RelName).At(f.Src.Pos(n.first[i]))
				break
			}
			x.CatalogName, x.SchemaName = n.parts[i][0], n.parts[i][1]
		case *ast.NodeList:
			n.splice(x, done)
		case *ast.VariableSetStmt:
			setting(&x.Name)
		case *ast.VariableShowStmt:
			setting(&x.Name)
		}
		return true
	}, nil)
	for i, ok := range done {
		if !ok && err == nil {
			err = pgerr.Unsupported("a name of more than two parts is not supported here").At(f.Src.Pos(n.first[i]))
		}
	}
	return err
}

// splice replaces the marks among a list's names by their names.
func (n *dottedNames) splice(l *ast.NodeList, done []bool) {
	for at := 0; at < len(l.Items); at++ {
		str, ok := l.Items[at].(*ast.String)
		if !ok {
			continue
		}
		i, ok := n.of(str.SVal)
		if !ok {
			continue
		}
		done[i] = true
		var items []ast.Node
		for _, p := range n.parts[i] {
			items = append(items, ast.NewString(p))
		}
		l.Items = append(l.Items[:at:at], append(items, l.Items[at+1:]...)...)
		at += len(items) - 1
	}
}
