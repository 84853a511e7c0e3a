package parse

import (
	"slices"
	"strconv"

	"github.com/tributarydb/tributary/sql/lex"
)

// NumParams returns the highest n of the parameters $n; in MySQL's dialect the number of question
// marks.
func (s *Statement) NumParams() int {
	most := 0
	for i := s.lo; i < s.hi; i++ {
		if s.src.Kind(i) != lex.Param {
			continue
		}
		if s.src.MySQL {
			most++
			continue
		}
		if n, err := strconv.Atoi(s.src.Raw(i)[1:]); err == nil {
			most = max(most, n)
		}
	}
	return most
}

// best returns the position of the token with the lowest rank, the first of
// equals; a negative rank is no match. 0 if nothing matches.
func (s *Statement) best(rank func(i int) int) int {
	return s.src.Pos(s.bestToken(rank))
}

// bestName is best for a name that is reported with its qualifiers.
func (s *Statement) bestName(rank func(i int) int) int {
	i := s.bestToken(rank)
	if i < 0 {
		return 0
	}
	return s.src.Pos(s.qualifiedFrom(i))
}

func (s *Statement) bestToken(rank func(i int) int) int {
	at, low := -1, 0
	for i := s.lo; i < s.hi; i++ {
		if r := rank(i); r >= 0 && (at < 0 || r < low) {
			at, low = i, r
			if r == 0 {
				break
			}
		}
	}
	return at
}

// FindIdent is the position of the first occurrence of an identifier, or of a
// qualified one whose parts are joined by dots. An occurrence that is read as
// a whole reference is preferred to one that is a part of a longer name, a
// function's name, or an alias being given (AS x). 0 if there is none.
func (s *Statement) FindIdent(parts ...string) int { return s.FindIdentN(1, parts...) }

// FindIdentN is FindIdent for the nth of the preferred occurrences, for errors about a name that occurs
// several times; 0 beyond the last.
func (s *Statement) FindIdentN(n int, parts ...string) int {
	if len(parts) == 0 {
		return 0
	}
	src := s.src
	seen := 0
	whole := s.best(func(i int) int {
		end := s.match(i, parts)
		if end < 0 {
			return -1
		}
		rank := 0
		switch {
		case src.IsSelf(i-1, '.'):
			rank = 4
		case src.IsSelf(end, '.'):
			rank = 3
		case src.IsSelf(end, '(') && len(parts) == 1:
			rank = 2
		case src.IsWord(i-1, "as"):
			rank = 1
		}
		if rank == 0 {
			if seen++; seen < n {
				return -1
			}
		}
		if rank > 0 && n > 1 {
			return -1
		}
		return rank
	})
	return whole
}

// match reports whether tokens from i on are the dotted name, and where it ends.
func (s *Statement) match(i int, parts []string) int {
	for k, p := range parts {
		if k > 0 {
			if !s.src.IsSelf(i, '.') {
				return -1
			}
			i++
		}
		if i >= s.hi || p == "*" && !s.src.IsSelf(i, '*') || p != "*" && !s.sameName(i, p) {
			return -1
		}
		i++
	}
	return i
}

// sameName compares without making a string where the lengths differ anyway.
func (s *Statement) sameName(i int, name string) bool {
	switch s.src.Kind(i) {
	case lex.Ident:
		n := int(s.src.Toks[i].End - s.src.Toks[i].Start)
		if n != len(name) && n <= lex.MaxNameBytes {
			return false
		}
	case lex.Quoted:
	default:
		return false
	}
	return s.src.Name(i) == name
}

// FindFunc is the position of the first call of a function: of its qualified
// name's beginning. Functions with a syntax of their own (EXTRACT, COALESCE)
// are found by their keyword.
func (s *Statement) FindFunc(name string) int {
	src := s.src
	at := s.bestName(func(i int) int {
		if !s.sameName(i, name) || src.IsSelf(i+1, '.') {
			return -1
		}
		if !src.IsSelf(i+1, '(') {
			return 1
		}
		return 0
	})
	if word := spelled[name]; at == 0 && word != "" {
		return s.FindWord(word)
	}
	if at == 0 { // a file in FROM
		return s.best(func(i int) int {
			if src.Kind(i) != lex.String {
				return -1
			}
			if call, _ := readerOf(src.Literal(i)); call != name {
				return -1
			}
			return 0
		})
	}
	return at
}

// spelled are functions whose syntax does not have their name.
var spelled = map[string]string{
	"btrim": "trim", "ltrim": "trim", "rtrim": "trim", "timezone": "at", "like_escape": "escape", "similar_to_escape": "similar",
	"pg_collation_for": "collation", "is_normalized": "is", "overlaps": "overlaps",
}

// FindType is the position of the first use of a type's name: after ::, after
// AS in a CAST, after a column's name, or before a string literal.
func (s *Statement) FindType(name string) int {
	src := s.src
	return s.bestName(func(i int) int {
		if !s.sameName(i, name) || src.IsSelf(i+1, '.') {
			return -1
		}
		first := s.qualifiedFrom(i)
		switch {
		case src.Raw(first-1) == "::":
			return 0
		case src.IsWord(first-1, "as") && (src.IsSelf(i+1, ')') || src.IsSelf(i+1, '(') || src.IsSelf(i+1, '[')):
			return 0
		case first-1 >= s.lo && src.IsName(first-1) && !(src.Kind(first-1) == lex.Ident && lex.IsReserved(lex.Fold(src.Raw(first-1)))):
			return 1 // a column's definition
		}
		return 2
	})
}

// FindOperator is the position of the first operator op; != and <> are one.
func (s *Statement) FindOperator(op string) int {
	return s.best(func(i int) int {
		k := s.src.Kind(i)
		if k != lex.Op && k != lex.Self && k != lex.Ident {
			return -1
		}
		raw := s.src.Raw(i)
		if raw == op || raw == "!=" && op == "<>" || k == lex.Ident && lex.Fold(raw) == lex.Fold(op) {
			return 0
		}
		return -1
	})
}

// FindLiteral is the position of the first literal with this value: a string
// by what it denotes, a number as written.
func (s *Statement) FindLiteral(text string) int {
	return s.best(func(i int) int {
		switch s.src.Kind(i) {
		case lex.String:
			if s.src.Literal(i) == text {
				return 0
			}
		case lex.Number, lex.Bits:
			if s.src.Raw(i) == text {
				return 0
			}
		}
		return -1
	})
}

// FindParam is the position of the first parameter $n.
func (s *Statement) FindParam(n int) int {
	want, seen := "$"+strconv.Itoa(n), 0
	return s.best(func(i int) int {
		if s.src.Kind(i) != lex.Param {
			return -1
		}
		seen++
		if s.src.MySQL && seen == n || s.src.Raw(i) == want {
			return 0
		}
		return -1
	})
}

// FindWord is the position of the first keyword w.
func (s *Statement) FindWord(w string) int {
	return s.src.FindWord(s.lo, s.hi, lex.Fold(w))
}

// FindSubquery is the position of the first parenthesis that opens a subquery.
func (s *Statement) FindSubquery() int {
	return s.best(func(i int) int {
		if s.src.IsSelf(i, '(') && (s.src.IsWord(i+1, "select") || s.src.IsWord(i+1, "values") || s.src.IsWord(i+1, "with")) {
			return 0
		}
		return -1
	})
}

// After returns the statement's text after the nth keyword w that does not follow one of others, in which to
// look for positions. Without such a keyword it is the whole text.
func (s *Statement) After(n int, w string, others ...string) *Statement {
	out := *s
	for i := s.lo; i < s.hi; i++ {
		if !s.src.IsWord(i, w) || slices.ContainsFunc(others, func(o string) bool { return s.src.IsWord(i-1, o) }) {
			continue
		}
		if n--; n == 0 {
			out.lo = i + 1
			break
		}
	}
	return &out
}

// qualifiedFrom steps back over the qualifiers of the name at token i.
func (s *Statement) qualifiedFrom(i int) int {
	for i-2 >= s.lo && s.src.IsSelf(i-1, '.') && s.src.IsName(i-2) {
		i -= 2
	}
	return i
}
