package eval

import (
	"strings"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// What sql/types makes of a value it allocates itself: trees of json, arrays of
// datums, output. It is charged here, before, by a bound.

const (
	// jsonNode is what a value of a tree takes, growth of its list included.
	jsonNode = 320
	// light is the length of a value below which its tree is not worth counting.
	light = 4 << 10
)

// jsonWeight is what the tree of a json text takes.
func jsonWeight(s string) int {
	if len(s) < light {
		return 0
	}
	return 4*len(s) + jsonNode*(1+strings.Count(s, ",")+strings.Count(s, "[")+strings.Count(s, "{"))
}

// parsing charges what reading a value of t from its text takes.
func (c *call) parsing(t types.Type, s string) {
	n := 0
	switch {
	case t.IsArray() || t.OID == types.RecordOID:
		n = 2*len(s) + 2*boxedBytes*(1+strings.Count(s, ","))
	case t.OID == types.JSONOID || t.OID == types.JSONBOID:
		n = jsonWeight(s)
	case len(s) >= light:
		n = 2 * len(s)
	}
	c.meter().scratch(n)
	c.meter().poll(n)
}

// weighed makes of functions of json ones that charge for the tree of their
// heaviest row.
func weighed(m maker) maker {
	return func(f *fn.Func, at []types.Type, ret types.Type) impl {
		run := m(f, at, ret)
		if run == nil {
			return nil
		}
		return func(c *call, args []*vec) (*vec, error) {
			most := 0
			for i := range c.n {
				if c.skip(i) {
					continue
				}
				n := 0
				for _, v := range args {
					n += v.weight(i)
				}
				most = max(most, n)
			}
			meter := c.meter()
			if most > 0 {
				meter.charge(int64(most))
				meter.poll(most)
			}
			v, err := run(c, args)
			meter.release(int64(most))
			return v, err
		}
	}
}

// weight is what row i takes as a tree.
func (v *vec) weight(i int) int {
	switch {
	case v.kind == kStr || v.kind == kDict:
		if !v.null(i) {
			return jsonWeight(v.str(i))
		}
	case v.kind == kArr && v.arr.Len() > 0:
		if s, ok := v.arr.(*array.Struct); ok {
			return int(8 * batch.ArrayBytes(s) / int64(s.Len()))
		}
		if n := listLen(v.arr, v.at(i)); n > 0 {
			return n * int(jsonNode+8*batch.ArrayBytes(v.arr)/int64(max(v.arr.(*array.List).ListValues().Len(), 1)))
		}
	}
	return 0
}
