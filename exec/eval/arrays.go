package eval

import (
	"strconv"
	"strings"

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
	t.put("array_length(anyarray,int4)", always(try2(func(c *call, a types.Array, d int64) (int64, error) {
		if d != 1 || len(a.Elems) == 0 {
			return 0, errNull
		}
		return int64(len(a.Elems)), nil
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
	t.put("cardinality(anyarray)", always(strict1(func(a types.Array) int64 { return int64(len(a.Elems)) })))
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
				out.Elems = append(out.Elems, int64(i+1))
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
		t.put(id, always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
			parts, ok := stringToParts(a)
			if !ok {
				return nil, nil
			}
			return types.Array{Elem: types.Text, Elems: parts}, nil
		})))
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

func lowerBound(t types.Type) int64 {
	if t.OID == types.Int2VectorOID || t.OID == types.OIDVectorOID {
		return 0
	}
	return 1
}

func elems(d types.Datum) []types.Datum {
	a, _ := d.(types.Array)
	return a.Elems
}

// copyArray starts a result array with the elements of d.
func copyArray(c *call, d types.Datum) types.Array {
	et, _ := c.ret.Elem()
	src := elems(d)
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
	from := int64(1)
	if len(a) == 3 {
		if a[2] == nil {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "initial position must not be null")
		}
		from = a[2].(int64)
	}
	for i, e := range elems(a[0]) {
		if int64(i+1) >= from && types.Equal(et, e, a[1]) {
			return int64(i) + lowerBound(c.types[0]), nil
		}
	}
	return nil, nil
}

func arrayToString(c *call, a []types.Datum) (types.Datum, error) {
	if a[0] == nil || a[1] == nil {
		return nil, nil
	}
	et, _ := c.types[0].Elem()
	var b strings.Builder
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
			b.WriteString(types.TextOf(et, e, c.env.types()))
		}
	}
	return b.String(), nil
}

// stringToParts splits for string_to_array and string_to_table; ok is false for
// a NULL string.
func stringToParts(a []types.Datum) (out []types.Datum, ok bool) {
	if a[0] == nil {
		return nil, false
	}
	s := a[0].(string)
	add := func(p string) {
		if len(a) == 3 && a[2] != nil && a[2].(string) == p {
			out = append(out, nil)
		} else {
			out = append(out, strings.Clone(p))
		}
	}
	switch {
	case s == "":
	case a[1] == nil:
		for i := 0; i < len(s); {
			n := byteAt(s[i:], 1)
			add(s[i : i+n])
			i += n
		}
	case a[1].(string) == "":
		add(s)
	default:
		for _, p := range strings.Split(s, a[1].(string)) {
			add(p)
		}
	}
	return out, true
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
	out.Elems = make([]types.Datum, n)
	for i := range out.Elems {
		out.Elems[i] = a[0]
	}
	return out, nil
}
