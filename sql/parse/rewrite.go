package parse

import (
	"maps"
	"strings"

	"github.com/tributarydb/tributary/sql/lex"
)

// rewrite writes tokens [lo, hi) for the Postgres grammar, where survey found something to rewrite.
// BigQuery's model functions:
//
//	ML.PREDICT(MODEL s.m, (SELECT …))      →  ML.PREDICT('s.m', (SELECT …))
//	ML.EVALUATE(MODEL m, TABLE t)          →  ML.EVALUATE('m', (TABLE t))
//	ML.PREDICT(MODEL m, …, STRUCT(1 AS k)) →  ML.PREDICT('m', …, k => 1)
//	ML.DETECT_ANOMALIES(MODEL m, STRUCT(1 AS k), TABLE t) → ML.DETECT_ANOMALIES('m', (TABLE t), k => 1)
//	ML.PREDICT(MODEL m@3, …)               →  ML.PREDICT('m@3', …), and so m@alias
//	PREDICT(MODEL 'm', TABLE t)            →  PREDICT('m', t), which sqlglot makes of predict('m', t)
//
// ASOF joins (asof.go), and try_cast(x AS t) → try_cast(CAST(x AS t)), a function that the binder knows.
//
// The name inside the quotes is written as SQL would write it ("Big Name"
// keeps its double quotes), so the binder reads it as it reads any model name.
//
// Five things the grammar has wrong: names of more than two parts (longnames.go), float(n), whose n it drops, becomes real
// or double precision; $tag$…$tag$, whose tags it takes in ASCII only, and
// 'a' -- comment <newline> 'b' become one '…'; and bytes written as \xHH or \OOO, which it takes for
// characters, become what they stand for. Long lists of integers become one constant (integers.go).
func (s *source) rewrite(lo, hi int, v survey) *fragment {
	w := newRewriter(s, lo, hi)
	w.merge, w.relations, w.past, w.asofs, w.pivots = v.merge, v.relations, v.past, v.asofs, maps.Clone(v.pivots)
	s.rewriteTo(w, lo, hi)
	return w.fragment()
}

// rewriteTo writes tokens [lo, hi) to w.
func (s *source) rewriteTo(w *rewriter, lo, hi int) {
	from := lo
	for i := lo; i < hi; {
		switch {
		case s.modelAt(i, hi):
			w.Copy(from, i+4)
			i = s.rewriteModelArgs(w, i+4, hi)
			from = i
		case s.modelLiteral(i):
			w.Copy(from, i)
			i++
			from = i
			if s.IsSelf(i+1, ',') && s.IsWord(i+2, "table") && s.IsName(i+3) {
				i = s.rewriteTableArg(w, i, hi)
				from = i
			}
		case w.past && startsPast(s, i, hi):
			w.Copy(from, i)
			i = writePast(s, w, i, hi)
			from = i
		case w.pivots[i].end > 0:
			w.Copy(from, i)
			i = writePivot(s, w, i)
			from = i
		case w.asofs[i].end > 0:
			w.Copy(from, i)
			i = writeAsof(s, w, i)
			from = i
		case tryCastAt(s, i, hi) > 0:
			end := tryCastAt(s, i, hi)
			w.Copy(from, i+2)
			w.Put(i+1, "CAST(")
			s.rewriteTo(w, i+2, end)
			w.Put(end, ")")
			i, from = end, end
		case w.relations[i].call != "":
			w.Copy(from, i)
			i = s.writeRelation(w, i, hi)
			from = i
		case w.merge[i] > i:
			w.Copy(from, i)
			i = s.writeMerged(w, i, hi)
			from = i
		case s.floatAt(i, hi):
			w.Copy(from, i)
			if s.checkFloat(i) == nil && len(s.Raw(i+2)) <= 2 && s.Raw(i+2) <= "24" {
				w.Put(i, "real")
			} else {
				w.Put(i, "double precision")
			}
			i += 4
			from = i
		case s.Kind(i) == lex.String && s.respelt(i):
			w.Copy(from, i)
			w.Put(i, lex.QuoteLiteral(s.Literal(i)))
			i++
			from = i
		case s.listAt(i, hi) > 0:
			w.Copy(from, i+2)
			end := s.listAt(i, hi)
			s.writeList(w, i+2, end)
			i, from = end, end
		case s.excludeAt(i, lo, hi) > 0:
			w.Copy(from, i)
			end := s.excludeAt(i, lo, hi)
			s.writeExclude(w, i, end)
			i, from = end, end
		case s.dottedAt(i, hi) > 0:
			w.Copy(from, i)
			end := s.dottedAt(i, hi)
			s.writeDotted(w, i, end)
			i, from = end, end
		default:
			i++
		}
	}
	w.Copy(from, hi)
}

// writePivot writes the relation at token i with what follows it, and returns the token after.
func writePivot(s *source, w *rewriter, i int) int {
	p := w.pivots[i]
	delete(w.pivots, i)
	w.Put(i, strings.ToLower(s.Raw(p.word))+"((SELECT * FROM")
	s.rewriteTo(w, i, p.word)
	body := s.Text[s.Toks[p.open+1].Start:s.Toks[p.end-1].End]
	if p.open+1 == p.end {
		body = ""
	}
	args := "), " + lex.QuoteLiteral(body)
	if s.IsSelf(i, '(') && s.IsSelf(p.word-1, ')') {
		args = " AS q" + args // a query needs an alias
	}
	if s.IsWord(p.word+1, "include") {
		args += ", 'include'"
	}
	w.Put(p.word, args+")")
	return p.end + 1
}

// rewriteModelArgs writes the arguments that begin with MODEL at token i and returns the first
// token not written. A TABLE or STRUCT argument is rewritten only at the call's own level.
func (s *source) rewriteModelArgs(w *rewriter, i, hi int) int {
	name, next := s.Qualified(i+1, hi)
	parts := make([]string, len(name))
	for k, p := range name {
		parts[k] = lex.QuoteName(p)
	}
	version, next := s.versionAt(next, hi)
	w.Put(i, lex.QuoteLiteral(strings.Join(parts, ".")+version))
	var named []structArg // written last: in SQL names come after what has none
	defer func() {
		for _, a := range named {
			s.writeStruct(w, a)
		}
	}()
	for i = next; i < hi && s.IsSelf(i, ','); {
		switch {
		case s.IsWord(i+1, "table") && s.IsName(i+2):
			_, next = s.Qualified(i+2, hi)
			w.Copy(i, i+1)
			w.Put(i+1, "(")
			w.Copy(i+1, next)
			w.Put(next-1, ")")
			i = next
		case s.IsWord(i+1, "struct") && s.IsSelf(i+2, '('):
			end := s.Closing(i+2, hi)
			a, ok := readStruct(s, i, end)
			if end < 0 || !ok {
				return i
			}
			named = append(named, a)
			i = end + 1
		default:
			// Another argument: copied up to the next comma of this level,
			// with what it may hold of its own rewritten.
			end := s.ArgEnd(i+1, hi)
			s.rewriteTo(w, i, end)
			i = end
		}
	}
	return i
}

// rewriteTableArg writes the arguments 'name', TABLE t from token i on: a relation's is the query
// (TABLE t), an expression's the row t.
func (s *source) rewriteTableArg(w *rewriter, i, hi int) int {
	_, next := s.Qualified(i+3, hi)
	relation := s.IsSelf(i-4, '.') && s.IsWord(i-5, "ml") && (s.IsWord(i-6, "from") || s.IsWord(i-6, "join") || s.IsSelf(i-6, ','))
	w.Copy(i, i+2)
	if !relation {
		w.Copy(i+3, next)
		return next
	}
	w.Put(i+2, "(")
	w.Copy(i+2, next)
	w.Put(next-1, ")")
	return next
}

// versionAt reads the @3 or @champion that may follow a model's name at token i, and returns the
// token after it.
func (s *source) versionAt(i, hi int) (string, int) {
	switch {
	case i+1 >= hi || !s.IsSelf(i, '@'):
	case s.Kind(i+1) == lex.Number:
		return "@" + s.Raw(i+1), i + 2
	case s.IsName(i + 1):
		return "@" + s.Name(i+1), i + 2
	}
	return "", i
}

// structArg is ", STRUCT(e AS n, …)" whose comma is token comma.
type structArg struct {
	comma  int
	fields []structField
}

// structField is a field: from token lo to AS.
type structField struct{ lo, as int }

// readStruct reads what begins with the comma of token i and ends with the parenthesis of token end; ok is false if
// it is not of that form.
func readStruct(s *source, i, end int) (a structArg, ok bool) {
	a.comma = i
	for lo := i + 3; lo < end; {
		stop := s.ArgEnd(lo, end)
		if stop-lo < 3 || !s.IsWord(stop-2, "as") || !s.IsName(stop-1) {
			return a, false
		}
		a.fields = append(a.fields, structField{lo, stop - 2})
		lo = stop + 1
	}
	return a, len(a.fields) > 0
}

// writeStruct writes the fields as named arguments.
func (s *source) writeStruct(w *rewriter, a structArg) {
	for _, f := range a.fields {
		w.Put(a.comma, ",")
		w.Copy(f.as+1, f.as+2)
		w.Put(f.as, "=>")
		s.rewriteTo(w, f.lo, f.as)
	}
}
