package parse

import (
	"slices"

	"github.com/tributarydb/tributary/sql/lex"
)

// A table as it was at a time, for which the grammar has no rule, is rewritten as a call:
//
//	FROM s.t FOR SYSTEM_TIME AS OF now() - interval '1 hour' AS x
//	FROM s.t AS x FOR SYSTEM_TIME AS OF '2026-01-02 03:04'
//	→ FROM pg_catalog.table_as_of('s.t', (…)) AS x

// PastFunction is the function of the call, in pg_catalog.
const PastFunction = "table_as_of"

// systemTime reports whether FOR SYSTEM_TIME AS OF begins at token i.
func systemTime(s *source, i int) bool {
	return s.IsWord(i, "for") && s.IsWord(i+1, "system_time") && s.IsWord(i+2, "as") && s.IsWord(i+3, "of") && !s.IsSelf(i-1, '.')
}

// plainName reports whether token i may be the name of a table or an alias.
func plainName(s *source, i int) bool {
	return s.Kind(i) == lex.Quoted || s.IsName(i) && !lex.IsReserved(lex.Fold(s.Raw(i)))
}

// pastAt returns, where a table's name that such a clause follows begins at token i, the token after the name and that of the
// clause; else 0.
func pastAt(s *source, i, hi int) (name, clause int) {
	if !plainName(s, i) || s.IsSelf(i-1, '.') {
		return 0, 0
	}
	_, name = s.Qualified(i, hi)
	clause = name
	if !systemTime(s, clause) {
		if s.IsWord(clause, "as") {
			clause++
		}
		if clause++; clause >= hi || !plainName(s, clause-1) || !systemTime(s, clause) {
			return 0, 0
		}
	}
	if clause+4 >= hi {
		return 0, 0
	}
	return name, clause
}

func startsPast(s *source, i, hi int) bool {
	_, clause := pastAt(s, i, hi)
	return clause > 0
}

// afterTimes are the words that end a time, and inTimes those that are part of one where an alias might stand.
var (
	afterTimes = []string{"as", "join", "inner", "left", "right", "full", "cross", "natural", "on", "using", "where", "group", "having", "window", "order", "limit", "offset",
		"fetch", "for", "union", "intersect", "except", "returning", "tablesample", "when", "set"}
	inTimes = []string{"at", "time", "zone", "with", "without", "interval", "timestamp", "timestamptz", "date", "to", "year", "month", "day", "hour", "minute", "second",
		"and", "or", "not", "is", "null", "case", "then", "else", "end", "local", "cast"}
)

// timeEnd returns the token after the time that begins at token i.
func timeEnd(s *source, i, hi int) int {
	word := func(k int, list []string) bool {
		return s.Kind(k) == lex.Ident && slices.Contains(list, lex.Fold(s.Raw(k)))
	}
	for from := i; i < hi; i++ {
		switch {
		case s.IsSelf(i, '('), s.IsSelf(i, '['):
			end := s.Closing(i, hi)
			if end < 0 {
				return hi
			}
			i = end
		case s.IsSelf(i, ','), s.IsSelf(i, ')'), s.IsSelf(i, ']'), s.IsSelf(i, ';'), word(i, afterTimes):
			return i
		case i > from && plainName(s, i) && !word(i, inTimes) && !s.IsSelf(i-1, '.'):
			// A name after a complete operand is an alias.
			if k := s.Kind(i - 1); k == lex.String || k == lex.Number || k == lex.Param || s.IsSelf(i-1, ')') || s.IsName(i-1) && !word(i-1, inTimes) {
				return i
			}
		}
	}
	return hi
}

// writePast writes the table whose name begins at token i, and returns the first token not written.
func writePast(s *source, w *rewriter, i, hi int) int {
	name, clause := pastAt(s, i, hi)
	end := timeEnd(s, clause+4, hi)
	parts, _ := s.Qualified(i, hi)
	text := ""
	for k, p := range parts {
		if k > 0 {
			text += "."
		}
		text += lex.QuoteName(p)
	}
	w.Put(i, "pg_catalog."+PastFunction+"("+lex.QuoteLiteral(text)+", (")
	s.rewriteTo(w, clause+4, end)
	w.Put(end-1, "))")
	switch {
	case name < clause: // an alias before the clause
		w.Put(clause-1, "AS")
		w.Copy(clause-1, clause)
	case end >= hi || !s.IsWord(end, "as") && (!s.IsName(end) || slices.Contains(afterTimes, lex.Fold(s.Raw(end)))):
		w.Put(end-1, "AS "+lex.QuoteIdent(parts[len(parts)-1]))
	}
	return end
}
