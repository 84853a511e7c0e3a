package jsonfn

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addJSON registers the operators of json and jsonb, and the functions that read or change them.
func addJSON(t function.Table) {
	for _, j := range []string{"json", "jsonb"} {
		b := j == "jsonb"
		// members and elements are found in the text, without a tree
		element := json.JSONElement
		if b {
			element = json.JSONBElement
		}
		item := func(s string, i int64) (string, bool) { return element(s, int(i)) }
		t.Put(j+"_object_field("+j+",text)", found(b, json.JSONField))
		t.Put(j+"_object_field_text("+j+",text)", found(b, asText(json.JSONField)))
		t.Put(j+"_array_element("+j+",int4)", found(b, item))
		t.Put(j+"_array_element_text("+j+",int4)", found(b, asText(item)))
		path := func(text bool) function.Maker {
			return function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
				p, ok := pathOf(a[1:])
				if !ok {
					return nil, nil
				}
				return followed(a[0].(string), p, b, text)
			}))
		}
		t.Put(j+"_extract_path("+j+",text[])", path(false))
		t.Put(j+"_extract_path_text("+j+",text[])", path(true))
		t.Put(j+"_typeof("+j+")", function.Always(function.Try1(func(_ *function.Call, s string) (string, error) {
			return json.KindOf(s), nil
		})))
		t.Put(j+"_array_length("+j+")", function.Always(function.Try1(func(_ *function.Call, s string) (int64, error) {
			if n, ok := json.Length(s); ok {
				return int64(n), nil
			}
			v, err := json.Outline(s)
			if err != nil {
				return 0, err
			}
			n, err := v.ArrayLength()
			return int64(n), err
		})))
		t.Put(j+"_strip_nulls("+j+")", function.Always(function.Try1(func(_ *function.Call, s string) (string, error) {
			v, err := parseJSON(s, b)
			if err != nil {
				return "", err
			}
			v = v.StripNulls()
			if b {
				return v.String(), nil
			}
			return string(v.AppendCompact(nil)), nil
		})))
		t.Put(j+"_object(text[])", function.Always(function.Try1(func(_ *function.Call, a types.Array) (string, error) { return objectOfPairs(a, b) })))
		t.Put(j+"_object(text[],text[])", function.Always(function.Try2(func(_ *function.Call, k, v types.Array) (string, error) { return objectOfLists(k, v, b) })))
		pop := j + "_populate_record(anyelement," + j
		if !b {
			pop += ",bool"
		}
		t.Put(pop+")", function.Always(function.Loose(populateRecord)))
		t.Put(j+"_to_record("+j+")", function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
			v, err := parseJSON(a[0].(string), b)
			if err != nil {
				return nil, err
			}
			return recordFromJSON(c, v, nil)
		})))
	}
	t.Put("jsonb_pretty(jsonb)", function.Always(function.Try1(func(_ *function.Call, s string) (string, error) {
		v, err := json.ParseJSONB(s)
		return v.Pretty(), err
	})))
	t.Put("jsonb_contains(jsonb,jsonb)", reader(func(as reading) function.Impl {
		return function.Try2(func(c *function.Call, s, part string) (bool, error) { return as.contains(c, s, part) })
	}))
	t.Put("jsonb_contained(jsonb,jsonb)", function.Always(function.Try2(func(c *function.Call, part, s string) (bool, error) {
		return reading{}.contains(c, s, part)
	})))
	t.Put("jsonb_concat(jsonb,jsonb)", function.Always(function.Try2(func(_ *function.Call, s, u string) (string, error) {
		v, err := json.ParseJSONB(s)
		if err != nil {
			return "", err
		}
		w, err := json.ParseJSONB(u)
		if err != nil {
			return "", err
		}
		return v.Concat(w).String(), nil
	})))
	t.Put("jsonb_exists(jsonb,text)", reader(func(as reading) function.Impl {
		return function.Try2(func(_ *function.Call, s, k string) (bool, error) {
			s, err := as.text(s)
			return err == nil && json.Exists(s, k), err
		})
	}))
	t.Put("jsonb_exists_any(jsonb,text[])", reader(func(as reading) function.Impl {
		return function.Try2(func(_ *function.Call, s string, ks types.Array) (bool, error) {
			s, err := as.text(s)
			return slices.ContainsFunc(ks.Elems, func(d types.Datum) bool { k, ok := d.(string); return ok && json.Exists(s, k) }), err
		})
	}))
	t.Put("jsonb_exists_all(jsonb,text[])", reader(func(as reading) function.Impl {
		return function.Try2(func(_ *function.Call, s string, ks types.Array) (bool, error) {
			s, err := as.text(s)
			return !slices.ContainsFunc(ks.Elems, func(d types.Datum) bool { k, ok := d.(string); return ok && !json.Exists(s, k) }), err
		})
	}))
	edit := func(f func(v json.Value, a []types.Datum) (json.Value, error)) function.Maker {
		return function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
			v, err := json.ParseJSONB(a[0].(string))
			if err == nil {
				v, err = f(v, a)
			}
			if err != nil {
				return nil, err
			}
			return v.String(), nil
		}))
	}
	t.Put("jsonb_delete(jsonb,text)", edit(func(v json.Value, a []types.Datum) (json.Value, error) { return v.Delete(a[1].(string)) }))
	t.Put("jsonb_delete(jsonb,int4)", edit(func(v json.Value, a []types.Datum) (json.Value, error) {
		return v.DeleteIndex(int(a[1].(int64)))
	}))
	t.Put("jsonb_delete(jsonb,text[])", edit(func(v json.Value, a []types.Datum) (json.Value, error) {
		var keys []string
		for _, d := range flatText(a[1:]) {
			if k, ok := d.(string); ok {
				keys = append(keys, k)
			}
		}
		return v.Delete(keys...)
	}))
	t.Put("jsonb_delete_path(jsonb,text[])", edit(func(v json.Value, a []types.Datum) (json.Value, error) {
		p := editPath(a[1])
		return v.DeletePath(p)
	}))
	t.Put("jsonb_set(jsonb,text[],jsonb,bool)", edit(func(v json.Value, a []types.Datum) (json.Value, error) {
		return jsonbSet(v, a)
	}))
	t.Put("jsonb_insert(jsonb,text[],jsonb,bool)", edit(func(v json.Value, a []types.Datum) (json.Value, error) {
		p := editPath(a[1])
		w, err := json.ParseJSONB(a[2].(string))
		if err != nil {
			return v, err
		}
		return v.Insert(p, w, a[3].(bool))
	}))
	t.Put("jsonb_set_lax(jsonb,text[],jsonb,bool,text)", function.Always(function.Loose(jsonbSetLax)))
}

// InPlace reports whether a function of jsonb reads its first argument where a json text lies, so that it need not be made
// jsonb first: its implementation is then asked for with the type json.
func InPlace(id string) bool {
	switch id {
	case "jsonb_contains(jsonb,jsonb)", "jsonb_exists(jsonb,text)", "jsonb_exists_any(jsonb,text[])", "jsonb_exists_all(jsonb,text[])",
		"jsonb_to_recordset(jsonb)":
		return true
	}
	return false
}

// reading says how the text of a jsonb value is read.
type reading struct{ inPlace bool } // it is a json text

// reader makes a function that InPlace names.
func reader(of func(reading) function.Impl) function.Maker {
	return func(_ *fn.Func, args []types.Type, _ types.Type) function.Impl {
		return of(reading{args[0].OID == types.JSONOID})
	}
}

func (as reading) text(s string) (string, error) {
	if as.inPlace {
		return json.Readable(s)
	}
	return s, nil
}

func (as reading) contains(c *function.Call, s, part string) (bool, error) {
	w, err := treeOf(c, part)
	if err != nil {
		return false, err
	}
	if s, err = as.text(s); err != nil || json.Lacks(s, w.quoted) {
		return false, err
	}
	if as.inPlace {
		return json.ContainsReadable(s, w.Value), nil
	}
	return json.Contains(s, w.Value), nil
}

// tree is that of a jsonb value.
type tree struct {
	text   string
	quoted string // see Quoted
	json.Value
}

// treeOf returns the tree of a jsonb value, from the call's memo if it is the same as the last one.
func treeOf(c *function.Call, s string) (*tree, error) {
	if c.Memo != nil {
		if t, ok := (*c.Memo).(*tree); ok && t.text == s {
			return t, nil
		}
	}
	t := &tree{text: strings.Clone(s)}
	var err error
	if t.Value, err = json.ParseJSONB(t.text); err == nil && c.Memo != nil && len(s) < 1<<10 {
		t.quoted = t.Quoted()
		*c.Memo = t
	}
	return t, err
}

// found makes a function of the text of a value and where in it to look. Strings of a json value
// that are no text are refused wherever they stand in it, as PostgreSQL does; jsonb has none.
func found[K any](binary bool, find func(s string, by K) (string, bool)) function.Maker {
	return function.Always(function.Try2(func(_ *function.Call, s string, by K) (string, error) {
		if !binary {
			if err := json.CheckStrings(s); err != nil {
				return "", err
			}
		}
		v, ok := find(s, by)
		if !ok {
			return "", function.ErrNull
		}
		return v, nil
	}))
}

// followed returns what a path leads to, nil if that is nothing. The value at its beginning may have spaces around it.
func followed(s string, path []string, binary, text bool) (types.Datum, error) {
	if !binary {
		if err := json.CheckStrings(s); err != nil {
			return nil, err
		}
	}
	v, ok := json.JSONPath(s, path)
	if v = strings.Trim(v, " \t\n\r"); ok && text {
		v, ok = json.JSONText(v)
	}
	if !ok {
		return nil, nil
	}
	return v, nil
}

// asText makes find return what it finds as ->> does.
func asText[K any](find func(s string, by K) (string, bool)) func(s string, by K) (string, bool) {
	return func(s string, by K) (string, bool) {
		v, ok := find(s, by)
		if !ok {
			return "", false
		}
		return json.JSONText(v)
	}
}

func parseJSON(s string, binary bool) (json.Value, error) {
	if binary {
		return json.ParseJSONB(s)
	}
	return json.ParseJSON(s)
}

// jsonText returns a value's text in its type: as it was written for json.
func jsonText(v json.Value, binary bool) string {
	if !binary && v.Raw != "" {
		return v.Raw
	}
	return v.String()
}

// flatText returns the elements of VARIADIC text[] arguments, given one by one or
// as an array.
func flatText(a []types.Datum) []types.Datum {
	if len(a) == 1 {
		if arr, ok := a[0].(types.Array); ok {
			return arr.Elems
		}
	}
	return a
}

// pathOf returns a path; ok is false where an element is NULL.
func pathOf(a []types.Datum) ([]string, bool) {
	var p []string
	for _, d := range flatText(a) {
		s, ok := d.(string)
		if !ok {
			return nil, false
		}
		p = append(p, s)
	}
	return p, true
}

func editPath(d types.Datum) (p json.EditPath) {
	for _, e := range vector.Elems(d) {
		s, ok := e.(string)
		if !ok {
			p.Null = true
			break
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

func jsonbSet(v json.Value, a []types.Datum) (json.Value, error) {
	p := editPath(a[1])
	w, err := json.ParseJSONB(a[2].(string))
	if err != nil {
		return v, err
	}
	return v.Set(p, w, a[3].(bool))
}

func jsonbSetLax(c *function.Call, a []types.Datum) (types.Datum, error) {
	if a[0] == nil || a[1] == nil || a[3] == nil {
		return nil, nil
	}
	if a[4] == nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"")
	}
	v, err := json.ParseJSONB(a[0].(string))
	if err != nil {
		return nil, err
	}
	if a[2] == nil {
		switch a[4].(string) {
		case "raise_exception":
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "JSON value must not be null").
				WithDetail("Exception was raised because null_value_treatment is \"raise_exception\".").
				WithHint("To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.")
		case "use_json_null":
			a = append([]types.Datum(nil), a...)
			a[2] = "null"
		case "delete_key":
			v, err = v.DeletePath(editPath(a[1]))
			return function.OrNull(v.String(), err)
		case "return_target":
			return a[0], nil
		default:
			return nil, pgerr.New(pgerr.InvalidParameterValue, "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"")
		}
	}
	v, err = jsonbSet(v, a)
	return function.OrNull(v.String(), err)
}

func objectOfPairs(a types.Array, b bool) (string, error) {
	if len(a.Elems)%2 != 0 {
		return "", pgerr.New(pgerr.ArraySubscriptError, "array must have even number of elements")
	}
	var k, v types.Array
	for i := 0; i < len(a.Elems); i += 2 {
		k.Elems, v.Elems = append(k.Elems, a.Elems[i]), append(v.Elems, a.Elems[i+1])
	}
	return objectOfLists(k, v, b)
}

func objectOfLists(k, v types.Array, b bool) (string, error) {
	if len(k.Elems) != len(v.Elems) {
		return "", pgerr.New(pgerr.ArraySubscriptError, "mismatched array dimensions")
	}
	var keys []string
	var vals []json.Value
	dst := []byte{'{'}
	for i, key := range k.Elems {
		s, ok := key.(string)
		if !ok {
			return "", pgerr.New(pgerr.NullValueNotAllowed, "null value not allowed for object key")
		}
		val := json.Value{}
		if x, ok := v.Elems[i].(string); ok {
			val = json.StringOf(x)
		}
		keys, vals = append(keys, s), append(vals, val)
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = json.StringOf(s).Append(dst)
		dst = append(dst, " : "...)
		dst = val.Append(dst)
	}
	if b {
		return json.ObjectOf(keys, vals).String(), nil
	}
	return string(append(dst, '}')), nil
}

// Register registers the functions of json and jsonb.
func Register(t function.Table) {
	addJSON(t)
	addJSONBuild(t)
	addJSONPath(t)
}
