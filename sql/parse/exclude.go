package parse

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
)

// DuckDB's * EXCLUDE (a, b), or BigQuery's * EXCEPT (a, b), goes through the grammar
// as a column reference of these names after a mark, and stays so in the tree and
// in the text of views:
//
//	source   SELECT t.* EXCLUDE (a, "B")
//	written  SELECT t."⁅*⁆"."a"."B"
const starMark = "\x02*"

// Star reads the fields of a column reference, or of what follows a value, as a
// star: what comes before it, and the columns that are left out. ok is false where
// it is none.
func Star(fields []ast.Node) (before []ast.Node, except []string, ok bool) {
	n := len(fields)
	if n > 0 {
		if _, ok := fields[n-1].(*ast.A_Star); ok {
			return fields[:n-1], nil, true
		}
	}
	for i, f := range fields {
		if s, isName := f.(*ast.String); !isName || s.SVal != starMark {
			continue
		}
		for _, f := range fields[i+1:] {
			s, isName := f.(*ast.String)
			if !isName {
				return nil, nil, false
			}
			except = append(except, s.SVal)
		}
		return fields[:i], except, len(except) > 0
	}
	return nil, nil, false
}

// excludeAt returns the token after the list if token i is a star that leaves
// columns out; 0 if it is not.
func (s *source) excludeAt(i, lo, hi int) int {
	if !s.IsSelf(i, '*') || i+2 >= hi {
		return 0
	}
	exclude := s.IsWord(i+1, "exclude")
	if !exclude && !s.IsWord(i+1, "except") || !s.starBegins(i, lo) {
		return 0
	}
	if !s.IsSelf(i+2, '(') {
		if exclude && s.IsName(i+2) && (s.Kind(i+2) == lex.Quoted || !lex.IsReserved(lex.Fold(s.Raw(i+2)))) {
			return i + 3 // DuckDB takes one column without parentheses
		}
		return 0
	}
	for k := i + 3; k+1 < hi && s.IsName(k); k += 2 {
		switch {
		case s.Kind(k) == lex.Ident && lex.IsReserved(lex.Fold(s.Raw(k))):
			return 0 // EXCEPT (SELECT …)
		case s.IsSelf(k+1, ')'):
			return k + 2
		case !s.IsSelf(k+1, ','):
			return 0
		}
	}
	return 0
}

// starBegins reports whether the star at token i stands for columns, and does not
// multiply.
func (s *source) starBegins(i, lo int) bool {
	if i == lo {
		return true
	}
	for _, c := range []byte{',', '(', '.'} {
		if s.IsSelf(i-1, c) {
			return true
		}
	}
	for _, w := range []string{"select", "all", "distinct", "returning"} {
		if s.IsWord(i-1, w) {
			return true
		}
	}
	if !s.IsSelf(i-1, ')') {
		return false
	}
	depth := 0
	for k := i - 1; k > lo+1; k-- { // DISTINCT ON (…) *
		switch {
		case s.IsSelf(k, ')'):
			depth++
		case s.IsSelf(k, '('):
			if depth--; depth == 0 {
				return s.IsWord(k-1, "on") && s.IsWord(k-2, "distinct")
			}
		}
	}
	return false
}

// writeExclude writes tokens [i, end), which excludeAt found.
func (s *source) writeExclude(w *rewriter, i, end int) {
	var b strings.Builder
	b.WriteString(lex.QuoteIdent(starMark))
	for k := i + 2; k < end; k++ {
		if s.IsName(k) {
			b.WriteString("." + lex.QuoteIdent(s.Name(k)))
		}
	}
	if i > 0 && s.IsSelf(i-1, '.') {
		w.Glue()
	}
	w.Put(i, b.String())
}
