package eval

import (
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// json reads a text whose parts the call gives as rows.
func setJSON(c *setCall, s string, binary bool) (json.Value, error) {
	c.holds(2 * jsonWeight(s))
	return parseJSON(s, binary)
}

// addJSONSets registers the functions that give rows of json.
func addJSONSets(m map[string]setMaker) {
	m["jsonb_path_query(jsonb,jsonpath,jsonb,bool)"] = func(c *setCall, a []types.Datum) (generator, error) {
		return &pathRows{call: c, args: a}, nil
	}
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
				v, err := setJSON(c, a[0].(string), b)
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
				v, err := setJSON(c, a[0].(string), b)
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
			v, err := setJSON(c, a[0].(string), b)
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
	v, err := setJSON(c, d.(string), b)
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
