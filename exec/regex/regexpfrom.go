package regex

import (
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// behind finds matches that start within a text and see what is before them.
// regexp cannot start inside a text with its context, but one character before
// the match is all the context that ^, \A and \b look at, so it becomes part of
// what is matched:
//
//	first    ^.(?:.*?)(re)    where a match begins
//	at       ^.(re)           how far it goes, by the rule of the expression
type behind struct{ first, at *regexp.Regexp }

func newBehind(re string, longest bool) (*behind, error) {
	first, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + re + ")")
	if err != nil {
		return nil, err
	}
	at, err := regexp.Compile(`\A(?s:.)(` + re + ")")
	if err != nil {
		return nil, err
	}
	if longest {
		at.Longest()
	}
	return &behind{first, at}, nil
}

// from finds the first match that starts at or after an offset. It is valid until the next call.
func (r *Regex) from(s string, at int) []int {
	base := at
	var m []int
	switch {
	case r.once != nil:
		begin, end := r.once.from(s, at)
		if begin < 0 {
			r.C.Meter().Poll(vector.RowWork + (len(s)-at)/4)
			return nil
		}
		r.C.Meter().Poll(vector.RowWork + (end-at)/4)
		r.place = [2]int{begin, end}
		return r.place[:]
	case at == 0:
		return r.find(s)
	case r.direct != nil && r.direct.anchored:
		return nil
	case !r.looksBack:
		m = r.find(s[at:])
	default:
		_, w := utf8.DecodeLastRuneInString(s[:at])
		base -= w
		x := r.search(r.behind.first, s[base:])
		if x == nil {
			return nil
		}
		start := base + x[2]
		_, w = utf8.DecodeLastRuneInString(s[:start])
		base = start - w
		if m = r.search(r.behind.at, s[base:]); m != nil {
			m = m[2:]
		}
	}
	for i := range m {
		if m[i] >= 0 {
			m[i] += base
		}
	}
	if r.looksBack {
		return r.grouped(s, m)
	}
	return m
}

// find is First for expressions that do not backtrack.
func (r *Regex) find(s string) []int {
	if r.once != nil {
		return r.from(s, 0)
	}
	if r.direct != nil && (r.direct.ends || r.direct.sure) {
		if m, ok := r.direct.find(s); ok {
			r.C.Meter().Poll(vector.RowWork + len(s)/4)
			return m
		}
	}
	return r.grouped(s, r.search(r.re, s))
}

// grouped returns a match with its groups as the quantifiers were written.
func (r *Regex) grouped(s string, m []int) []int {
	if m == nil || r.split == nil {
		return m
	}
	var g []int
	tried := false
	if r.direct != nil {
		g, tried = r.direct.whole(s[m[0]:m[1]])
	}
	if !tried {
		g = r.search(r.split, s[m[0]:m[1]])
	}
	if g == nil {
		return m // an assertion that looks beyond the match
	}
	out := make([]int, len(m))
	for i := range out {
		out[i] = -1
		if g[i] >= 0 {
			out[i] = g[i] + m[0]
		}
	}
	return out
}

// edge is \y, an edge of a word, or \Y, none. RE2's own knows ASCII only.
func (t *translator) edge(is bool) {
	word := "[" + regexClasses["word"] + "]"
	switch {
	case !t.wideEdges && is:
		t.put(`\b`)
	case !t.wideEdges:
		t.put(`\B`)
	case is:
		t.put("(?:(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + "))")
	default:
		t.put("(?:(?<=" + word + ")(?=" + word + ")|(?<!" + word + ")(?!" + word + "))")
	}
	t.edges, t.looksBack = true, true
	t.backtracks = t.backtracks || t.wideEdges
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// goError returns an error of the translated expression in PostgreSQL's words.
func goError(err error) error {
	e, ok := err.(*syntax.Error)
	if !ok {
		return errRegex("%s", err)
	}
	switch e.Code {
	case syntax.ErrMissingRepeatArgument, syntax.ErrInvalidRepeatOp:
		return errRegex("quantifier operand invalid")
	case syntax.ErrInvalidRepeatSize:
		return pgerr.Unsupported("regular expression repeats too often")
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
		return errRegex("parentheses () not balanced")
	case syntax.ErrMissingBracket:
		return errRegex("brackets [] not balanced")
	case syntax.ErrInvalidCharRange:
		return errRegex("invalid character range")
	case syntax.ErrInvalidEscape, syntax.ErrTrailingBackslash:
		return errRegex("invalid escape \\ sequence")
	case syntax.ErrLarge, syntax.ErrNestingDepth:
		return errRegex("regular expression is too complex")
	}
	return errRegex("%s", e.Code)
}
