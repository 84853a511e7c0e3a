package eval

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/multigres/multigres/go/common/parser"

	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/pgerr"
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
	m["jsonb_path_query(jsonb,jsonpath,jsonb,bool)"] = func(c *setCall, a []types.Datum) (generator, error) {
		return &pathRows{call: c, args: a}, nil
	}
	for _, id := range []string{"regexp_matches(text,text)", "regexp_matches(text,text,text)"} {
		m[id] = func(c *setCall, a []types.Datum) (generator, error) {
			k := call{ctx: c.m.ctx, a: &arena{m: c.m, once: true}}
			r, err := k.regex(a[1].(string), argText(a, 2))
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
			k := call{ctx: c.m.ctx, a: &arena{m: c.m, once: true}}
			parts, err := regexpSplit(k.regexNoG, a)
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

func texts(parts []string) []types.Datum {
	out := make([]types.Datum, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out
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

// json reads a text whose parts the call gives as rows.
func (c *setCall) json(s string, binary bool) (json.Value, error) {
	c.holds(2 * jsonWeight(s))
	return parseJSON(s, binary)
}

// addJSONSets registers the functions that give rows of json.
func addJSONSets(m map[string]setMaker) {
	for _, j := range []string{"json", "jsonb"} {
		b := j == "jsonb"
		for _, text := range []bool{false, true} {
			suffix := ""
			if text {
				suffix = "_text"
			}
			value := func(v json.Value) types.Datum {
				if !text {
					return jsonText(v, b)
				}
				if s, ok := v.Text(); ok {
					return s
				}
				return nil
			}
			m[j+"_array_elements"+suffix+"("+j+")"] = func(c *setCall, a []types.Datum) (generator, error) {
				v, err := c.json(a[0].(string), b)
				if err != nil {
					return nil, err
				}
				switch {
				case v.Kind == json.Object && b:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot extract elements from an object")
				case v.Scalar() && b:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot extract elements from a scalar")
				case v.Kind == json.Object:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a non-array", c.call.Fn.Name)
				case v.Scalar():
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a scalar", c.call.Fn.Name)
				}
				var rows []types.Datum
				for _, e := range v.Elems {
					rows = append(rows, value(e))
				}
				return c.list(rows), nil
			}
			m[j+"_each"+suffix+"("+j+")"] = func(c *setCall, a []types.Datum) (generator, error) {
				v, err := c.json(a[0].(string), b)
				if err != nil {
					return nil, err
				}
				if v.Kind != json.Object {
					if b {
						return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a non-object", c.call.Fn.Name)
					}
					if v.Kind == json.Array {
						return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot deconstruct an array as an object")
					}
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot deconstruct a scalar")
				}
				var rows []types.Datum
				for i, e := range v.Elems {
					rows = append(rows, types.Row{v.Keys[i], value(e)})
				}
				return c.list(rows), nil
			}
		}
		m[j+"_object_keys("+j+")"] = func(c *setCall, a []types.Datum) (generator, error) {
			v, err := c.json(a[0].(string), b)
			if err != nil {
				return nil, err
			}
			if v.Kind != json.Object {
				what := "a scalar"
				if v.Kind == json.Array {
					what = "an array"
				}
				return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on %s", c.call.Fn.Name, what)
			}
			return c.list(texts(v.Keys)), nil
		}
		m[j+"_to_recordset("+j+")"] = func(c *setCall, a []types.Datum) (generator, error) { return recordset(c, a[0], nil, b) }
		id := j + "_populate_recordset(anyelement," + j
		if !b {
			id += ",bool"
		}
		m[id+")"] = func(c *setCall, a []types.Datum) (generator, error) {
			base, _ := a[0].(types.Row)
			return recordset(c, a[1], base, b)
		}
	}
}

func recordset(c *setCall, d types.Datum, base types.Row, b bool) (generator, error) {
	if d == nil {
		return nil, nil
	}
	v, err := c.json(d.(string), b)
	if err != nil {
		return nil, err
	}
	if v.Kind != json.Array {
		what := "a scalar"
		if v.Kind == json.Object {
			what = "an object"
		}
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on %s", c.call.Fn.Name, what)
	}
	rec := recordOf(c.call.Cols)
	whole := len(c.call.Cols) == 1 && c.call.Cols[0].Type.OID == types.RecordOID && c.call.Cols[0].Type.Rec != nil
	if whole {
		rec = c.call.Cols[0].Type.Rec
	}
	var rows []types.Datum
	for _, e := range v.Elems {
		if e.Kind != json.Object {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "argument of %s must be an array of objects", c.call.Fn.Name)
		}
		r, err := rowFromJSON(rec, e, base, c.env)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return c.list(rows), nil
}
