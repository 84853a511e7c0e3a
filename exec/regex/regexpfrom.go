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
