package eval

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/multigres/multigres/go/common/parser"

	"github.com/tributarydb/tributary/sql/types"
)

// addSetFunctions registers unnest and the splitting functions.
func addSetFunctions(m map[string]setMaker) {
	m["_pg_expandarray(anyarray)"] = func(c *setCall, a []types.Datum) (generator, error) {
		var rows []types.Datum
		for i, e := range elems(a[0]) {
			rows = append(rows, types.Row{e, int64(i + 1)})
		}
		return c.list(rows), nil
	}
	for _, id := range []string{"regexp_matches(text,text)", "regexp_matches(text,text,text)"} {
		m[id] = func(c *setCall, a []types.Datum) (generator, error) {
			k := c.scratch()
			r, err := regexOf(k, a[1].(string), argText(a, 2))
			if err != nil {
				return nil, err
			}
			max := 1
			if r.global {
				max = 0
			}
			s := a[0].(string)
			ms, err := r.matches(s, 0, max)
			if err != nil {
				return nil, err
			}
			var rows []types.Datum
			for _, x := range ms {
				rows = append(rows, r.groupsOf(s, x))
			}
			return c.list(rows), nil
		}
	}
	for _, id := range []string{"regexp_split_to_table(text,text)", "regexp_split_to_table(text,text,text)"} {
		m[id] = func(c *setCall, a []types.Datum) (generator, error) {
			k := c.scratch()
			parts, err := regexpSplit(k, a)
			if err != nil {
				return nil, err
			}
			return c.list(texts(parts)), nil
		}
	}
	for _, id := range []string{"string_to_table(text,text)", "string_to_table(text,text,text)"} {
		m[id] = func(c *setCall, a []types.Datum) (generator, error) {
			if a[0] == nil {
				return nil, nil
			}
			return &pieceRows{piecesOf(a), c.m}, nil
		}
	}
	m["pg_get_keywords()"] = func(c *setCall, a []types.Datum) (generator, error) { return c.list(keywordRows()), nil }
	m["pg_listening_channels()"] = func(c *setCall, a []types.Datum) (generator, error) { return nil, nil }
	m["pg_partition_ancestors(regclass)"] = func(c *setCall, a []types.Datum) (generator, error) { return nil, nil }
	m["aclexplode(aclitem[])"] = aclExplode
	m["pg_options_to_table(text[])"] = func(c *setCall, a []types.Datum) (generator, error) {
		var rows []types.Datum
		for _, e := range elems(a[0]) {
			k, v := e.(string), types.Datum(nil)
			for i := range len(k) {
				if k[i] == '=' {
					k, v = k[:i], k[i+1:]
					break
				}
			}
			rows = append(rows, types.Row{k, v})
		}
		return c.list(rows), nil
	}
}

// pieceRows is a generator of a string's pieces.
type pieceRows struct {
	*pieces
	m *meter
}

func (g *pieceRows) next(_ context.Context, max int, out []array.Builder) (n int, err error) {
	b := out[0].(*array.StringBuilder)
	for ; n < max; n++ {
		s, null, ok := g.pieces.next()
		switch {
		case !ok:
			return n, nil
		case null:
			b.AppendNull()
		default:
			b.Append(s)
		}
		g.m.poll(len(s) + 1)
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

// unnest gives the elements of a list.
func unnest(c *setCall, row int) generator {
	v := c.vals[0]
	l, ok := v.arr.(*array.List)
	if !ok || v.null(row) {
		return empty{}
	}
	g := &elementsOf{of: l.ListValues(), rowsOf: rowsOf{t: c.colTypes()}}
	g.elem, _ = c.at[0].Elem()
	g.from, g.to = l.ValueOffsets(v.at(row))
	return g
}

// elementsOf is a generator of a list's elements.
type elementsOf struct {
	rowsOf
	of       arrow.Array
	elem     types.Type
	from, to int64
}

func (g *elementsOf) next(_ context.Context, max int, out []array.Builder) (int, error) {
	n := min(int64(max), g.to-g.from)
	for i := g.from; i < g.from+n; i++ {
		if err := g.give(types.DatumAt(g.elem, g.of, int(i)), out); err != nil {
			return 0, err
		}
	}
	g.from += n
	return int(n), nil
}
