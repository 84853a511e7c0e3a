package parse

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"
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

// excludeAt gives the token after the list if token i is a star that leaves
// columns out; 0 if it is not.
func (s *source) excludeAt(i, lo, hi int) int {
	if !s.isSelf(i, '*') || i+2 >= hi {
		return 0
	}
	exclude := s.isWord(i+1, "exclude")
	if !exclude && !s.isWord(i+1, "except") || !s.starBegins(i, lo) {
		return 0
	}
	if !s.isSelf(i+2, '(') {
		if exclude && s.isName(i+2) && (s.kind(i+2) == tokQuoted || !isReserved(fold(s.raw(i+2)))) {
			return i + 3 // DuckDB takes one column without parentheses
		}
		return 0
	}
	for k := i + 3; k+1 < hi && s.isName(k); k += 2 {
		switch {
		case s.kind(k) == tokIdent && isReserved(fold(s.raw(k))):
			return 0 // EXCEPT (SELECT …)
		case s.isSelf(k+1, ')'):
			return k + 2
		case !s.isSelf(k+1, ','):
			return 0
		}
	}
	return 0
}

// starBegins tells whether the star at token i stands for columns, and does not
// multiply.
func (s *source) starBegins(i, lo int) bool {
	if i == lo {
		return true
	}
	for _, c := range []byte{',', '(', '.'} {
		if s.isSelf(i-1, c) {
			return true
		}
	}
	for _, w := range []string{"select", "all", "distinct", "returning"} {
		if s.isWord(i-1, w) {
			return true
		}
	}
	if !s.isSelf(i-1, ')') {
		return false
	}
	depth := 0
	for k := i - 1; k > lo+1; k-- { // DISTINCT ON (…) *
		switch {
		case s.isSelf(k, ')'):
			depth++
		case s.isSelf(k, '('):
			if depth--; depth == 0 {
				return s.isWord(k-1, "on") && s.isWord(k-2, "distinct")
			}
		}
	}
	return false
}

// writeExclude writes tokens [i, end), which excludeAt found.
func (s *source) writeExclude(w *writer, i, end int) {
	var b strings.Builder
	b.WriteString(QuoteIdent(starMark))
	for k := i + 2; k < end; k++ {
		if s.isName(k) {
			b.WriteString("." + QuoteIdent(s.name(k)))
		}
	}
	if i > 0 && s.isSelf(i-1, '.') {
		w.glue()
	}
	w.put(i, b.String())
}
