package parse

import (
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// A query in parentheses may be followed by clauses that belong to it:
//
//	(SELECT a FROM t ORDER BY a) LIMIT 1   is   SELECT a FROM t ORDER BY a LIMIT 1
//
// The grammar drops the inner clauses then. Such a query is written to it
// without the parentheses, its clauses merged as Postgres merges them; a clause
// given twice is refused as Postgres refuses it.

// queryParen reports whether the parenthesis at token i opens a query that
// stands where a query begins, not where an expression or a relation does.
func (s *source) queryParen(lo, i int) bool {
	if !(s.IsSelf(i+1, '(') || s.IsWord(i+1, "select") || s.IsWord(i+1, "values") || s.IsWord(i+1, "with") || s.IsWord(i+1, "table")) {
		return false
	}
	switch {
	case i == lo, s.IsSelf(i-1, ')'), s.IsWord(i-1, "as"):
		return true
	case s.IsSelf(i-1, '('):
		if s.Kind(i-2) != lex.Ident {
			return s.Kind(i-2) != lex.Quoted
		}
		switch lex.Fold(s.Raw(i - 2)) { // f((SELECT …) ORDER BY x) is an aggregate's order
		case "in", "any", "all", "some", "exists", "array", "from", "select", "where", "and", "or", "not", "on", "as":
			return true
		}
	}
	return false
}

// clauseNames are the parts that a query may have once, whatever its parentheses.
// FOR UPDATE may stand any number of times.
var clauseNames = [...]string{"ORDER BY", "LIMIT", "OFFSET", "FOR"}

const clauseFor = 3

// clauseAt returns the number of the clause that token i begins, or -1.
func (s *source) clauseAt(i int) int {
	if s.Kind(i) != lex.Ident || s.IsSelf(i-1, '.') || s.IsWord(i-1, "as") {
		return -1
	}
	switch {
	case s.IsWord(i, "order") && s.IsWord(i+1, "by"):
		return 0
	case s.IsWord(i, "limit"), s.IsWord(i, "fetch"):
		return 1
	case s.IsWord(i, "offset"):
		return 2
	case s.IsWord(i, "for") && !s.IsWord(i+1, "system_time"):
		return clauseFor
	}
	return -1
}

// checkClauses refuses (SELECT … LIMIT 1) LIMIT 2. The inner query, which has
// the clauses inner, ends at the parenthesis end.
func (s *source) checkClauses(inner, end, hi int) error {
	inner &^= 1 << clauseFor
	depth := 0
	for k := end + 1; k < hi && depth >= 0; k++ {
		switch {
		case s.IsSelf(k, '('):
			depth++
		case s.IsSelf(k, ')'):
			depth--
		case depth == 0:
			if c := s.clauseAt(k); c >= 0 && inner&(1<<c) != 0 {
				at := k + 1
				if c == 0 {
					at++
				}
				return pgerr.New(pgerr.SyntaxError, "multiple %s clauses not allowed", clauseNames[c]).At(s.Pos(min(at, hi-1)))
			}
		}
	}
	return nil
}

// clausesIn returns the set of clauses of the query in tokens [lo, hi), those of the query in
// parentheses that it may consist of included:
//
//	((SELECT … ORDER BY a) LIMIT 1)   both
//	((SELECT … LIMIT 1) UNION …)      none: operands keep their own
func (s *source) clausesIn(lo, hi int) int {
	set, other, k := 0, 0, lo
	for k < hi && s.IsSelf(k, '(') { // these are passed when they close
		k++
	}
	for ; k < hi; k++ {
		switch {
		case s.IsSelf(k, '('):
			other++
		case s.IsSelf(k, ')') && other > 0:
			other--
		case s.IsSelf(k, ')'):
			if s.IsWord(k+1, "union") || s.IsWord(k+1, "intersect") || s.IsWord(k+1, "except") {
				set = 0
			}
		case other == 0:
			if c := s.clauseAt(k); c >= 0 {
				set |= 1 << c
			}
		}
	}
	return set
}

// queryBody is a query without its outermost parentheses: its body and the
// clauses after it, from the innermost out.
type queryBody struct {
	lo, hi  int
	clauses []clauseSpan
}

type clauseSpan struct{ kind, lo, hi int }

// unwrap splits the query in tokens [lo, hi).
func (s *source) unwrap(lo, hi int) queryBody {
	var outer []clauseSpan
	for {
		var own []clauseSpan
		depth, body := 0, hi
		for k := lo; k < hi; k++ {
			switch {
			case s.IsSelf(k, '('):
				depth++
			case s.IsSelf(k, ')'):
				depth--
			case depth == 0:
				if c := s.clauseAt(k); c >= 0 {
					if len(own) > 0 {
						own[len(own)-1].hi = k
					} else {
						body = k
					}
					own = append(own, clauseSpan{c, k, hi})
				}
			}
		}
		outer = append(own, outer...)
		if s.IsSelf(lo, '(') && s.Closing(lo, hi) == body-1 {
			lo, hi = lo+1, body-1
			continue
		}
		return queryBody{lo, body, outer}
	}
}

// queryEnd returns the end of the query whose first closing parenthesis is token i.
func (s *source) queryEnd(i, hi int) int {
	depth := 0
	for k := i + 1; k < hi; k++ {
		switch {
		case s.IsSelf(k, '('):
			depth++
		case s.IsSelf(k, ')'):
			if depth--; depth < 0 {
				return k
			}
		case depth == 0 && s.IsWord(k, "with") && !s.IsWord(k+1, "ties"),
			depth == 0 && (s.IsWord(k, "on") || s.IsWord(k, "returning") || s.IsWord(k, "union") ||
				s.IsWord(k, "intersect") || s.IsWord(k, "except")):
			return k
		}
	}
	return hi
}

// writeMerged writes the query whose outermost parenthesis is token i and returns the first token
// not written.
func (s *source) writeMerged(w *rewriter, i, hi int) int {
	end := s.queryEnd(w.merge[i], hi)
	q := s.unwrap(i, end)
	s.rewriteTo(w, q.lo, q.hi)
	for _, pass := range [][]int{{0}, {1, 2}, {clauseFor}} {
		for _, c := range q.clauses {
			for _, kind := range pass {
				if c.kind == kind {
					s.rewriteTo(w, c.lo, c.hi)
				}
			}
		}
	}
	return end
}
