package lex

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser"
)

// Kind is the lexical class of a token.
type Kind uint8

const (
	EOF    Kind = iota
	Ident       // unquoted word, keywords too
	Quoted      // "x" (U&"x"), in MySQL `x`
	String      // 'x' in any spelling
	Bits        // B'…' or X'…'
	Number
	Param // $1, in MySQL ?
	Op    // an operator of operator characters, :: := => .. included
	Self  // one of ( ) , ; . [ ] :, a token of one character
	Other // a byte that no token begins with
)

// Token is a place in the text. It holds no text: a long statement has
// millions of them.
type Token struct {
	Start, End int32
	Kind       Kind
}

// Range is a statement's tokens; closed when a semicolon ends it.
type Range struct {
	Lo, Hi int
	Closed bool
}

// Source is a text with its tokens.
type Source struct {
	Text  string
	Toks  []Token // without tokEOF
	MySQL bool

	versioned []Range // tokens that stand in MySQL's /*! … */ comments
}

// Raw is token i as it is written; empty beyond the last.
func (s *Source) Raw(i int) string {
	if i < 0 || i >= len(s.Toks) {
		return ""
	}
	return s.Text[s.Toks[i].Start:s.Toks[i].End]
}

// Kind is the kind of token i; EOF beyond the last.
func (s *Source) Kind(i int) Kind {
	if i < 0 || i >= len(s.Toks) {
		return EOF
	}
	return s.Toks[i].Kind
}

// IsSelf reports whether token i is the single character c.
func (s *Source) IsSelf(i int, c byte) bool {
	k := s.Kind(i)
	return (k == Self || k == Op) && s.Toks[i].End-s.Toks[i].Start == 1 && s.Text[s.Toks[i].Start] == c
}

// IsWord reports whether token i is the unquoted word w (given in lower case).
func (s *Source) IsWord(i int, w string) bool {
	return s.Kind(i) == Ident && int(s.Toks[i].End-s.Toks[i].Start) == len(w) && Fold(s.Raw(i)) == w
}

// IsName reports whether token i can be read as a name. Keywords are names here:
// the grammar decides which of them are reserved where.
func (s *Source) IsName(i int) bool { return s.Kind(i) == Ident || s.Kind(i) == Quoted }

// Name is the identifier that token i denotes: folded, unquoted, truncated.
func (s *Source) Name(i int) string {
	switch s.Kind(i) {
	case Ident:
		return TruncateName(Fold(s.Raw(i)))
	case Quoted:
		name := unquoteName(s.Raw(i))
		if s.MySQL { // see package mysql
			name = Fold(name)
		}
		return TruncateName(name)
	}
	return ""
}

// IsReserved reports whether w (folded) can never be a bare column name.
func IsReserved(w string) bool {
	k := parser.LookupKeyword(w)
	return k != nil && (k.Category == parser.ReservedKeyword || k.Category == parser.TypeFuncNameKeyword)
}

// Fold lowers ASCII letters only, as Postgres does for a UTF-8 database.
func Fold(s string) string {
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

// MaxNameBytes is the longest name.
const MaxNameBytes = 63 // NAMEDATALEN - 1

// TruncateName cuts a name to 63 bytes without cutting a character.
func TruncateName(s string) string {
	if len(s) <= MaxNameBytes {
		return s
	}
	n := MaxNameBytes
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

// AllVersioned reports whether every token stands in a /*! */ comment.
func (s *Source) AllVersioned(lo, hi int) bool {
	at := lo
	for _, r := range s.versioned {
		if r.Lo <= at && r.Hi > at {
			at = r.Hi
		}
	}
	return at >= hi && lo < hi && len(s.versioned) > 0
}
