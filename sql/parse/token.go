package parse

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser"
)

// tokKind is what the scanner knows of a token without a grammar.
type tokKind uint8

const (
	tokEOF    tokKind = iota
	tokIdent          // unquoted word; tokKeyword when the grammar knows it
	tokQuoted         // "x" (U&"x"), in MySQL `x`
	tokString         // 'x' in any spelling
	tokBits           // B'…' or X'…'
	tokNumber
	tokParam // $1, in MySQL ?
	tokOp    // an operator of operator characters, :: := => .. included
	tokSelf  // a single character that means itself: ( ) , ; . [ ] :
	tokOther // a byte that no token begins with
)

// token is a place in the text. It holds no text: a long statement has
// millions of them.
type token struct {
	start, end int32
	kind       tokKind
}

// source is a text with its tokens.
type source struct {
	text  string
	toks  []token // without tokEOF
	mysql bool

	versioned []tokRange // tokens that stand in MySQL's /*! … */ comments
}

func (s *source) raw(i int) string {
	if i < 0 || i >= len(s.toks) {
		return ""
	}
	return s.text[s.toks[i].start:s.toks[i].end]
}

func (s *source) kind(i int) tokKind {
	if i < 0 || i >= len(s.toks) {
		return tokEOF
	}
	return s.toks[i].kind
}

// isSelf tells whether token i is the single character c.
func (s *source) isSelf(i int, c byte) bool {
	k := s.kind(i)
	return (k == tokSelf || k == tokOp) && s.toks[i].end-s.toks[i].start == 1 && s.text[s.toks[i].start] == c
}

// isWord tells whether token i is the unquoted word w (given in lower case).
func (s *source) isWord(i int, w string) bool {
	return s.kind(i) == tokIdent && int(s.toks[i].end-s.toks[i].start) == len(w) && fold(s.raw(i)) == w
}

// isName tells whether token i can be read as a name. Keywords count: which of
// them may stand where is the grammar's business.
func (s *source) isName(i int) bool { return s.kind(i) == tokIdent || s.kind(i) == tokQuoted }

// name is the identifier that token i denotes: folded, unquoted, truncated.
func (s *source) name(i int) string {
	switch s.kind(i) {
	case tokIdent:
		return truncateName(fold(s.raw(i)))
	case tokQuoted:
		name := unquoteName(s.raw(i))
		if s.mysql { // see mysql.go
			name = fold(name)
		}
		return truncateName(name)
	}
	return ""
}

// isReserved tells whether w (folded) can never be a bare column name.
func isReserved(w string) bool {
	k := parser.LookupKeyword(w)
	return k != nil && (k.Category == parser.ReservedKeyword || k.Category == parser.TypeFuncNameKeyword)
}

// fold lowers ASCII letters only, as Postgres does for a UTF-8 database.
func fold(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

const maxNameBytes = 63 // NAMEDATALEN - 1

// truncateName cuts a name to 63 bytes without cutting a character.
func truncateName(s string) string {
	if len(s) <= maxNameBytes {
		return s
	}
	n := maxNameBytes
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// unquoteName reads "x", U&"x" or `x`.
func unquoteName(raw string) string {
	if len(raw) > 2 && (raw[0] == 'U' || raw[0] == 'u') && raw[1] == '&' {
		body := strings.ReplaceAll(raw[3:len(raw)-1], `""`, `"`)
		return decodeUnicode(body, '\\')
	}
	if len(raw) < 2 {
		return raw
	}
	q := raw[:1]
	return strings.ReplaceAll(raw[1:len(raw)-1], q+q, q)
}
