package parse

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Dialect is the grammar that a session speaks.
type Dialect uint8

// The dialects.
const (
	Postgres Dialect = iota
	MySQL
)

// String implements fmt.Stringer with the names SET dialect takes.
func (d Dialect) String() string {
	if d == MySQL {
		return "mysql"
	}
	return "postgres"
}

// Statement is one statement of a query message; either Node or Own is set.
// It is immutable; the binder may rewrite Node only on a clone.
type Statement struct {
	Node    ast.Stmt // the Postgres tree; nil for our own statements
	Own     Own      // a statement of our own; nil otherwise
	Text    string   // the statement's own text, without the semicolon
	Offset  int      // byte offset of Text in the query string
	Notices []string // what was read and left out, each to be sent as a NOTICE

	src    *source
	lo, hi int // its tokens
}

// Limits on what is worth parsing. A tree deeper than maxDepth would make the
// recursive readers of it use a stack that no memory account sees.
const (
	maxText  = 64 << 20
	maxDepth = 10_000
)

// Parse splits sql at its top-level semicolons and parses each statement. The
// error is always a *pgerr.Error, its position in characters of sql. Nothing
// but blanks and comments gives an empty list.
func Parse(sql string, d Dialect) (out []*Statement, err error) {
	if len(sql) > maxText {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "query string of %d bytes is too long", len(sql)).
			WithDetail("A query string may have at most %d bytes.", maxText).
			WithHint("Load large data with COPY, or send it in several statements.")
	}
	if err := checkUTF8(sql); err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, pgerr.Internal("the parser failed: %v", r)
		}
	}()
	var src *source
	var lexical *scanError
	if d == MySQL {
		src, lexical = scanMySQL(sql)
	} else {
		src, lexical = scanPostgres(sql)
	}
	for _, r := range src.split() {
		broken := lexical != nil && r.hi == len(src.toks) && !r.closed
		if r.lo == r.hi && !broken {
			continue
		}
		var s *Statement
		if r.lo < r.hi {
			s, err = src.statement(r.lo, r.hi, d)
		}
		if broken && (err == nil || errorAtEnd(err, sql)) {
			err = lexical.err(charPos(sql, lexical.offset))
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if lexical != nil {
		return nil, lexical.err(charPos(sql, lexical.offset))
	}
	return out, nil
}

// errorAtEnd tells whether err is for the want of a further token.
func errorAtEnd(err error, sql string) bool {
	e := pgerr.From(err)
	return e.Position == 0 || e.Position >= charPos(sql, len(sql))
}

// EstimateBytes is an upper guess, in bytes, of what Parse(sql) will keep, for
// a session to charge before calling it: a few hundred bytes of tree for each
// token, of which a long literal has few.
func EstimateBytes(sql string) int64 {
	tokens, quoted, word := int64(1), false, false
	for i := 0; i < len(sql); i++ {
		c := sql[i]
		switch {
		case c == '\'':
			quoted = !quoted
			tokens++
		case quoted:
		case isIdentPart(c):
			if !word {
				tokens++
			}
			word = true
			continue
		case !isSpace(c):
			tokens++
		}
		word = false
	}
	return int64(len(sql))*6 + tokens*400
}

// checkUTF8 words an invalid byte as Postgres does.
func checkUTF8(sql string) error {
	if utf8.ValidString(sql) && strings.IndexByte(sql, 0) < 0 {
		return nil
	}
	for i := 0; i < len(sql); {
		r, n := utf8.DecodeRuneInString(sql[i:])
		if r == utf8.RuneError && n == 1 || r == 0 {
			var b strings.Builder
			for j := i; j < len(sql) && j < i+utf8Want(sql[i]); j++ {
				fmt.Fprintf(&b, " 0x%02x", sql[j])
			}
			return pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\":%s", b.String())
		}
		i += n
	}
	return nil
}

// utf8Want is the length that a lead byte announces.
func utf8Want(c byte) int {
	switch {
	case c >= 0xF0 && c < 0xF8:
		return 4
	case c >= 0xE0 && c < 0xF0:
		return 3
	case c >= 0xC0 && c < 0xE0:
		return 2
	}
	return 1
}

// tokRange is a statement's tokens; closed when a semicolon ends it.
type tokRange struct {
	lo, hi int
	closed bool
}

// split cuts at semicolons outside parentheses and outside the body of a
// BEGIN ATOMIC … END function.
func (s *source) split() []tokRange {
	var out []tokRange
	lo, depth, atomic := 0, 0, 0
	for i := range s.toks {
		switch s.kind(i) {
		case tokSelf:
			switch s.text[s.toks[i].start] {
			case '(', '[':
				depth++
			case ')', ']':
				depth = max(0, depth-1)
			case ';':
				if depth == 0 && atomic == 0 {
					out = append(out, tokRange{lo, i, true})
					lo = i + 1
				}
			}
		case tokIdent:
			n := s.toks[i].end - s.toks[i].start
			switch {
			case n == 6 && s.isWord(i, "atomic") && i > lo && s.isWord(i-1, "begin") && s.isWord(lo, "create"):
				atomic = 1
			case atomic > 0 && n == 4 && s.isWord(i, "case"):
				atomic++
			case atomic > 0 && n == 3 && s.isWord(i, "end"):
				atomic--
			}
		}
	}
	return append(out, tokRange{lo, len(s.toks), false})
}

// statement parses tokens [lo, hi), which is not empty.
func (s *source) statement(lo, hi int, d Dialect) (*Statement, error) {
	start, end := int(s.toks[lo].start), int(s.toks[hi-1].end)
	st := &Statement{Text: s.text[start:end], Offset: start, src: s, lo: lo, hi: hi}
	if err := s.checkNesting(lo, hi); err != nil {
		return nil, err
	}
	own, err := s.own(lo, hi, d)
	if err != nil {
		return nil, err
	}
	if own != nil {
		st.Own = own
		return st, nil
	}
	if d == MySQL {
		return st, st.parseMySQL()
	}
	st.Node, err = s.postgres(lo, hi)
	if err != nil {
		return nil, err
	}
	return st, nil
}

// postgres parses tokens [lo, hi) with the Postgres grammar.
func (s *source) postgres(lo, hi int) (ast.Stmt, error) {
	v := s.survey(lo, hi)
	f := verbatim(s, lo, hi)
	model := s.modelWord(lo, hi)
	switch {
	case v.rewrite:
		f = s.rewrite(lo, hi, v)
	case model > 0:
		f = s.asTables(lo, hi, model)
	}
	node, err := parseOne(f)
	if err != nil {
		return nil, err
	}
	if model > 0 {
		ofModels(node)
	}
	if v.err != nil {
		return nil, v.err
	}
	if v.bigNegative {
		foldNegative(node)
	}
	if v.recursive {
		if err := s.recursiveView(node, hi); err != nil {
			return nil, err
		}
	}
	return node, nil
}
