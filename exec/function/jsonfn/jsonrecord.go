package jsonfn

import (
	"strconv"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func itoa(n int) string { return strconv.Itoa(n) }

// fromJSON makes a value of t of a JSON value: text by t's input function,
// arrays and rows member by member.
func fromJSON(t types.Type, v json.Value, env *function.Env) (types.Datum, error) {
	if v.Kind == json.Null {
		return nil, nil
	}
	switch {
	case t.Class() == types.ClassJSONB:
		if v.Raw != "" {
			return json.CanonicalJSONB(v.Raw)
		}
		return v.String(), nil
	case t.Class() == types.ClassJSON:
		return jsonText(v, false), nil
	case t.IsArray():
		if v.Kind == json.String {
			return types.ParseText(t, v.Str, env.TypesEnv())
		}
		if v.Kind != json.Array {
			return nil, pgerr.New(pgerr.InvalidTextRepresentation, "expected JSON array")
		}
		et, _ := t.Elem()
		out := types.Array{Elem: et}
		for _, e := range v.Elems {
			if e.Kind == json.Array && et.OID != types.JSONOID && et.OID != types.JSONBOID {
				return nil, vector.ErrDimensions()
			}
			d, err := fromJSON(et, e, env)
			if err != nil {
				return nil, err
			}
			out.Elems = append(out.Elems, d)
		}
		return out, nil
	case t.Rec != nil:
		return rowFromJSON(t.Rec, v, nil, env)
	}
	s, _ := v.Text()
	d, err := types.ParseText(t, s, env.TypesEnv())
	if err != nil {
		return nil, err
	}
	return types.ApplyMod(t, d, false)
}

// rowFromJSON makes a row; members that the object lacks are those of base.
func rowFromJSON(rec *types.Record, v json.Value, base types.Row, env *function.Env) (types.Datum, error) {
	if v.Kind != json.Object {
		if v.Kind == json.Array {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call populate_composite on an array")
		}
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call populate_composite on a scalar")
	}
	row := make(types.Row, len(rec.Fields))
	copy(row, base)
	for i, f := range rec.Fields {
		m, ok := v.Get(f.Name)
		if !ok {
			continue
		}
		d, err := fromJSON(f.Type, m, env)
		if err != nil {
			return nil, err
		}
		row[i] = d
	}
	return row, nil
}

func recordFromJSON(c *function.Call, v json.Value, base types.Row) (types.Datum, error) {
	if c.Ret.Rec == nil {
		return nil, pgerr.New(pgerr.SyntaxError, "a column definition list is required for functions returning \"record\"")
	}
	return rowFromJSON(c.Ret.Rec, v, base, c.Env)
}

func populateRecord(c *function.Call, a []types.Datum) (types.Datum, error) {
	base, _ := a[0].(types.Row)
	if a[1] == nil {
		if base == nil {
			return nil, nil
		}
		return base, nil
	}
	v, err := parseJSON(a[1].(string), c.Types[1].OID == types.JSONBOID)
	if err != nil {
		return nil, err
	}
	return recordFromJSON(c, v, base)
}
