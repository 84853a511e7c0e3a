package agg

import (
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/sql/types"
)

// labels numbers the values of a column of labels. Their keys (kernel.AppendKey)
// order as the values do.
type labels struct {
	typ    types.Type
	ids    map[string]uint32
	keys   []string
	buf    []byte
	small  [256]uint32 // of whole numbers below 256, and booleans: the label's number + 1
	firsts []uint8     // the values of labels 0 and 1, if they are small numbers
	texts  textLabels
	known  []uint32 // of a batch's dictionary: likewise
	all    []uint32 // of the rows of a batch
	bytes  int64

	kept []uint32    // of the rows of from, which all aggregates that share them read
	from arrow.Array // this batch's, once the first of them was updated
}

// textLabels are the numbers of texts, which are found without their keys.
type textLabels struct {
	few []textLabel
	ids map[string]uint32 // of the others
}

type textLabel struct {
	text string
	id   uint32
}

// labeller is an aggregate that numbers the values of its first argument.
type labeller interface {
	// share makes it use those labels, and the numbers that their first user has found of a batch;
	// with nil it makes its own.
	share(l *labels) *labels
}

// Share makes aggregates compute common values of their rows once. first holds, for each, the
// position of its first argument among the values of a batch, -1 for none: those that have it in
// common share one array of labels. They are updated in their order, each by all rows.
func Share(aggs []Agg, first []int) {
	by := map[int]*labels{}
	for i, a := range aggs {
		if l, ok := a.(labeller); ok && first[i] >= 0 {
			by[first[i]] = l.share(by[first[i]])
		}
	}
}

// ofLabels is an aggregate's part of labels.
type ofLabels struct {
	*labels
	follows bool     // another was updated by the batch before
	repeats []uint32 // one group, repeated
}

func labelsOf(t types.Type) ofLabels { return ofLabels{labels: &labels{typ: t}} }

func (o *ofLabels) share(l *labels) *labels {
	if l != nil && l.typ == o.typ {
		o.labels, o.follows = l, true
	}
	return o.labels
}

// truth returns the numbers of all rows of the first argument, valid until the next batch.
func (o *ofLabels) truth(arr arrow.Array) []uint32 {
	if !o.follows || o.from != arr {
		o.kept, o.all = o.rows(arr), o.kept
		o.from = arr
	}
	return o.kept
}

// each returns one group for every row.
func (o *ofLabels) each(g uint32, n int) []uint32 {
	if cap(o.repeats) < n {
		o.repeats = make([]uint32, n)
	}
	groups := o.repeats[:n]
	for i := range groups {
		groups[i] = g
	}
	return groups
}

// listed returns the rows of a Lister as arrays of their own.
func listed(rows []int32, args []arrow.Array) []arrow.Array {
	if rows == nil {
		return args
	}
	out := make([]arrow.Array, len(args))
	for i, a := range args {
		out[i] = kernel.Take(a, rows)
	}
	return out
}

// of returns the number of row i of arr.
func (l *labels) of(arr arrow.Array, i int) uint32 {
	l.buf = kernel.AppendKey(l.buf[:0], l.typ, arr, i)
	return l.number(l.buf)
}

// rows returns the numbers of all rows of arr, valid until the next call; those of NULLs are
// undefined.
func (l *labels) rows(arr arrow.Array) []uint32 {
	if n := arr.Len(); cap(l.all) < n {
		l.all = make([]uint32, n)
	}
	out := l.all[:arr.Len()]
	switch a := arr.(type) {
	case *array.Int64:
		smallLabels(l, out, a, a.Int64Values())
	case *array.Int32:
		smallLabels(l, out, a, a.Int32Values())
	case *array.Int16:
		smallLabels(l, out, a, a.Int16Values())
	case *array.Float64:
		smallLabels(l, out, a, a.Float64Values())
	case *array.Boolean:
		for i := range out {
			at := 0
			if a.Value(i) {
				at = 1
			}
			if l.small[at] == 0 && !arr.IsNull(i) {
				l.small[at] = l.of(arr, i) + 1
			}
			out[i] = l.small[at] - 1
		}
	case *array.String:
		for i := range out {
			if !arr.IsNull(i) {
				out[i] = l.text(arr, i, a.Value(i))
			}
		}
	case *array.Dictionary:
		l.coded(out, a)
	default:
		for i := range out {
			if !arr.IsNull(i) {
				out[i] = l.of(arr, i)
			}
		}
	}
	return out
}

// coded finds the labels of texts by their places in a dictionary.
func (l *labels) coded(out []uint32, a *array.Dictionary) {
	s := batch.StringsOf(a)
	n := s.Values.Len()
	if n > 4*len(out)+64 {
		n = 0
	}
	if cap(l.known) < n {
		l.known = make([]uint32, n)
	}
	known := l.known[:n]
	clear(known)
	for i := range out {
		switch at := s.Index[i]; {
		case a.IsNull(i):
		case n == 0:
			out[i] = l.text(a, i, s.Values.Value(int(at)))
		default:
			if known[at] == 0 {
				known[at] = l.text(a, i, s.Values.Value(int(at))) + 1
			}
			out[i] = known[at] - 1
		}
	}
}

// text returns the number of row i of arr, which is of this text.
func (l *labels) text(arr arrow.Array, i int, text string) uint32 {
	for k := range l.texts.few {
		if t := &l.texts.few[k]; t.text == text {
			return t.id
		}
	}
	if id, ok := l.texts.ids[text]; ok {
		return id
	}
	id := l.of(arr, i)
	text = strings.Clone(text)
	if len(l.texts.few) < 4 {
		l.texts.few = append(l.texts.few, textLabel{text, id})
	} else {
		if l.texts.ids == nil {
			l.texts.ids = map[string]uint32{}
		}
		l.texts.ids[text] = id
	}
	l.bytes += int64(len(text)) + 64
	return id
}

// smallLabels finds the labels that are small whole numbers in a table; where all are the
// two that came first, without it.
func smallLabels[T int16 | int32 | int64 | float64](l *labels, out []uint32, arr arrow.Array, vals []T) {
	if len(l.firsts) == 2 && f64.WhichOfTwo(out, vals, T(l.firsts[0]), T(l.firsts[1])) {
		return
	}
	for i, v := range vals {
		at := uint8(int64(v)) // out of int64's range: some number, which differs
		small := T(at) == v
		if small {
			if k := l.small[at]; k > 0 {
				out[i] = k - 1
				continue
			}
		}
		if arr.IsNull(i) {
			continue
		}
		if out[i] = l.of(arr, i); small {
			l.small[at] = out[i] + 1
			if n := len(l.firsts); n < 2 && out[i] == uint32(n) {
				l.firsts = append(l.firsts, at)
			}
		}
	}
}

func (l *labels) number(key []byte) uint32 {
	for id, k := range l.keys[:min(len(l.keys), 4)] { // there are mostly few, and a scan is faster than a hash
		if k == string(key) {
			return uint32(id)
		}
	}
	if id, ok := l.ids[string(key)]; ok {
		return id
	}
	if l.ids == nil {
		l.ids = map[string]uint32{}
	}
	id, k := uint32(len(l.keys)), string(key)
	l.ids[k], l.keys = id, append(l.keys, k)
	l.bytes += int64(len(k)) + 64
	return id
}
