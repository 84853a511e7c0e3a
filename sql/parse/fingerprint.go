package parse

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/hash"
	"github.com/tributarydb/tributary/sql/lex"
)

// What statistics and histories keep of statements: a number that is the same for statements that differ only
// in constants, spaces, comments and case, and texts without secrets.

// Fingerprint is the same for statements that differ in their constants and their spelling only. It
// is the same on every node.
func (s *Statement) Fingerprint() int64 {
	s.look()
	return s.fingerprint
}

// Shown returns the statement's text for logs and histories, at most so many bytes. If it may contain a
// secret, its constants are replaced by $1, $2, ….
func (s *Statement) Shown(most int) string {
	if s.look(); s.secret {
		return s.Normal(most)
	}
	return CutText(s.Text, most)
}

// Normal returns the statement's text, at most so many bytes, with its constants replaced by $1, $2, ….
func (s *Statement) Normal(most int) string {
	if s.src == nil {
		return ""
	}
	n := 0 // the highest parameter
	for i := s.lo; i < s.hi; i++ {
		if s.src.Kind(i) == lex.Param {
			if p, err := strconv.Atoi(strings.TrimPrefix(s.src.Raw(i), "$")); err == nil {
				n = max(n, p)
			}
		}
	}
	var b strings.Builder
	at := int(s.src.Toks[s.lo].Start)
	for i := s.lo; i < s.hi && b.Len() <= most; i++ {
		t := s.src.Toks[i]
		// Between tokens are spaces, and comments, which may say anything.
		if gap := s.src.Text[at:t.Start]; strings.TrimSpace(gap) == "" {
			b.WriteString(gap)
		} else {
			b.WriteByte(' ')
		}
		if isConstant(t.Kind) {
			n++
			b.WriteString("$" + strconv.Itoa(n))
		} else {
			b.WriteString(s.src.Raw(i))
		}
		at = int(t.End)
	}
	return CutText(b.String(), most)
}

func isConstant(k lex.Kind) bool { return k == lex.String || k == lex.Bits || k == lex.Number }

// look reads the tokens once.
func (s *Statement) look() {
	if s.looked || s.src == nil {
		return
	}
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for i := s.lo; i < s.hi; i++ {
		t := s.src.Toks[i]
		raw := s.src.Text[t.Start:t.End]
		switch t.Kind {
		case lex.String, lex.Bits, lex.Number, lex.Param:
			s.secret = s.secret || t.Kind == lex.String && secretURI(raw)
			h = (h ^ '$') * prime
		case lex.Ident:
			for j := 0; j < len(raw); j++ {
				c := raw[j]
				if c >= 'A' && c <= 'Z' {
					c += 'a' - 'A'
				}
				h = (h ^ uint64(c)) * prime
			}
			s.secret = s.secret || secretWord(raw)
		default:
			for j := 0; j < len(raw); j++ {
				h = (h ^ uint64(raw[j])) * prime
			}
			s.secret = s.secret || t.Kind == lex.Quoted && secretWord(raw)
		}
		h = (h ^ ' ') * prime
	}
	// Tools of clients take a fingerprint above 0 as set.
	s.looked, s.fingerprint = true, int64(hash.Mix(h, uint64(s.hi-s.lo))>>1)
}

// secretWord reports whether a word names a secret: statements with such a word may have one as a constant.
func secretWord(w string) bool {
	if len(w) < 5 {
		return false
	}
	w = lex.Fold(w)
	for _, s := range [...]string{"passw", "secret", "token", "credential", "access_key"} {
		if strings.Contains(w, s) {
			return true
		}
	}
	return false
}

// secretURI reports whether a string is an address with a user's password or a signature in it.
func secretURI(s string) bool {
	_, rest, ok := strings.Cut(s, "://")
	return ok && strings.ContainsAny(rest, "@?")
}

// CutText returns at most so many bytes of a text, as a copy, so that the whole text need not stay in memory.
func CutText(s string, most int) string {
	if len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most]
	}
	return strings.Clone(s)
}
