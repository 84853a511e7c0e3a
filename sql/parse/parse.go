package parse

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
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

// Statement is one statement of a query message; either Node or Extension is set.
// It is immutable; the binder may rewrite Node only on a clone.
type Statement struct {
	Node      ast.Stmt  // the Postgres tree; nil for our own statements
	Extension Extension // a statement that PostgreSQL does not have; nil otherwise
	Text      string    // the statement's own text, without the semicolon
	Offset    int       // byte offset of Text in the query string
	Notices   []string  // what was ignored, each to be sent as a NOTICE

	src    *source
	lo, hi int // its tokens

	looked      bool // the fields below are set
	fingerprint int64
	secret      bool // a constant of it may be a secret
}

// maxText is the longest text that is parsed.
const maxText = 64 << 20

// source is a text with its tokens, read by the grammars.
type source struct{ *lex.Source }

// Parse splits sql at its top-level semicolons and parses each statement. The error is always a
// *pgerr.Error, its position in characters of sql. For nothing but blanks and comments the list is
// empty.
func Parse(sql string, d Dialect) ([]*Statement, error) {
	return ParseUntil(sql, d, func() error { return nil })
}

// ParseUntil is Parse that asks before each statement whether it may go on: the error of poll ends it.
func ParseUntil(sql string, d Dialect, poll func() error) (out []*Statement, err error) {
	if len(sql) > maxText {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "query string of %d bytes is too long", len(sql)).
			WithDetail("A query string may have at most %d bytes.", maxText).
			WithHint("Load large data with COPY, or send it in several statements.")
	}
	if err := pgerr.CheckUTF8(sql); err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, pgerr.Internal("the parser failed: %v", r)
		}
	}()
	var toks *lex.Source
	var lexical *lex.Error
	if d == MySQL {
		toks, lexical = lex.MySQL(sql)
	} else {
		toks, lexical = lex.Postgres(sql)
	}
	src := &source{toks}
	for _, r := range src.split() {
		broken := lexical != nil && r.Hi == len(src.Toks) && !r.Closed
		if r.Lo == r.Hi && !broken {
			continue
		}
		if err := poll(); err != nil {
			return nil, err
		}
		var s *Statement
		if r.Lo < r.Hi {
			s, err = src.statement(r.Lo, r.Hi, d)
		}
		if broken && (err == nil || errorAtEnd(err, sql)) {
			err = lexical.Err(lex.CharPos(sql, lexical.Offset))
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if lexical != nil {
		return nil, lexical.Err(lex.CharPos(sql, lexical.Offset))
	}
	return out, nil
}

// One parses a text that is one statement, which the database itself has written or
// kept.
func One(sql string, d Dialect) (*Statement, error) {
	list, err := Parse(sql, d)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, pgerr.Internal("%d statements in %q", len(list), sql)
	}
	return list[0], nil
}

// errorAtEnd reports whether err is for a missing further token.
func errorAtEnd(err error, sql string) bool {
	e := pgerr.From(err)
	return e.Position == 0 || e.Position >= lex.CharPos(sql, len(sql))
}

// split cuts at semicolons outside parentheses and outside the body of a
// BEGIN ATOMIC … END function.
func (s *source) split() []lex.Range {
	var out []lex.Range
	lo, depth, atomic := 0, 0, 0
	for i := range s.Toks {
		switch s.Kind(i) {
		case lex.Self:
			switch s.Text[s.Toks[i].Start] {
			case '(', '[':
				depth++
			case ')', ']':
				depth = max(0, depth-1)
			case ';':
				if depth == 0 && atomic == 0 {
					out = append(out, lex.Range{Lo: lo, Hi: i, Closed: true})
					lo = i + 1
				}
			}
		case lex.Ident:
			n := s.Toks[i].End - s.Toks[i].Start
			switch {
			case n == 6 && s.IsWord(i, "atomic") && i > lo && s.IsWord(i-1, "begin") && s.IsWord(lo, "create"):
				atomic = 1
			case atomic > 0 && n == 4 && s.IsWord(i, "case"):
				atomic++
			case atomic > 0 && n == 3 && s.IsWord(i, "end"):
				atomic--
			}
		}
	}
	return append(out, lex.Range{Lo: lo, Hi: len(s.Toks)})
}

// statement parses tokens [lo, hi), which is not empty.
func (s *source) statement(lo, hi int, d Dialect) (*Statement, error) {
	start, end := int(s.Toks[lo].Start), int(s.Toks[hi-1].End)
	st := &Statement{Text: s.Text[start:end], Offset: start, src: s, lo: lo, hi: hi}
	if err := s.CheckNesting(lo, hi); err != nil {
		return nil, err
	}
	ext, err := s.extension(lo, hi, d)
	if err != nil {
		return nil, err
	}
	if ext != nil {
		st.Extension = ext
		return st, nil
	}
	if i := s.callAt(lo, hi); i >= 0 {
		c, err := s.call(lo, i, hi, d)
		if err != nil {
			return nil, err
		}
		st.Extension = c
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
	if v.early != nil {
		return nil, v.early
	}
	f := &fragment{Run: lex.Verbatim(s.Source, lo, hi)}
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
		ofModels(node, s.IsWord(model, "secret"))
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
