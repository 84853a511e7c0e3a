package eval

import (
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addJSON registers the operators of json and jsonb, and the functions that
// take them apart or change them.
func addJSON(t table) {
	for _, j := range []string{"json", "jsonb"} {
		b := j == "jsonb"
		whole := func(v json.Value, err error) (string, error) {
			if err != nil {
				return "", err
			}
			return jsonText(v, b), nil
		}
		text := func(v json.Value, err error) (string, error) {
			if err != nil {
				return "", err
			}
			s, ok := v.Text()
			if !ok {
				return "", errNull
			}
			return s, nil
		}
		// members and elements are found in the text, without a tree
		element := json.JSONElement
		if b {
			element = json.JSONBElement
		}
		member := func(s string, ok bool) (string, error) {
			if !ok {
				return "", errNull
			}
			return s, nil
		}
		memberText := func(s string, ok bool) (string, error) {
			if ok {
				s, ok = json.JSONText(s)
			}
			return member(s, ok)
		}
		t.put(j+"_object_field("+j+",text)", always(try2(func(_ *call, s, k string) (string, error) { return member(json.JSONField(s, k)) })))
		t.put(j+"_object_field_text("+j+",text)", always(try2(func(_ *call, s, k string) (string, error) { return memberText(json.JSONField(s, k)) })))
		t.put(j+"_array_element("+j+",int4)", always(try2(func(_ *call, s string, i int64) (string, error) { return member(element(s, int(i))) })))
		t.put(j+"_array_element_text("+j+",int4)", always(try2(func(_ *call, s string, i int64) (string, error) { return memberText(element(s, int(i))) })))
		path := func(c *call, a []types.Datum) (json.Value, error) {
			v, err := parseJSON(a[0].(string), b)
			if err != nil {
				return v, err
			}
			p, ok := pathOf(a[1:])
			if !ok {
				return v, errNull
			}
			r, ok := v.Path(p)
			if !ok {
				return r, errNull
			}
			return r, nil
		}
		t.put(j+"_extract_path("+j+",text[])", always(loose(func(c *call, a []types.Datum) (types.Datum, error) { return orNil(whole(path(c, a))) })))
		t.put(j+"_extract_path_text("+j+",text[])", always(loose(func(c *call, a []types.Datum) (types.Datum, error) { return orNil(text(path(c, a))) })))
		t.put(j+"_typeof("+j+")", always(try1(func(_ *call, s string) (string, error) {
			v, err := parseJSON(s, b)
			return v.TypeOf(), err
		})))
		t.put(j+"_array_length("+j+")", always(try1(func(_ *call, s string) (int64, error) {
			v, err := parseJSON(s, b)
			if err != nil {
				return 0, err
			}
			n, err := v.ArrayLength()
			return int64(n), err
		})))
		t.put(j+"_strip_nulls("+j+")", always(try1(func(_ *call, s string) (string, error) {
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
		t.put(j+"_object(text[])", always(try1(func(_ *call, a types.Array) (string, error) { return objectOfPairs(a, b) })))
		t.put(j+"_object(text[],text[])", always(try2(func(_ *call, k, v types.Array) (string, error) { return objectOfLists(k, v, b) })))
		pop := j + "_populate_record(anyelement," + j
		if !b {
			pop += ",bool"
		}
		t.put(pop+")", always(loose(populateRecord)))
		t.put(j+"_to_record("+j+")", always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
			v, err := parseJSON(a[0].(string), b)
			if err != nil {
				return nil, err
			}
			return recordFromJSON(c, v, nil)
		})))
	}
	t.put("jsonb_pretty(jsonb)", always(try1(func(_ *call, s string) (string, error) {
		v, err := json.ParseJSONB(s)
		return v.Pretty(), err
	})))
	two := func(f func(v, w json.Value) bool) maker {
		return always(try2(func(c *call, s, u string) (bool, error) {
			v, err := json.ParseJSONB(s)
			if err != nil {
				return false, err
			}
			w, err := json.ParseJSONB(u)
			return f(v, w), err
		}))
	}
	t.put("jsonb_contains(jsonb,jsonb)", two(func(v, w json.Value) bool { return v.Contains(w) }))
	t.put("jsonb_contained(jsonb,jsonb)", two(func(v, w json.Value) bool { return w.Contains(v) }))
	t.put("jsonb_concat(jsonb,jsonb)", always(try2(func(_ *call, s, u string) (string, error) {
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
	t.put("jsonb_exists(jsonb,text)", always(try2(func(_ *call, s, k string) (bool, error) {
		v, err := json.ParseJSONB(s)
		return v.Exists(k), err
	})))
	t.put("jsonb_exists_any(jsonb,text[])", always(try2(func(_ *call, s string, ks types.Array) (bool, error) {
		v, err := json.ParseJSONB(s)
		for _, k := range ks.Elems {
			if k, ok := k.(string); ok && v.Exists(k) {
				return true, err
			}
		}
		return false, err
	})))
	t.put("jsonb_exists_all(jsonb,text[])", always(try2(func(_ *call, s string, ks types.Array) (bool, error) {
		v, err := json.ParseJSONB(s)
		for _, k := range ks.Elems {
			if k, ok := k.(string); ok && !v.Exists(k) {
				return false, err
			}
		}
		return true, err
	})))
	edit := func(f func(v json.Value, a []types.Datum) (json.Value, error)) maker {
		return always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
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
	t.put("jsonb_delete(jsonb,text)", edit(func(v json.Value, a []types.Datum) (json.Value, error) { return v.Delete(a[1].(string)) }))
	t.put("jsonb_delete(jsonb,int4)", edit(func(v json.Value, a []types.Datum) (json.Value, error) {
		return v.DeleteIndex(int(a[1].(int64)))
	}))
	t.put("jsonb_delete(jsonb,text[])", edit(func(v json.Value, a []types.Datum) (json.Value, error) {
		var keys []string
		for _, d := range flatText(a[1:]) {
			if k, ok := d.(string); ok {
				keys = append(keys, k)
			}
		}
		return v.Delete(keys...)
	}))
	t.put("jsonb_delete_path(jsonb,text[])", edit(func(v json.Value, a []types.Datum) (json.Value, error) {
		p := editPath(a[1])
		return v.DeletePath(p)
	}))
	t.put("jsonb_set(jsonb,text[],jsonb,bool)", edit(func(v json.Value, a []types.Datum) (json.Value, error) {
		return jsonbSet(v, a)
	}))
	t.put("jsonb_insert(jsonb,text[],jsonb,bool)", edit(func(v json.Value, a []types.Datum) (json.Value, error) {
		p := editPath(a[1])
		w, err := json.ParseJSONB(a[2].(string))
		if err != nil {
			return v, err
		}
		return v.Insert(p, w, a[3].(bool))
	}))
	t.put("jsonb_set_lax(jsonb,text[],jsonb,bool,text)", always(loose(jsonbSetLax)))
}

func parseJSON(s string, binary bool) (json.Value, error) {
	if binary {
		return json.ParseJSONB(s)
	}
	return json.ParseJSON(s)
}

// jsonText is a value's text in its type: as it was written for json.
func jsonText(v json.Value, binary bool) string {
	if !binary && v.Raw != "" {
		return v.Raw
	}
	return v.String()
}

// flatText gives the elements of VARIADIC text[] arguments, given one by one or
// as an array.
func flatText(a []types.Datum) []types.Datum {
	if len(a) == 1 {
		if arr, ok := a[0].(types.Array); ok {
			return arr.Elems
		}
	}
	return a
}

// pathOf gives a path; ok is false where an element is NULL.
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
	for _, e := range elems(d) {
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

func jsonbSetLax(c *call, a []types.Datum) (types.Datum, error) {
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
			return orNil(v.String(), err)
		case "return_target":
			return a[0], nil
		default:
			return nil, pgerr.New(pgerr.InvalidParameterValue, "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"")
		}
	}
	v, err = jsonbSet(v, a)
	return orNil(v.String(), err)
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

// registerJSON registers the functions of json and jsonb.
func registerJSON(t table) {
	addJSON(t)
	addJSONBuild(t)
	addJSONPath(t)
}
