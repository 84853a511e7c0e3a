package lex

import (
	"sort"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Run is a run of source tokens written as a text of its own for the
// grammar, with the way back from places in that text to source tokens:
//
//	source   TRAIN MODEL m WITH (lr = 1 +) AS …
//	tokens         lo ──────────▶ [1][+]  ◀── hi
//	text     SELECT 1 +            an error "at its end" is one at token hi
//
// A run without rewritten tokens keeps only an offset; one with them
// keeps, for each token written, its end and the source token it came from.
type Run struct {
	Src    *Source
	Lo, Hi int // source tokens [lo, hi)
	Text   string
	shift  int     // text offset + shift = source offset, when ends is nil
	ends   []int32 // ends of written tokens in text, ascending
	orig   []int32 // their source tokens, in any order
}

// Verbatim is the run of tokens [lo, hi) as they are written.
func Verbatim(src *Source, lo, hi int) *Run {
	f := &Run{Src: src, Lo: lo, Hi: hi}
	if lo < hi {
		f.shift = int(src.Toks[lo].Start)
		f.Text = src.Text[f.shift:src.Toks[hi-1].End]
	}
	return f
}

// Writer builds a run with rewritten tokens.
type Writer struct {
	f     *Run
	b     strings.Builder
	tight bool // the next token follows without a blank
}

// NewWriter begins a run that stands for tokens [lo, hi) of src.
func NewWriter(src *Source, lo, hi int) *Writer {
	return &Writer{f: &Run{Src: src, Lo: lo, Hi: hi}}
}

// Put writes text that stands for source token i.
func (w *Writer) Put(i int, text string) {
	if w.b.Len() > 0 && !w.tight {
		w.b.WriteByte(' ')
	}
	w.tight = false
	w.b.WriteString(text)
	w.f.ends = append(w.f.ends, int32(w.b.Len()))
	w.f.orig = append(w.f.orig, int32(i))
}

// Copy writes source tokens [lo, hi) as they are, blanks between them included
// (a newline between two strings has a meaning), comments left out.
func (w *Writer) Copy(lo, hi int) {
	for i := lo; i < hi; i++ {
		if i > lo && w.b.Len() > 0 {
			gap := w.f.Src.Text[w.f.Src.Toks[i-1].End:w.f.Src.Toks[i].Start]
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
		w.b.WriteString(w.f.Src.Raw(i))
		w.f.ends = append(w.f.ends, int32(w.b.Len()))
		w.f.orig = append(w.f.orig, int32(i))
	}
}

// Glue makes the next token that is copied follow without a blank.
func (w *Writer) Glue() { w.tight = true }

// Done ends the writing.
func (w *Writer) Done() *Run {
	w.f.Text = w.b.String()
	return w.f
}

// Token returns the source token that the written token ending at or after the
// text offset end came from; f.hi when the offset is that of the end.
func (f *Run) Token(end int) int {
	if f.ends != nil {
		i := sort.Search(len(f.ends), func(i int) bool { return int(f.ends[i]) >= end })
		if i == len(f.ends) {
			return f.Hi
		}
		return int(f.orig[i])
	}
	at := int32(end + f.shift)
	return f.Lo + sort.Search(f.Hi-f.Lo, func(i int) bool { return f.Src.Toks[f.Lo+i].End >= at })
}

// SyntaxError is Postgres's message for an unexpected token i; i past the last
// token means the end of the input.
func (s *Source) SyntaxError(i int) *pgerr.Error {
	if i >= len(s.Toks) {
		return pgerr.New(pgerr.SyntaxError, "syntax error at end of input").At(CharPos(s.Text, len(s.Text)))
	}
	return pgerr.New(pgerr.SyntaxError, "syntax error at or near \"%s\"", s.Raw(i)).At(s.Pos(i))
}

// Pos is the position of token i in characters from 1.
func (s *Source) Pos(i int) int {
	if i < 0 || i >= len(s.Toks) {
		return 0
	}
	return CharPos(s.Text, int(s.Toks[i].Start))
}

// CharPos turns a byte offset into the protocol's position.
func CharPos(text string, offset int) int {
	offset = max(0, min(offset, len(text)))
	n := 1
	for i := 0; i < offset; i++ {
		if text[i]&0xC0 != 0x80 {
			n++
		}
	}
	return n
}
