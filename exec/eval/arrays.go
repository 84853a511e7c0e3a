package eval

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addArrays registers the functions of arrays, which have one dimension.
func addArrays(t table) {
	t.put("array_append(anycompatiblearray,anycompatible)", always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		out := copyArray(c, a[0])
		out.Elems = append(out.Elems, a[1])
		return out, nil
	})))
	t.put("array_prepend(anycompatible,anycompatiblearray)", always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		out := copyArray(c, nil)
		out.Elems = append(append(out.Elems, a[0]), elems(a[1])...)
		return out, nil
	})))
	t.put("array_cat(anycompatiblearray,anycompatiblearray)", always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		switch {
		case a[0] == nil && a[1] == nil:
			return nil, nil
		case a[0] == nil:
			return copyArray(c, a[1]), nil
		}
		out := copyArray(c, a[0])
		out.Elems = append(out.Elems, elems(a[1])...)
		return out, nil
	})))
	t.put("array_length(anyarray,int4)", always(arrayLength(func(n, d int64) (int64, error) {
		if d != 1 || n == 0 {
			return 0, errNull
		}
		return n, nil
	})))
	t.put("array_lower(anyarray,int4)", always(try2(func(c *call, a types.Array, d int64) (int64, error) {
		if d != 1 || len(a.Elems) == 0 {
			return 0, errNull
		}
		return lowerBound(c.types[0]), nil
	})))
	t.put("array_upper(anyarray,int4)", always(try2(func(c *call, a types.Array, d int64) (int64, error) {
		if d != 1 || len(a.Elems) == 0 {
			return 0, errNull
		}
		return lowerBound(c.types[0]) + int64(len(a.Elems)) - 1, nil
	})))
	t.put("array_ndims(anyarray)", always(try1(func(c *call, a types.Array) (int64, error) {
		if len(a.Elems) == 0 {
			return 0, errNull
		}
		return 1, nil
	})))
	t.put("array_dims(anyarray)", always(try1(func(c *call, a types.Array) (string, error) {
		if len(a.Elems) == 0 {
			return "", errNull
		}
		lo := lowerBound(c.types[0])
		return "[" + strconv.FormatInt(lo, 10) + ":" + strconv.FormatInt(lo+int64(len(a.Elems))-1, 10) + "]", nil
	})))
	t.put("cardinality(anyarray)", always(arrayLength(func(n, _ int64) (int64, error) { return n, nil })))
	for _, id := range []string{"array_position(anycompatiblearray,anycompatible)", "array_position(anycompatiblearray,anycompatible,int4)"} {
		t.put(id, always(loose(arrayPosition)))
	}
	t.put("array_positions(anycompatiblearray,anycompatible)", always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return nil, nil
		}
		et, _ := c.types[0].Elem()
		out := types.Array{Elem: types.Int4}
		for i, e := range elems(a[0]) {
			if types.Equal(et, e, a[1]) {
				out.Elems = append(out.Elems, int64(i)+lowerBound(c.types[0]))
			}
		}
		return out, nil
	})))
	t.put("array_remove(anycompatiblearray,anycompatible)", always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return nil, nil
		}
		et, _ := c.types[0].Elem()
		out := copyArray(c, nil)
		for _, e := range elems(a[0]) {
			if !types.Equal(et, e, a[1]) {
				out.Elems = append(out.Elems, e)
			}
		}
		return out, nil
	})))
	t.put("array_replace(anycompatiblearray,anycompatible,anycompatible)", always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return nil, nil
		}
		et, _ := c.types[0].Elem()
		out := copyArray(c, a[0])
		for i, e := range out.Elems {
			if types.Equal(et, e, a[1]) {
				out.Elems[i] = a[2]
			}
		}
		return out, nil
	})))
	for _, id := range []string{"array_to_string(anyarray,text)", "array_to_string(anyarray,text,text)"} {
		t.put(id, always(loose(arrayToString)))
	}
	for _, id := range []string{"string_to_array(text,text)", "string_to_array(text,text,text)"} {
		t.put(id, always(stringToArray))
	}
	t.put("arraycontains(anyarray,anyarray)", always(try2(func(c *call, a, b types.Array) (bool, error) { return contains(c, a, b), nil })))
	t.put("arraycontained(anyarray,anyarray)", always(try2(func(c *call, a, b types.Array) (bool, error) { return contains(c, b, a), nil })))
	t.put("arrayoverlap(anyarray,anyarray)", always(try2(func(c *call, a, b types.Array) (bool, error) {
		et, _ := c.types[0].Elem()
		for _, x := range a.Elems {
			for _, y := range b.Elems {
				if x != nil && y != nil && types.Equal(et, x, y) {
					return true, nil
				}
			}
		}
		return false, nil
	})))
	t.put("trim_array(anyarray,int4)", always(try2(func(c *call, a types.Array, n int64) (types.Datum, error) {
		if n < 0 || n > int64(len(a.Elems)) {
			return nil, pgerr.New(pgerr.ArraySubscriptError, "number of elements to trim must be between 0 and %d", len(a.Elems))
		}
		a.Elems = a.Elems[:int64(len(a.Elems))-n]
		return a, nil
	})))
	for _, id := range []string{"array_fill(anyelement,int4[])", "array_fill(anyelement,int4[],int4[])"} {
		t.put(id, always(loose(arrayFill)))
	}
}

// arrayLength computes f of the number of elements, and of the second argument
// where there is one, without reading them.
func arrayLength(f func(n, d int64) (int64, error)) impl {
	return func(c *call, args []*vec) (*vec, error) {
		dim := func(int) int64 { return 1 }
		if len(args) > 1 {
			dim = arg[int64](c, args, 1)
		}
		return each(c, func(i int) (int64, error) { return f(int64(listLen(args[0].arr, args[0].at(i))), dim(i)) })
	}
}

func lowerBound(t types.Type) int64 {
	if t.OID == types.Int2VectorOID || t.OID == types.OIDVectorOID {
		return 0
	}
	return 1
}

// copyArray starts a result array with the elements of d.
func copyArray(c *call, d types.Datum) types.Array {
	et, _ := c.ret.Elem()
	src := elems(d)
	c.meter().scratch(boxedBytes * (len(src) + 1))
	return types.Array{Elem: et, Elems: append(make([]types.Datum, 0, len(src)+1), src...)}
}

func contains(c *call, a, b types.Array) bool {
	et, _ := c.types[0].Elem()
next:
	for _, y := range b.Elems {
		if y == nil {
			return false
		}
		for _, x := range a.Elems {
			if x != nil && types.Equal(et, x, y) {
				continue next
			}
		}
		return false
	}
	return true
}

func arrayPosition(c *call, a []types.Datum) (types.Datum, error) {
	if a[0] == nil {
		return nil, nil
	}
	et, _ := c.types[0].Elem()
	lo := lowerBound(c.types[0])
	from := lo
	if len(a) == 3 {
		if a[2] == nil {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "initial position must not be null")
		}
		from = a[2].(int64)
	}
	for i, e := range elems(a[0]) {
		if int64(i)+lo >= from && types.Equal(et, e, a[1]) {
			return int64(i) + lo, nil
		}
	}
	return nil, nil
}

func arrayToString(c *call, a []types.Datum) (types.Datum, error) {
	if a[0] == nil || a[1] == nil {
		return nil, nil
	}
	et, _ := c.types[0].Elem()
	b := c.text(0)
	first := true
	for _, e := range elems(a[0]) {
		if e == nil && (len(a) < 3 || a[2] == nil) {
			continue
		}
		if !first {
			b.WriteString(a[1].(string))
		}
		first = false
		if e == nil {
			b.WriteString(a[2].(string))
		} else {
			b.WriteString(c.textOf(et, e))
		}
	}
	return b.String(), nil
}

// pieces cuts a string for string_to_array and string_to_table: at sep, or
// between all characters where each is set.
type pieces struct {
	rest string
	sep  string
	each bool
	end  bool
	null *string // pieces like it are NULL
}

// piecesOf starts with the functions' arguments; the first is not NULL.
func piecesOf(a []types.Datum) *pieces {
	p := &pieces{rest: a[0].(string)}
	p.end = p.rest == ""
	if a[1] == nil {
		p.each = true
	} else {
		p.sep = a[1].(string)
	}
	if len(a) == 3 && a[2] != nil {
		null := a[2].(string)
		p.null = &null
	}
	return p
}

// next gives the next piece.
func (p *pieces) next() (s string, null, ok bool) {
	if p.end {
		return "", false, false
	}
	i, n := -1, len(p.sep)
	switch {
	case p.each:
		if i, n = byteAt(p.rest, 1), 0; i == len(p.rest) {
			i = -1
		}
	case p.sep != "":
		i = strings.Index(p.rest, p.sep)
	}
	if i < 0 {
		s, p.end = p.rest, true
	} else {
		s, p.rest = p.rest[:i], p.rest[i+n:]
	}
	return s, p.null != nil && *p.null == s, true
}

// count is how many pieces there are.
func (p *pieces) count() int {
	switch {
	case p.end:
		return 0
	case p.each:
		return utf8.RuneCountInString(p.rest)
	case p.sep == "":
		return 1
	}
	return strings.Count(p.rest, p.sep) + 1
}

// stringToArray writes the pieces where they are to stay: there may be as many
// as the string has bytes.
func stringToArray(c *call, args []*vec) (*vec, error) {
	m := c.meter()
	b := array.NewListBuilder(c.a.allocator(), arrow.BinaryTypes.String)
	elems := b.ValueBuilder().(*array.StringBuilder)
	row := make([]types.Datum, len(args))
	for i := range c.n {
		for k, v := range args {
			row[k] = v.datum(c.types[k], i)
		}
		if row[0] == nil {
			b.AppendNull()
			continue
		}
		b.Append(true)
		p := piecesOf(row)
		elems.Reserve(p.count())
		elems.ReserveData(len(p.rest))
		for s, null, ok := p.next(); ok; s, null, ok = p.next() {
			if null {
				elems.AppendNull()
			} else {
				elems.Append(s)
			}
			m.poll(len(s) + 1)
		}
		if err := tooLarge(c.n, elems.DataLen()+4*elems.Len()); err != nil {
			return nil, err
		}
	}
	return fromArrow(c.a, b.NewArray()), nil
}

func arrayFill(c *call, a []types.Datum) (types.Datum, error) {
	if a[1] == nil || len(a) == 3 && a[2] == nil {
		return nil, pgerr.New(pgerr.NullValueNotAllowed, "dimension array or low bound array cannot be null")
	}
	dims := elems(a[1])
	out := copyArray(c, nil)
	switch {
	case len(dims) == 0:
		return out, nil
	case len(dims) > 1:
		return nil, errDimensions()
	case dims[0] == nil:
		return nil, pgerr.New(pgerr.NullValueNotAllowed, "dimension values cannot be null")
	}
	if len(a) == 3 {
		lo := elems(a[2])
		if len(lo) != 1 {
			return nil, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts").
				WithDetail("Low bound array has different size than dimensions array.")
		}
		if lo[0] != nil && lo[0].(int64) != 1 {
			return nil, pgerr.Unsupported("arrays with a lower bound other than 1 are not supported")
		}
	}
	n := dims[0].(int64)
	if n < 0 || n > 1<<26 {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", 1<<26)
	}
	c.meter().scratch(16 * int(n))
	out.Elems = make([]types.Datum, n)
	for i := range out.Elems {
		out.Elems[i] = a[0]
	}
	return out, nil
}
