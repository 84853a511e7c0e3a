package parse

import (
	"strings"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// actionErrors are the errors of the grammar's actions, with PostgreSQL 15's messages for them. The
// text before the colon of the key is a prefix; it is the library's only way to identify an error.
var actionErrors = []struct {
	prefix, message string // message "" keeps the library's
	code            pgerr.Code
	hint            string
}{
	{"LIMIT #,#", "LIMIT #,# syntax is not supported", pgerr.SyntaxError, "Use separate LIMIT and OFFSET clauses."},
	{"frame ", "", pgerr.WindowingError, ""},
	{"UNIQUE predicate", "", pgerr.FeatureNotSupported, ""},
	{"CREATE ASSERTION", "", pgerr.FeatureNotSupported, ""},
	{"CREATE EXTENSION", "", pgerr.FeatureNotSupported, ""},
	{"UNENCRYPTED PASSWORD", "", pgerr.FeatureNotSupported, "Remove UNENCRYPTED to store the password in encrypted form instead."},
	{"column list with", "", pgerr.FeatureNotSupported, ""},
	{"unrecognized JSON encoding", "", pgerr.InvalidParameterValue, ""},
	{"role name", "", pgerr.ReservedName, ""},
	{"SESSION_USER cannot", "", pgerr.ReservedName, ""},
	{"CURRENT_USER cannot", "", pgerr.ReservedName, ""},
	{"CURRENT_ROLE cannot", "", pgerr.ReservedName, ""},
	{"Use NONE", "missing argument", pgerr.SyntaxError, "Use NONE to denote the missing argument of a unary operator."},
}

// actionError returns the error for one of a grammar action; nil for one not known.
func actionError(f *fragment, tok int, reason string) *pgerr.Error {
	switch {
	case strings.HasPrefix(reason, "syntax error: IS NULL"):
		return f.Src.SyntaxError(f.lastWord(tok, "is"))
	case strings.HasPrefix(reason, "dropping an enum value"):
		return f.Src.SyntaxError(f.lastWord(tok, "drop"))
	}
	for _, a := range actionErrors {
		if strings.HasPrefix(reason, a.prefix) {
			message := a.message
			if message == "" {
				message = reason
			}
			e := pgerr.New(a.code, "%s", message).At(f.Src.Pos(f.place(a.prefix, reason, min(tok, len(f.Src.Toks)-1))))
			e.Hint = a.hint
			return e
		}
	}
	return nil
}

// place returns the token that PostgreSQL points at for an error which the library raises when it
// has read on to tok.
func (f *fragment) place(prefix, reason string, tok int) int {
	switch prefix {
	case "LIMIT #,#":
		return f.lastWord(tok, "limit")
	case "frame ":
		mode := -1
		for _, w := range []string{"rows", "range", "groups"} {
			if i := f.lastWord(tok, w); f.Src.IsWord(i, w) {
				mode = max(mode, i)
			}
		}
		switch {
		case mode < 0:
			return tok
		case !f.Src.IsWord(mode+1, "between"):
			return mode + 1
		case strings.HasPrefix(reason, "frame start cannot"):
			return mode + 2
		}
		return f.lastWord(tok, "and") + 1
	}
	return tok
}

// lastWord returns the last token w at or before tok; tok when there is none.
func (f *fragment) lastWord(tok int, w string) int {
	for i := min(tok, f.Hi-1); i >= f.Lo; i-- {
		if f.Src.IsWord(i, w) {
			return i
		}
	}
	return tok
}

// lexerError returns the error for one of the library's own lexer. Ours has read the text before
// it, so only errors that ours does not find remain: the escapes of U&'…', whose escape character
// stands after it.
func lexerError(f *fragment, text string) *pgerr.Error {
	for i := f.Lo; i < f.Hi; i++ {
		if k := f.Src.Kind(i); k != lex.String && k != lex.Quoted || len(f.Src.Raw(i)) < 3 || f.Src.Raw(i)[1] != '&' {
			continue
		}
		if e := f.Src.CheckEscapes(i); e != nil {
			return e
		}
	}
	return pgerr.New(pgerr.SyntaxError, "%s", text)
}
