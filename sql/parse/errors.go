package parse

import (
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// actionErrors are the complaints that the grammar's actions make, with what
// PostgreSQL 15 says in their place. The text before the colon of the key is
// a prefix; it is the library's only way to say which complaint it is.
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

// actionError words a complaint of a grammar action; nil for one not known.
func actionError(f *fragment, tok int, reason string) *pgerr.Error {
	switch {
	case strings.HasPrefix(reason, "syntax error: IS NULL"):
		return f.src.syntaxError(f.lastWord(tok, "is"))
	case strings.HasPrefix(reason, "dropping an enum value"):
		return f.src.syntaxError(f.lastWord(tok, "drop"))
	}
	for _, a := range actionErrors {
		if strings.HasPrefix(reason, a.prefix) {
			message := a.message
			if message == "" {
				message = reason
			}
			e := pgerr.New(a.code, "%s", message).At(f.src.pos(f.place(a.prefix, reason, min(tok, len(f.src.toks)-1))))
			e.Hint = a.hint
			return e
		}
	}
	return nil
}

// place is the token that Postgres points at for a complaint which the library
// makes when it has read on to tok.
func (f *fragment) place(prefix, reason string, tok int) int {
	switch prefix {
	case "LIMIT #,#":
		return f.lastWord(tok, "limit")
	case "frame ":
		mode := -1
		for _, w := range []string{"rows", "range", "groups"} {
			if i := f.lastWord(tok, w); f.src.isWord(i, w) {
				mode = max(mode, i)
			}
		}
		switch {
		case mode < 0:
			return tok
		case !f.src.isWord(mode+1, "between"):
			return mode + 1
		case strings.HasPrefix(reason, "frame start cannot"):
			return mode + 2
		}
		return f.lastWord(tok, "and") + 1
	}
	return tok
}

// lastWord is the last token w at or before tok; tok when there is none.
func (f *fragment) lastWord(tok int, w string) int {
	for i := min(tok, f.hi-1); i >= f.lo; i-- {
		if f.src.isWord(i, w) {
			return i
		}
	}
	return tok
}

// lexerError words a complaint of the library's own lexer. Ours has read the
// text before it, so only what ours leaves comes here: the escapes of U&'…',
// whose escape character stands after it.
func lexerError(f *fragment, text string) *pgerr.Error {
	for i := f.lo; i < f.hi; i++ {
		if k := f.src.kind(i); k != tokString && k != tokQuoted || len(f.src.raw(i)) < 3 || f.src.raw(i)[1] != '&' {
			continue
		}
		if e := f.src.checkEscapes(i); e != nil {
			return e
		}
	}
	return pgerr.New(pgerr.SyntaxError, "%s", text)
}

// checkEscapes finds what is wrong with the U& string or name at token i.
func (s *source) checkEscapes(i int) *pgerr.Error {
	esc := byte('\\')
	if s.isWord(i+1, "uescape") {
		near := func(message string) *pgerr.Error {
			if i+2 >= len(s.toks) {
				return pgerr.New(pgerr.SyntaxError, "%s at end of input", message).At(charPos(s.text, len(s.text)))
			}
			return pgerr.New(pgerr.SyntaxError, `%s at or near "%s"`, message, s.raw(i+2)).At(s.pos(i + 2))
		}
		if s.kind(i+2) != tokString || s.raw(i + 2)[0] != '\'' {
			return near("UESCAPE must be followed by a simple string literal")
		}
		v := s.literal(i + 2)
		if len(v) != 1 || isHex(v[0]) || isSpace(v[0]) || strings.IndexByte(`+'"`, v[0]) >= 0 {
			return near("invalid Unicode escape character")
		}
		esc = v[0]
	}
	body := s.raw(i)[3 : len(s.raw(i))-1]
	if at, message := badEscape(body, esc); message != "" {
		e := pgerr.New(pgerr.SyntaxError, "%s", message).At(charPos(s.text, int(s.toks[i].start)+3+at))
		if message == "invalid Unicode escape" {
			e.Hint = `Unicode escapes must be \XXXX or \+XXXXXX.`
		}
		return e
	}
	return nil
}

// badEscape finds the first wrong escape in the body of a U& string.
func badEscape(body string, esc byte) (at int, message string) {
	var high uint64
	for i := 0; i < len(body); {
		if body[i] != esc || i+1 < len(body) && body[i+1] == esc {
			if high != 0 {
				return i, "invalid Unicode surrogate pair"
			}
			if body[i] == esc {
				i++
			}
			i++
			continue
		}
		from, n := i+1, 4
		if from < len(body) && body[from] == '+' {
			from, n = from+1, 6
		}
		if from+n > len(body) {
			return i, "invalid Unicode escape"
		}
		v, err := strconv.ParseUint(body[from:from+n], 16, 32)
		low := v >= 0xDC00 && v <= 0xDFFF
		switch {
		case err != nil:
			return i, "invalid Unicode escape"
		case v == 0 || v > 0x10FFFF:
			return i, "invalid Unicode escape value"
		case low != (high != 0):
			return i, "invalid Unicode surrogate pair"
		case v >= 0xD800 && v <= 0xDBFF:
			high = v
		default:
			high = 0
		}
		i = from + n
	}
	if high != 0 {
		return len(body), "invalid Unicode surrogate pair"
	}
	return 0, ""
}
