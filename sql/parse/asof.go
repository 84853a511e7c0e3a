package parse

import (
	"slices"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// asof is a join with the last row of a relation up to a row, or the first from it on. PostgreSQL's grammar has no rule for it;
// a lateral query says the same:
//
//	FROM trades AS t ASOF JOIN quotes AS q ON t.sym = q.sym AND t.ts >= q.ts                 as DuckDB has it; ASOF LEFT JOIN too
//	→ FROM trades AS t JOIN LATERAL (SELECT * FROM quotes AS q WHERE (t.sym = q.sym AND t.ts >= q.ts) ORDER BY q.ts DESC LIMIT 1) AS q ON true
//	FROM trades AS t ASOF JOIN quotes AS q MATCH_CONDITION (t.ts >= q.ts) ON t.sym = q.sym   as Snowflake; all rows of the left side stay
//	→ FROM trades AS t LEFT JOIN LATERAL (SELECT * FROM quotes AS q WHERE (t.ts >= q.ts) AND (t.sym = q.sym) ORDER BY …
//
// A column without a table would be the relation's in there where it is ambiguous in a join: so each must have one.
type asof struct {
	relation lex.Range   // with its alias
	alias    int         // the token that names it
	where    []lex.Range // the conditions
	order    lex.Range   // the relation's side of the comparison
	first    bool        // the first row from there on, not the last up to there
	left     bool        // rows without one stay
	end      int         // the token after all
}

// asofJoin returns the word between ASOF at token i and JOIN, "" for none, and the token JOIN; 0 where it does not follow.
func asofJoin(s *source, i int) (kind string, join int) {
	join = i + 1
	for _, w := range []string{"inner", "left", "right", "full"} {
		if s.IsWord(join, w) {
			kind = w
			join++
		}
	}
	if kind != "" && s.IsWord(join, "outer") {
		join++
	}
	if !s.IsWord(join, "join") {
		return "", 0
	}
	return kind, join
}

// asofBegins reports whether such a join begins at token i, unless asofNames.
func asofBegins(s *source, i, lo int) bool {
	_, join := asofJoin(s, i)
	return i > lo && join > 0 && s.IsWord(i, "asof") && !s.IsSelf(i-1, '.') && !s.IsWord(i-1, "as")
}

// asofNames reports whether a relation is called asof, which PostgreSQL allows, and used by this name.
func asofNames(s *source, lo, hi int) bool {
	for i := lo; i < hi; i++ {
		if s.IsWord(i, "asof") && s.IsSelf(i+1, '.') {
			return true
		}
	}
	return false
}

// endsJoin are the words that end the condition of a join.
var endsJoin = append([]string{"join", "inner", "left", "right", "full", "cross", "natural", "asof", "on", "using", "match_condition"}, afterRelations...)

// joinEnd returns the first token from i on that ends a relation or a condition of a join.
func joinEnd(s *source, i, hi int) int {
	for ; i < hi; i++ {
		switch {
		case s.IsSelf(i, '('), s.IsSelf(i, '['):
			end := s.Closing(i, hi)
			if end < 0 {
				return hi
			}
			i = end
		case s.IsSelf(i, ','), s.IsSelf(i, ')'), s.IsSelf(i, ']'):
			return i
		case s.Kind(i) == lex.Ident && slices.Contains(endsJoin, lex.Fold(s.Raw(i))):
			if call := s.IsSelf(i+1, '(') && (s.IsWord(i, "left") || s.IsWord(i, "right")); !call && !s.IsSelf(i-1, '.') {
				return i
			}
		}
	}
	return hi
}

// conjuncts returns the parts of a condition that AND joins.
func conjuncts(s *source, r lex.Range) (out []lex.Range) {
	for n := 0; n < 8 && s.IsSelf(r.Lo, '(') && s.Closing(r.Lo, r.Hi) == r.Hi-1; n++ {
		r.Lo, r.Hi = r.Lo+1, r.Hi-1
	}
	from, between, depth := r.Lo, false, 0
	for i := r.Lo; i < r.Hi; i++ {
		switch {
		case s.IsSelf(i, '('), s.IsSelf(i, '['), s.IsWord(i, "case"):
			depth++
		case s.IsSelf(i, ')'), s.IsSelf(i, ']'), s.IsWord(i, "end"):
			depth--
		case depth > 0:
		case s.IsWord(i, "between"):
			between = true
		case s.IsWord(i, "and") && between:
			between = false
		case s.IsWord(i, "and"):
			out = append(out, lex.Range{Lo: from, Hi: i})
			from = i + 1
		}
	}
	return append(out, lex.Range{Lo: from, Hi: r.Hi})
}

// orderIn returns the operator of a conjunct that is a comparison by order; 0 where it is none.
func orderIn(s *source, r lex.Range) (at int) {
	for i := r.Lo; i < r.Hi; i++ {
		switch {
		case s.IsSelf(i, '('), s.IsSelf(i, '['):
			if end := s.Closing(i, r.Hi); end > 0 {
				i = end
			}
		case s.IsWord(i, "or"), s.IsWord(i, "not"), s.IsWord(i, "case"):
			return 0
		case slices.Contains([]string{"<", "<=", ">", ">="}, s.Raw(i)):
			at = i
		}
	}
	return at
}

// hasColumn reports whether a column of the table that token alias names is among tokens [lo, hi).
func hasColumn(s *source, lo, hi, alias int) bool {
	for i := lo; i < hi; i++ {
		if s.IsName(i) && s.IsSelf(i+1, '.') && !s.IsSelf(i-1, '.') && s.Name(i) == s.Name(alias) {
			return true
		}
	}
	return false
}

// bareName returns the first name among a condition's tokens that may be a column without a table; -1 where there is none.
func bareName(s *source, r lex.Range) int {
	ofType := false // a name before is of a type
	for i := r.Lo; i < r.Hi; i++ {
		if !s.IsName(i) {
			ofType = s.Raw(i) == "::"
			continue
		}
		word := lex.Fold(s.Raw(i))
		reserved := s.Kind(i) == lex.Ident && (lex.IsReserved(word) || slices.Contains(inTimes, word) || word == "between")
		if ofType = ofType || word == "as"; ofType || reserved || s.IsSelf(i+1, '.') || s.IsSelf(i-1, '.') || s.IsSelf(i+1, '(') || s.Kind(i+1) == lex.String {
			continue
		}
		return i
	}
	return -1
}

// asofAt reads the join that begins at token i.
func asofAt(s *source, i, hi int) (a asof, err error) {
	fail := func(at int, format string, args ...any) (asof, error) {
		return a, pgerr.New(pgerr.SyntaxError, format, args...).At(s.Pos(at)).
			WithHint("Write t ASOF [LEFT] JOIN q ON t.key = q.key AND t.time >= q.time.")
	}
	kind, join := asofJoin(s, i)
	if kind == "right" || kind == "full" {
		return a, pgerr.Unsupported("ASOF joins are inner or left joins").At(s.Pos(i + 1)).
			WithHint("A row is looked up for each row of the left side: exchange the sides.")
	}
	a.left = kind == "left"
	at := joinEnd(s, join+1, hi)
	a.relation = lex.Range{Lo: join + 1, Hi: at}
	if s.IsWord(at, "match_condition") && s.IsSelf(at+1, '(') {
		end := s.Closing(at+1, hi)
		if end < 0 {
			return a, s.SyntaxError(at)
		}
		a.left = true
		a.where = append(a.where, lex.Range{Lo: at + 2, Hi: end})
		at = end + 1
	}
	switch {
	case s.IsWord(at, "on"):
		on := lex.Range{Lo: at + 1, Hi: joinEnd(s, at+1, hi)}
		if on.Lo == on.Hi {
			return a, s.SyntaxError(on.Lo)
		}
		a.where, at = append(a.where, on), on.Hi
	case s.IsWord(at, "using"):
		return a, pgerr.Unsupported("USING of an ASOF join is not supported").At(s.Pos(at)).
			WithHint("Write ON t.key = q.key AND t.time >= q.time.")
	}
	a.end = at
	// The relation's name is the last of it, or the one before a list of columns or arguments.
	a.alias = a.relation.Hi - 1
	for k := a.relation.Lo; k < a.relation.Hi; k++ {
		if s.IsSelf(k, '(') {
			end := s.Closing(k, a.relation.Hi)
			if end == a.relation.Hi-1 {
				a.alias = k - 1
			}
			k = end
		}
	}
	if a.alias < a.relation.Lo || !s.IsName(a.alias) {
		return fail(join, "the relation of an ASOF join needs a name")
	}
	found := 0
	for _, r := range a.where {
		if k := bareName(s, r); k >= 0 {
			return fail(k, "column %q in the condition of an ASOF join has no table", s.Name(k))
		}
		for _, c := range conjuncts(s, r) {
			op := orderIn(s, c)
			if op == 0 || hasColumn(s, c.Lo, op, a.alias) == hasColumn(s, op, c.Hi, a.alias) {
				continue
			}
			if found > 0 {
				return fail(op, "an ASOF join has one comparison by order of both its sides")
			}
			found = op
			a.order, a.first = lex.Range{Lo: op + 1, Hi: c.Hi}, s.Raw(op)[0] == '<'
			if hasColumn(s, c.Lo, op, a.alias) {
				a.order, a.first = lex.Range{Lo: c.Lo, Hi: op}, !a.first
			}
		}
	}
	if found == 0 {
		return fail(i, "an ASOF join needs a comparison by order of both its sides")
	}
	return a, nil
}

// writeAsof writes the join of w.asofs at token i, and returns the token after it.
func writeAsof(s *source, w *rewriter, i int) int {
	a := w.asofs[i]
	text := "JOIN LATERAL (SELECT * FROM"
	if a.left {
		text = "LEFT " + text
	}
	w.Put(i, text)
	s.rewriteTo(w, a.relation.Lo, a.relation.Hi)
	text = "WHERE ("
	for _, r := range a.where {
		w.Put(r.Lo, text)
		s.rewriteTo(w, r.Lo, r.Hi)
		text = ") AND ("
	}
	w.Put(a.end-1, ") ORDER BY (")
	s.rewriteTo(w, a.order.Lo, a.order.Hi)
	text = ") DESC"
	if a.first {
		text = ")"
	}
	w.Put(a.end-1, text+" LIMIT 1) AS "+lex.QuoteIdent(s.Name(a.alias))+" ON true")
	return a.end
}
