package arrayfn

import (
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Register registers the functions of arrays, which have one dimension.
func Register(t function.Table) {
	t.Put("array_append(anycompatiblearray,anycompatible)", function.Always(appended(0, 1)))
	t.Put("array_prepend(anycompatible,anycompatiblearray)", function.Always(appended(1, 0)))
	t.Put("array_cat(anycompatiblearray,anycompatiblearray)", function.Always(concatenated))
	t.Put("array_length(anyarray,int4)", function.Always(arrayLength(func(n, d int64) (int64, error) {
		if d != 1 || n == 0 {
			return 0, function.ErrNull
		}
		return n, nil
	})))
	t.Put("array_lower(anyarray,int4)", func(_ *fn.Func, at []types.Type, _ types.Type) function.Impl {
		return arrayLength(func(n, d int64) (int64, error) {
			if d != 1 || n == 0 {
				return 0, function.ErrNull
			}
			return LowerBound(at[0]), nil
		})
	})
	t.Put("array_upper(anyarray,int4)", func(_ *fn.Func, at []types.Type, _ types.Type) function.Impl {
		return arrayLength(func(n, d int64) (int64, error) {
			if d != 1 || n == 0 {
				return 0, function.ErrNull
			}
			return LowerBound(at[0]) + n - 1, nil
		})
	})
	t.Put("array_ndims(anyarray)", function.Always(arrayLength(func(n, _ int64) (int64, error) {
		if n == 0 {
			return 0, function.ErrNull
		}
		return 1, nil
	})))
	t.Put("array_dims(anyarray)", func(_ *fn.Func, at []types.Type, _ types.Type) function.Impl {
		return arrayLength(func(n, _ int64) (string, error) {
			if n == 0 {
				return "", function.ErrNull
			}
			lo := LowerBound(at[0])
			return "[" + strconv.FormatInt(lo, 10) + ":" + strconv.FormatInt(lo+n-1, 10) + "]", nil
		})
	})
	t.Put("cardinality(anyarray)", function.Always(arrayLength(func(n, _ int64) (int64, error) { return n, nil })))
	for _, id := range []string{"array_position(anycompatiblearray,anycompatible)", "array_position(anycompatiblearray,anycompatible,int4)"} {
		t.Put(id, function.Always(arrayPosition))
	}
	t.Put("array_positions(anycompatiblearray,anycompatible)", function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return nil, nil
		}
		et, _ := c.Types[0].Elem()
		out := types.Array{Elem: types.Int4}
		for i, e := range vector.Elems(a[0]) {
			if types.Equal(et, e, a[1]) {
				out.Elems = append(out.Elems, int64(i)+LowerBound(c.Types[0]))
			}
		}
		return out, nil
	})))
	t.Put("array_remove(anycompatiblearray,anycompatible)", function.Always(edited))
	t.Put("array_replace(anycompatiblearray,anycompatible,anycompatible)", function.Always(edited))
	for _, id := range []string{"array_to_string(anyarray,text)", "array_to_string(anyarray,text,text)"} {
		t.Put(id, function.Always(arrayToString))
	}
	for _, id := range []string{"string_to_array(text,text)", "string_to_array(text,text,text)"} {
		t.Put(id, function.Always(stringToArray))
	}
	t.Put("arraycontains(anyarray,anyarray)", function.Always(compared(func(l, r row, same same) bool { return contains(l, r, same) })))
	t.Put("arraycontained(anyarray,anyarray)", function.Always(compared(func(l, r row, same same) bool {
		return contains(r, l, func(x *vector.Vec, i int, y *vector.Vec, j int) bool { return same(y, j, x, i) })
	})))
	t.Put("arrayoverlap(anyarray,anyarray)", function.Always(compared(overlap)))
	t.Put("trim_array(anyarray,int4)", function.Always(trimmed))
	for _, id := range []string{"array_fill(anyelement,int4[])", "array_fill(anyelement,int4[],int4[])"} {
		t.Put(id, function.Always(function.Loose(arrayFill)))
	}
}

// arrayLength computes f of the number of elements, and of the second argument
// where there is one, without reading them.
func arrayLength[R any](f func(n, d int64) (R, error)) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		dim := func(int) int64 { return 1 }
		if len(args) > 1 {
			dim = function.Arg[int64](c, args, 1)
		}
		return function.Each(c, func(i int) (R, error) { return f(int64(vector.ListLen(args[0].Arr, args[0].At(i))), dim(i)) })
	}
}

// LowerBound returns the first subscript of arrays of a type.
func LowerBound(t types.Type) int64 {
	if t.OID == types.Int2VectorOID || t.OID == types.OIDVectorOID {
		return 0
	}
	return 1
}

// copyArray starts a result array with the elements of d.
func copyArray(c *function.Call, d types.Datum) types.Array {
	et, _ := c.Ret.Elem()
	src := vector.Elems(d)
	c.Meter().Scratch(function.BoxedBytes * (len(src) + 1))
	return types.Array{Elem: et, Elems: append(make([]types.Datum, 0, len(src)+1), src...)}
}

// Splitter splits a string for string_to_array and string_to_table: at sep, or between all
// characters where each is set.
type Splitter struct {
	rest string
	sep  string
	each bool
	end  bool
	null *string // a field equal to it is NULL
}

// NewSplitter makes a Splitter of the functions' arguments; the first is not NULL.
func NewSplitter(a []types.Datum) *Splitter {
	return split(a[0].(string), textOrNil(a, 1), textOrNil(a, 2))
}

// textOrNil returns an argument that is a text; nil if it is NULL, or not given.
func textOrNil(a []types.Datum, k int) *string {
	if k >= len(a) || a[k] == nil {
		return nil
	}
	s := a[k].(string)
	return &s
}

func split(s string, sep, null *string) *Splitter {
	p := &Splitter{rest: s, end: s == "", each: sep == nil, null: null}
	if sep != nil {
		p.sep = *sep
	}
	return p
}

// Next returns the next field, or that it is NULL; ok is false at the end.
func (p *Splitter) Next() (s string, null, ok bool) {
	if p.end {
		return "", false, false
	}
	i, n := -1, len(p.sep)
	switch {
	case p.each:
		if i, n = function.ByteAt(p.rest, 1), 0; i == len(p.rest) {
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

// stringToArray writes the fields directly into the result: there may be as many as the string has
// bytes.
func stringToArray(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	m := c.Meter()
	row := make([]types.Datum, len(args))
	each := false // the arguments but the first differ by row
	for k := 1; k < len(args); k++ {
		each = each || !args[k].One
	}
	var sep, null *string
	var data []byte
	rows, offs := metered[int32](m, nil, c.N+1), metered[int32](m, nil, 4*c.N+1)
	rows, offs = append(rows, 0), append(offs, 0)
	var nullRows, nullElems []int32
	for i := range c.N {
		if i == 0 || each {
			for k := 1; k < len(args); k++ {
				row[k] = args[k].Datum(c.Types[k], i)
			}
			sep, null = textOrNil(row, 1), textOrNil(row, 2)
		}
		if args[0].Null(i) {
			nullRows = append(nullRows, int32(i))
			rows = append(rows, int32(len(offs)-1))
			continue
		}
		p := split(textAt(args[0], c.Types[0], i), sep, null)
		data = metered(m, data, len(p.rest))
		for s, null, ok := p.Next(); ok; s, null, ok = p.Next() {
			if len(offs) == cap(offs) {
				offs = metered(m, offs, 1)
			}
			if null {
				nullElems = append(metered(m, nullElems, 1), int32(len(offs)-1))
			} else {
				data = append(data, s...)
			}
			offs = append(offs, int32(len(data)))
			m.Poll(len(s) + 1)
		}
		if err := vector.TooLarge(c.N, len(data)+4*len(offs)); err != nil {
			return nil, err
		}
		rows = append(rows, int32(len(offs)-1))
	}
	elems := batch.FromOffsets(arrow.BinaryTypes.String, offs, data, without(nullElems, len(offs)-1))
	return vector.FromArrow(c.Arena, kernel.List(arrow.ListOf(arrow.BinaryTypes.String), rows, elems, without(nullRows, c.N))), nil
}

// metered makes room for n more in a slice, and charges for it.
func metered[T any](m *vector.Meter, s []T, n int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	n = max(n, len(s))
	var of T
	m.Charge(int64(len(s)+n) * int64(unsafe.Sizeof(of)))
	return slices.Grow(s, n)
}

// without returns the bitmap of n values of which some are NULL; nil where none is.
func without(nulls []int32, n int) []byte {
	if len(nulls) == 0 {
		return nil
	}
	bits := batch.AllOnes(n)
	for _, i := range nulls {
		batch.ClearBit(bits, int(i))
	}
	return bits
}

// textAt returns row i of a column of texts, as it lies if it can be.
func textAt(v *vector.Vec, t types.Type, i int) string {
	if v.Kind == vector.Str || v.Kind == vector.Dict {
		return v.Str(i)
	}
	return v.Datum(t, i).(string)
}

func arrayFill(c *function.Call, a []types.Datum) (types.Datum, error) {
	if a[1] == nil || len(a) == 3 && a[2] == nil {
		return nil, pgerr.New(pgerr.NullValueNotAllowed, "dimension array or low bound array cannot be null")
	}
	dims := vector.Elems(a[1])
	out := copyArray(c, nil)
	switch {
	case len(dims) == 0:
		return out, nil
	case len(dims) > 1:
		return nil, vector.ErrDimensions()
	case dims[0] == nil:
		return nil, pgerr.New(pgerr.NullValueNotAllowed, "dimension values cannot be null")
	}
	if len(a) == 3 {
		lo := vector.Elems(a[2])
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
	c.Meter().Scratch(16 * int(n))
	out.Elems = make([]types.Datum, n)
	for i := range out.Elems {
		out.Elems[i] = a[0]
	}
	return out, nil
}
