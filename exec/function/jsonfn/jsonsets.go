package jsonfn

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// setJSON parses a text whose members or elements are the rows of the call, and charges the tree.
func setJSON(c *function.SetCall, s string, binary bool) (json.Value, error) {
	c.Holds(2 * vector.JSONBytes(s))
	return parseJSON(s, binary)
}

// setOutline is setJSON where the values of strings are not read.
func setOutline(c *function.SetCall, s string, _ bool) (json.Value, error) {
	c.Holds(2 * vector.JSONBytes(s))
	return json.Outline(s)
}

// AddSets registers the set-returning functions of json and jsonb.
func AddSets(m map[string]function.SetMaker) {
	m["jsonb_path_query(jsonb,jsonpath,jsonb,bool)"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
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
			read := setJSON
			if !b && !text {
				read = setOutline
			}
			m[j+"_array_elements"+suffix+"("+j+")"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
				v, err := read(c, a[0].(string), b)
				if err != nil {
					return nil, err
				}
				switch {
				case v.Kind == json.Object && b:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot extract elements from an object")
				case v.Scalar() && b:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot extract elements from a scalar")
				case v.Kind == json.Object:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a non-array", c.Call.Fn.Name)
				case v.Scalar():
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a scalar", c.Call.Fn.Name)
				}
				var rows []types.Datum
				for _, e := range v.Elems {
					rows = append(rows, value(e))
				}
				return c.List(rows), nil
			}
			m[j+"_each"+suffix+"("+j+")"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
				v, err := setJSON(c, a[0].(string), b)
				if err != nil {
					return nil, err
				}
				if v.Kind != json.Object {
					if b {
						return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a non-object", c.Call.Fn.Name)
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
				return c.List(rows), nil
			}
		}
		m[j+"_object_keys("+j+")"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
			v, err := setJSON(c, a[0].(string), b)
			if err != nil {
				return nil, err
			}
			if v.Kind != json.Object {
				what := "a scalar"
				if v.Kind == json.Array {
					what = "an array"
				}
				return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on %s", c.Call.Fn.Name, what)
			}
			return c.List(function.Texts(v.Keys)), nil
		}
		m[j+"_to_recordset("+j+")"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
			return recordset(c, a[0], nil, b)
		}
		id := j + "_populate_recordset(anyelement," + j
		if !b {
			id += ",bool"
		}
		m[id+")"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
			base, _ := a[0].(types.Row)
			return recordset(c, a[1], base, b)
		}
	}
}

func recordset(c *function.SetCall, d types.Datum, base types.Row, b bool) (function.Generator, error) {
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
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on %s", c.Call.Fn.Name, what)
	}
	rec := function.RecordOf(c.Call.Cols)
	whole := len(c.Call.Cols) == 1 && c.Call.Cols[0].Type.OID == types.RecordOID && c.Call.Cols[0].Type.Rec != nil
	if whole {
		rec = c.Call.Cols[0].Type.Rec
	}
	var rows []types.Datum
	for _, e := range v.Elems {
		if e.Kind != json.Object {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "argument of %s must be an array of objects", c.Call.Fn.Name)
		}
		r, err := rowFromJSON(rec, e, base, c.Env)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return c.List(rows), nil
}
