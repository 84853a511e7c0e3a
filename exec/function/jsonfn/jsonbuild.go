package jsonfn

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addJSONBuild registers the functions that make json of SQL values.
func addJSONBuild(t function.Table) {
	t.Put("to_json(anyelement)", function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		return string(appendJSON(nil, c.Types[0], a[0], c.Env)), nil
	})))
	t.Put("to_jsonb(anyelement)", function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		return function.OrNull(toJSONB(c.Types[0], a[0], c.Env))
	})))
	t.Puts(function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		pretty := len(a) > 1 && a[1].(bool)
		return string(appendArrayJSON(nil, c.Types[0], a[0], c.Env, pretty)), nil
	})), "array_to_json(anyarray)", "array_to_json(anyarray,bool)")
	t.Puts(function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		pretty := len(a) > 1 && a[1].(bool)
		return string(appendRowJSON(nil, c.Types[0], a[0], c.Env, pretty)), nil
	})), "row_to_json(record)", "row_to_json(record,bool)")
	t.Puts(function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) { return function.OrNull(buildArray(c, a)) })),
		"json_build_array(any)", "json_build_array()")
	t.Puts(function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		return function.OrNull(buildObject(c, a))
	})),
		"json_build_object(any)", "json_build_object()")
	t.Puts(function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		s, err := buildArray(c, a)
		if err == nil {
			s, err = json.CanonicalJSONB(s)
		}
		return function.OrNull(s, err)
	})), "jsonb_build_array(any)", "jsonb_build_array()")
	t.Puts(function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		s, err := buildObject(c, a)
		if err == nil {
			s, err = json.CanonicalJSONB(s)
		}
		return function.OrNull(s, err)
	})), "jsonb_build_object(any)", "jsonb_build_object()")
}

// appendJSON appends a value as to_json() returns it.
func appendJSON(dst []byte, t types.Type, d types.Datum, env *function.Env) []byte {
	dst, _ = types.AppendJSON(dst, t, d, env.TypesEnv()) // which fails for values nested deeper than types are
	return dst
}

// toJSONB is to_jsonb().
func toJSONB(t types.Type, d types.Datum, env *function.Env) (string, error) {
	if t.OID == types.JSONBOID && d != nil {
		return d.(string), nil
	}
	return json.CanonicalJSONB(string(appendJSON(nil, t, d, env)))
}

func appendArrayJSON(dst []byte, t types.Type, d types.Datum, env *function.Env, pretty bool) []byte {
	if d == nil {
		return append(dst, "null"...)
	}
	et, _ := t.Elem()
	dst = append(dst, '[')
	for i, e := range vector.Elems(d) {
		if i > 0 {
			dst = append(dst, ',')
			if pretty {
				dst = append(dst, "\n "...)
			}
		}
		dst = appendJSON(dst, et, e, env)
	}
	return append(dst, ']')
}

func appendRowJSON(dst []byte, t types.Type, d types.Datum, env *function.Env, pretty bool) []byte {
	row, ok := d.(types.Row)
	if !ok {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	for i, e := range row {
		name, ft := fieldOf(t, i)
		if i > 0 {
			dst = append(dst, ',')
			if pretty {
				dst = append(dst, "\n "...)
			}
		}
		dst = json.StringOf(name).Append(dst)
		dst = append(dst, ':')
		dst = appendJSON(dst, ft, e, env)
	}
	return append(dst, '}')
}

// fieldOf names field i of a row type; those of ROW(…) are f1, f2, …
func fieldOf(t types.Type, i int) (string, types.Type) {
	if t.Rec != nil && i < len(t.Rec.Fields) {
		f := t.Rec.Fields[i]
		if f.Name != "" {
			return f.Name, f.Type
		}
		return "f" + itoa(i+1), f.Type
	}
	return "f" + itoa(i+1), types.Text
}

func buildArray(c *function.Call, a []types.Datum) (string, error) {
	dst := []byte{'['}
	for i, d := range a {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendJSON(dst, c.Types[i], d, c.Env)
	}
	return string(append(dst, ']')), nil
}

func buildObject(c *function.Call, a []types.Datum) (string, error) {
	if len(a)%2 != 0 {
		return "", pgerr.New(pgerr.InvalidParameterValue, "argument list must have even number of elements").
			WithHint("The arguments of %s must consist of alternating keys and values.", c.Fn.Name+"()")
	}
	dst := []byte{'{'}
	for i := 0; i < len(a); i += 2 {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		var err error
		if dst, err = appendJSONKey(dst, c.Types[i], a[i], c.Env); err != nil {
			if pgerr.Is(err, pgerr.NullValueNotAllowed) {
				return "", pgerr.New(pgerr.InvalidParameterValue, "argument %d: key must not be null", i+1)
			}
			return "", err
		}
		dst = append(dst, " : "...)
		dst = appendJSON(dst, c.Types[i+1], a[i+1], c.Env)
	}
	return string(append(dst, '}')), nil
}

// appendJSONKey appends a value as a key of an object.
func appendJSONKey(dst []byte, t types.Type, d types.Datum, env *function.Env) ([]byte, error) {
	if d == nil {
		return nil, pgerr.New(pgerr.NullValueNotAllowed, "field name must not be null")
	}
	if t.IsArray() || t.OID == types.RecordOID || t.OID == types.JSONOID || t.OID == types.JSONBOID {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "key value must be scalar, not array, composite, or json")
	}
	s := types.TextOf(t, d, env.TypesEnv())
	switch {
	case t.IsStamp():
		return types.AppendJSON(dst, t, d, env.TypesEnv())
	case t.Class() == types.ClassBool:
		s = "false"
		if d.(bool) {
			s = "true"
		}
	}
	return json.StringOf(s).Append(dst), nil
}
