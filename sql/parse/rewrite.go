package parse

import (
	"strings"
)

// rewrite writes tokens [lo, hi) for the Postgres grammar, where survey found
// something to write otherwise. BigQuery's model functions:
//
//	ML.PREDICT(MODEL s.m, (SELECT …))      →  ML.PREDICT('s.m', (SELECT …))
//	ML.EVALUATE(MODEL m, TABLE t)          →  ML.EVALUATE('m', (TABLE t))
//	ML.PREDICT(MODEL m, …, STRUCT(1 AS k)) →  ML.PREDICT('m', …, k => 1)
//	ML.PREDICT(MODEL m@3, …)               →  ML.PREDICT('m@3', …)
//
// The name inside the quotes is written as SQL would write it ("Big Name"
// keeps its double quotes), so the binder reads it as it reads any model name.
//
// Four things the grammar has wrong: names of more than two parts (dotted.go), float(n), whose n it drops, becomes real
// or double precision; $tag$…$tag$, whose tags it takes in ASCII only, and
// 'a' -- comment <newline> 'b' become one '…'.
func (s *source) rewrite(lo, hi int, v survey) *fragment {
	w := newWriter(s, lo, hi)
	w.merge = v.merge
	s.rewriteTo(w, lo, hi)
	return w.done()
}

// rewriteTo writes tokens [lo, hi) to w.
func (s *source) rewriteTo(w *writer, lo, hi int) {
	from := lo
	for i := lo; i < hi; {
		switch {
		case s.modelAt(i, hi):
			w.copy(from, i+4)
			i = s.rewriteModelArgs(w, i+4, hi)
			from = i
		case w.merge[i] > i:
			w.copy(from, i)
			i = s.writeMerged(w, i, hi)
			from = i
		case s.floatAt(i, hi):
			w.copy(from, i)
			if s.checkFloat(i) == nil && len(s.raw(i+2)) <= 2 && s.raw(i+2) <= "24" {
				w.put(i, "real")
			} else {
				w.put(i, "double precision")
			}
			i += 4
			from = i
		case s.kind(i) == tokString && (s.text[s.toks[i].start] == '$' || s.commented(i)):
			w.copy(from, i)
			w.put(i, QuoteLiteral(s.literal(i)))
			i++
			from = i
		case s.excludeAt(i, lo, hi) > 0:
			w.copy(from, i)
			end := s.excludeAt(i, lo, hi)
			s.writeExclude(w, i, end)
			i, from = end, end
		case s.dottedAt(i, hi) > 0:
			w.copy(from, i)
			end := s.dottedAt(i, hi)
			s.writeDotted(w, i, end)
			i, from = end, end
		default:
			i++
		}
	}
	w.copy(from, hi)
}

// rewriteModelArgs writes the arguments that begin with MODEL at token i and
// gives the first token not written. A TABLE or STRUCT argument is rewritten
// only at the call's own level.
func (s *source) rewriteModelArgs(w *writer, i, hi int) int {
	name, next := s.qualified(i+1, hi)
	parts := make([]string, len(name))
	for k, p := range name {
		parts[k] = QuoteName(p)
	}
	version, next := s.versionAt(next, hi)
	w.put(i, QuoteLiteral(strings.Join(parts, ".")+version))
	for i = next; i < hi && s.isSelf(i, ','); {
		switch {
		case s.isWord(i+1, "table") && s.isName(i+2):
			_, next = s.qualified(i+2, hi)
			w.copy(i, i+1)
			w.put(i+1, "(")
			w.copy(i+1, next)
			w.put(next-1, ")")
			i = next
		case s.isWord(i+1, "struct") && s.isSelf(i+2, '('):
			end := s.closing(i+2, hi)
			if end < 0 || !s.rewriteStruct(w, i, end) {
				return i
			}
			i = end + 1
		default:
			// Another argument: copied up to the next comma of this level,
			// with what it may hold of its own rewritten.
			end := s.argEnd(i+1, hi)
			s.rewriteTo(w, i, end)
			i = end
		}
	}
	return i
}

// versionAt reads the @3 that may follow a model's name at token i, and gives the
// token after it.
func (s *source) versionAt(i, hi int) (string, int) {
	if i+1 < hi && s.isSelf(i, '@') && s.kind(i+1) == tokNumber {
		return "@" + s.raw(i+1), i + 2
	}
	return "", i
}

// rewriteStruct writes ", STRUCT(e AS n, …)" whose comma is token i and whose
// closing parenthesis is token end; false (nothing written) if it is not of
// that form.
func (s *source) rewriteStruct(w *writer, i, end int) bool {
	type field struct{ lo, as int }
	var fields []field
	for lo := i + 3; lo < end; {
		stop := s.argEnd(lo, end)
		if stop-lo < 3 || !s.isWord(stop-2, "as") || !s.isName(stop-1) {
			return false
		}
		fields = append(fields, field{lo, stop - 2})
		lo = stop + 1
	}
	for _, f := range fields {
		w.put(i, ",")
		w.copy(f.as+1, f.as+2)
		w.put(f.as, "=>")
		s.rewriteTo(w, f.lo, f.as)
	}
	return len(fields) > 0
}

// argEnd is the first comma or closing bracket of the level of token i.
func (s *source) argEnd(i, hi int) int {
	depth := 0
	for ; i < hi; i++ {
		if s.kind(i) != tokSelf {
			continue
		}
		switch s.text[s.toks[i].start] {
		case '(', '[':
			depth++
		case ')', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return hi
}

// closing is the bracket that closes the one at token i; -1 if none does.
func (s *source) closing(i, hi int) int {
	depth := 0
	for ; i < hi; i++ {
		if s.kind(i) != tokSelf {
			continue
		}
		switch s.text[s.toks[i].start] {
		case '(', '[':
			depth++
		case ')', ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// qualified reads a dotted name at token i and gives the token after it.
func (s *source) qualified(i, hi int) ([]string, int) {
	var parts []string
	for i < hi && s.isName(i) {
		parts = append(parts, s.name(i))
		i++
		if !s.isSelf(i, '.') || i+1 >= hi || !s.isName(i+1) {
			break
		}
		i++
	}
	return parts, i
}
