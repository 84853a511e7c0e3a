package parse

import (
	"fmt"
	"sort"
	"strings"

	"github.com/multigres/multigres/go/common/parser"
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// fragment is a run of source tokens written as a text of its own for the
// grammar, with the way back from places in that text to source tokens:
//
//	source   TRAIN MODEL m WITH (lr = 1 +) AS …
//	tokens         lo ──────────▶ [1][+]  ◀── hi
//	text     SELECT 1 +            an error "at its end" is one at token hi
//
// A fragment without rewritten tokens keeps only an offset; one with them
// keeps, for each token written, its end and the source token it came from.
type fragment struct {
	src    *source
	lo, hi int // source tokens [lo, hi)
	text   string
	shift  int     // text offset + shift = source offset, when ends is nil
	ends   []int32 // ends of written tokens in text, ascending
	orig   []int32 // their source tokens, in any order
	names  *dottedNames
}

// verbatim is the fragment of tokens [lo, hi) as they are written.
func verbatim(src *source, lo, hi int) *fragment {
	f := &fragment{src: src, lo: lo, hi: hi}
	if lo < hi {
		f.shift = int(src.toks[lo].start)
		f.text = src.text[f.shift:src.toks[hi-1].end]
	}
	return f
}

// writer builds a fragment with rewritten tokens.
type writer struct {
	f     *fragment
	b     strings.Builder
	merge map[int]int // see merge.go
	tight bool        // the next token follows without a blank
}

func newWriter(src *source, lo, hi int) *writer {
	return &writer{f: &fragment{src: src, lo: lo, hi: hi}}
}

// put writes text that stands for source token i.
func (w *writer) put(i int, text string) {
	if w.b.Len() > 0 && !w.tight {
		w.b.WriteByte(' ')
	}
	w.tight = false
	w.b.WriteString(text)
	w.f.ends = append(w.f.ends, int32(w.b.Len()))
	w.f.orig = append(w.f.orig, int32(i))
}

// copy writes source tokens [lo, hi) as they are, blanks between them included
// (a newline between two strings has a meaning), comments left out.
func (w *writer) copy(lo, hi int) {
	for i := lo; i < hi; i++ {
		if i > lo && w.b.Len() > 0 {
			gap := w.f.src.text[w.f.src.toks[i-1].end:w.f.src.toks[i].start]
			switch {
			case gap == "":
			case strings.ContainsAny(gap, "\n\r"):
				w.b.WriteByte('\n')
			default:
				w.b.WriteByte(' ')
			}
		} else if w.b.Len() > 0 && !w.tight {
			w.b.WriteByte(' ')
		}
		w.tight = false
		w.b.WriteString(w.f.src.raw(i))
		w.f.ends = append(w.f.ends, int32(w.b.Len()))
		w.f.orig = append(w.f.orig, int32(i))
	}
}

// glue makes the next token that is copied follow without a blank.
func (w *writer) glue() { w.tight = true }

func (w *writer) done() *fragment {
	w.f.text = w.b.String()
	return w.f
}

// token gives the source token that the written token ending at or after the
// text offset end came from; f.hi when the offset is that of the end.
func (f *fragment) token(end int) int {
	if f.ends != nil {
		i := sort.Search(len(f.ends), func(i int) bool { return int(f.ends[i]) >= end })
		if i == len(f.ends) {
			return f.hi
		}
		return int(f.orig[i])
	}
	at := int32(end + f.shift)
	return f.lo + sort.Search(f.hi-f.lo, func(i int) bool { return f.src.toks[f.lo+i].end >= at })
}

// syntaxError is Postgres's message for an unexpected token i; i past the last
// token means the end of the input.
func (s *source) syntaxError(i int) *pgerr.Error {
	if i >= len(s.toks) {
		return pgerr.New(pgerr.SyntaxError, "syntax error at end of input").At(charPos(s.text, len(s.text)))
	}
	return pgerr.New(pgerr.SyntaxError, "syntax error at or near \"%s\"", s.raw(i)).At(s.pos(i))
}

// pos is the position of token i in characters from 1.
func (s *source) pos(i int) int {
	if i < 0 || i >= len(s.toks) {
		return 0
	}
	return charPos(s.text, int(s.toks[i].start))
}

// charPos turns a byte offset into the protocol's position.
func charPos(text string, offset int) int {
	offset = max(0, min(offset, len(text)))
	n := 1
	for i := 0; i < offset; i++ {
		if text[i]&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// parseGrammar hands a fragment to the Postgres grammar.
func parseGrammar(f *fragment) (stmts []ast.Stmt, err error) {
	defer func() {
		if r := recover(); r != nil {
			stmts, err = nil, pgerr.Internal("the parser failed: %v", r)
		}
	}()
	// The blank tells an error at the last token from one at the end.
	stmts, lib := parser.ParseSQL(f.text + " ")
	if lib != nil {
		return nil, grammarError(f, lib)
	}
	return stmts, nil
}

// parseOne parses a fragment that must be one statement.
func parseOne(f *fragment) (ast.Stmt, error) {
	stmts, err := parseGrammar(f)
	if err != nil {
		return nil, err
	}
	if len(stmts) != 1 || stmts[0] == nil {
		return nil, f.src.syntaxError(f.hi)
	}
	if f.hi-f.lo > maxDepth {
		if err := checkDepth(stmts[0]); err != nil {
			return nil, err
		}
	}
	if err := f.whole(stmts[0]); err != nil {
		return nil, err
	}
	return stmts[0], nil
}

// grammarError turns the library's error into Postgres's. The library has no
// error type: its text "parse error at position N: reason" is the only carrier
// of the offset, N being the end of the token that could not be taken.
func grammarError(f *fragment, lib error) error {
	var at int
	text := lib.Error()
	if _, err := fmt.Sscanf(text, "parse error at position %d:", &at); err != nil {
		return lexerError(f, text)
	}
	_, reason, _ := strings.Cut(text, ": ")
	tok := f.token(at)
	if reason == "syntax error" {
		return f.src.syntaxError(tok)
	}
	if e := actionError(f, tok, reason); e != nil {
		return e
	}
	return pgerr.New(pgerr.SyntaxError, "%s", reason).At(f.src.pos(tok))
}
