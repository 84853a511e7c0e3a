package setfn

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/multigres/multigres/go/common/parser"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/function/arrayfn"
	"github.com/tributarydb/tributary/exec/function/sysfn"
	"github.com/tributarydb/tributary/exec/function/textfn"
	"github.com/tributarydb/tributary/exec/regex"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/types"
)

// AddSplits registers unnest and the splitting functions.
func AddSplits(m map[string]function.SetMaker) {
	m["_pg_expandarray(anyarray)"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
		var rows []types.Datum
		for i, e := range vector.Elems(a[0]) {
			rows = append(rows, types.Row{e, int64(i + 1)})
		}
		return c.List(rows), nil
	}
	for _, id := range []string{"regexp_matches(text,text)", "regexp_matches(text,text,text)"} {
		m[id] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
			k := c.Scratch()
			r, err := regex.Of(k, a[1].(string), textfn.ArgText(a, 2))
			if err != nil {
				return nil, err
			}
			max := 1
			if r.Global {
				max = 0
			}
			s := a[0].(string)
			var rows []types.Datum
			err = r.Each(s, 0, max, func(m []int) {
				k.Meter().Scratch(function.BoxedBytes * (len(m) + 1))
				rows = append(rows, r.GroupsOf(s, m))
			})
			if err != nil {
				return nil, err
			}
			return c.List(rows), nil
		}
	}
	for _, id := range []string{"string_to_table(text,text)", "string_to_table(text,text,text)"} {
		m[id] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
			if a[0] == nil {
				return nil, nil
			}
			return &splitRows{arrayfn.NewSplitter(a), c.Meter}, nil
		}
	}
	m["pg_get_keywords()"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
		return c.List(keywordRows()), nil
	}
	m["pg_listening_channels()"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) { return nil, nil }
	m["pg_partition_ancestors(regclass)"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) { return nil, nil }
	m["aclexplode(aclitem[])"] = sysfn.ACLExplode
	m["pg_options_to_table(text[])"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
		var rows []types.Datum
		for _, e := range vector.Elems(a[0]) {
			k, v := e.(string), types.Datum(nil)
			for i := range len(k) {
				if k[i] == '=' {
					k, v = k[:i], k[i+1:]
					break
				}
			}
			rows = append(rows, types.Row{k, v})
		}
		return c.List(rows), nil
	}
}

// AddLists registers the functions that go through a text as it lies.
func AddLists(m map[string]function.ListMaker) {
	for _, id := range []string{"regexp_split_to_table(text,text)", "regexp_split_to_table(text,text,text)"} {
		m[id] = func(c *function.SetCall, row int) (function.Generator, error) {
			g, ok := c.Memo.(*regexParts)
			if !ok {
				g = &regexParts{}
				g.call = function.Call{Ctx: c.Meter.Ctx, Env: c.Env, Arena: vector.Once(c.Meter), Memo: &g.memo}
				c.Memo = g
			}
			var args [3]string
			for i, v := range c.Args {
				if v.Kind == vector.Null || v.Null(row) {
					return function.Empty{}, nil
				}
				args[i] = v.Str(row)
			}
			r, err := regex.OfWithoutG(&g.call, args[1], args[2], "regexp_split_to_table")
			if err != nil {
				return nil, err
			}
			g.Splitter, err = r.Split(args[0])
			return g, err
		}
	}
}

// regexParts returns the parts of a string between matches as rows; it is used again for the next string.
type regexParts struct {
	regex.Splitter
	call function.Call
	memo any
}

func (g *regexParts) Next(_ context.Context, max int, out []array.Builder) (n int, err error) {
	b := out[0].(*array.StringBuilder)
	for ; n < max; n++ {
		s, ok := g.Splitter.Next()
		if !ok {
			break
		}
		b.Append(s)
	}
	return n, nil
}

// splitRows returns the fields of a string as rows.
type splitRows struct {
	*arrayfn.Splitter
	m *vector.Meter
}

func (g *splitRows) Next(_ context.Context, max int, out []array.Builder) (n int, err error) {
	b := out[0].(*array.StringBuilder)
	for ; n < max; n++ {
		s, null, ok := g.Splitter.Next()
		switch {
		case !ok:
			return n, nil
		case null:
			b.AppendNull()
		default:
			b.Append(s)
		}
		g.m.Poll(len(s) + 1)
	}
	return n, nil
}

func keywordRows() []types.Datum {
	kinds := map[parser.KeywordCategory][2]string{
		parser.UnreservedKeyword:   {"U", "unreserved"},
		parser.ColNameKeyword:      {"C", "unreserved (cannot be function or type name)"},
		parser.TypeFuncNameKeyword: {"T", "reserved (can be function or type name)"},
		parser.ReservedKeyword:     {"R", "reserved"},
	}
	var rows []types.Datum
	for _, k := range parser.Keywords {
		bare := "can be bare label"
		if !k.CanBareLabel {
			bare = "requires AS"
		}
		rows = append(rows, types.Row{k.Name, kinds[k.Category][0], k.CanBareLabel, kinds[k.Category][1], bare})
	}
	return rows
}

// Unnest returns the elements of a list.
func Unnest(c *function.SetCall, row int) (function.Generator, error) {
	v := c.Args[0]
	l, ok := v.Arr.(*array.List)
	if !ok || v.Null(row) {
		return function.Empty{}, nil
	}
	g := &elementsOf{of: l.ListValues(), RowsOf: function.RowsOf{T: c.ColTypes()}}
	g.elem, _ = c.Types[0].Elem()
	g.from, g.to = l.ValueOffsets(v.At(row))
	return g, nil
}

// elementsOf returns the elements of a list as rows.
type elementsOf struct {
	function.RowsOf
	of       arrow.Array
	elem     types.Type
	from, to int64
}

func (g *elementsOf) Next(_ context.Context, max int, out []array.Builder) (int, error) {
	n := min(int64(max), g.to-g.from)
	for i := g.from; i < g.from+n; i++ {
		if err := g.Give(types.DatumAt(g.elem, g.of, int(i)), out); err != nil {
			return 0, err
		}
	}
	g.from += n
	return int(n), nil
}
