package jsonfn

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// AddSets registers the set-returning functions of json and jsonb that make their rows of a tree.
func AddSets(m map[string]function.SetMaker) {
	m["jsonb_path_query(jsonb,jsonpath,jsonb,bool)"] = func(c *function.SetCall, a []types.Datum) (function.Generator, error) {
		return &pathRows{call: c, args: a}, nil
	}
}

// AddLists registers those that go through the text of a value as it lies.
func AddLists(m map[string]function.ListMaker) {
	for _, j := range []string{"json", "jsonb"} {
		b := j == "jsonb"
		for _, text := range []bool{false, true} {
			suffix := ""
			if text {
				suffix = "_text"
			}
			m[j+"_array_elements"+suffix+"("+j+")"] = func(c *function.SetCall, row int) (function.Generator, error) {
				w, err := walkOf(c, 0, row, b, b || text)
				if err != nil || w == nil {
					return function.Empty{}, err
				}
				switch kind := w.Kind(); {
				case kind == json.Object && b:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot extract elements from an object")
				case kind != json.Array && b:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot extract elements from a scalar")
				case kind == json.Object:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a non-array", c.Call.Fn.Name)
				case kind != json.Array:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a scalar", c.Call.Fn.Name)
				}
				w.text = text
				return w, nil
			}
			m[j+"_each"+suffix+"("+j+")"] = func(c *function.SetCall, row int) (function.Generator, error) {
				w, err := walkOf(c, 0, row, b, true)
				if err != nil || w == nil {
					return function.Empty{}, err
				}
				switch kind := w.Kind(); {
				case kind == json.Object:
				case b:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a non-object", c.Call.Fn.Name)
				case kind == json.Array:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot deconstruct an array as an object")
				default:
					return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot deconstruct a scalar")
				}
				w.text, w.names = text, true
				return w, nil
			}
		}
		m[j+"_object_keys("+j+")"] = func(c *function.SetCall, row int) (function.Generator, error) {
			w, err := walkOf(c, 0, row, b, true)
			if err != nil || w == nil {
				return function.Empty{}, err
			}
			switch w.Kind() {
			case json.Object:
				w.names = true
				return w, nil
			case json.Array:
				return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on an array", c.Call.Fn.Name)
			}
			return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a scalar", c.Call.Fn.Name)
		}
		m[j+"_to_recordset("+j+")"] = func(c *function.SetCall, row int) (function.Generator, error) {
			return recordset(c, 0, row, nil, b)
		}
		id := j + "_populate_recordset(anyelement," + j
		if !b {
			id += ",bool"
		}
		m[id+")"] = func(c *function.SetCall, row int) (function.Generator, error) {
			base, _ := c.Args[0].Datum(c.Types[0], row).(types.Row)
			return recordset(c, 1, row, base, b)
		}
	}
}

// walk gives the elements or members of one value; it is used again for the next.
type walk struct {
	json.Walker
	function.RowsOf
	names, text bool // names of members before values, values as text
	records     *records
}

// walkOf begins with an argument; nil if it is NULL. Functions that read strings refuse those that are no text.
func walkOf(c *function.SetCall, arg, row int, binary, strings bool) (*walk, error) {
	v := c.Args[arg]
	if v.Kind == vector.Null || v.Null(row) {
		return nil, nil
	}
	s := v.Str(row)
	if binary && c.Types[arg].OID == types.JSONOID { // see InPlace
		var err error
		c.Meter.Scratch(2 * vector.JSONBytes(s))
		if s, err = json.Readable(s); err != nil {
			return nil, err
		}
	}
	if !binary && strings {
		if err := json.CheckStrings(s); err != nil {
			return nil, err
		}
	}
	w, ok := c.Memo.(*walk)
	if !ok {
		w = &walk{RowsOf: function.RowsOf{T: c.ColTypes()}}
		c.Memo = w
	}
	w.Walker = json.Walk(s)
	return w, nil
}

func (g *walk) Next(_ context.Context, max int, out []array.Builder) (n int, err error) {
	for n < max && g.Walker.Next() {
		n++
		if g.names {
			name := g.Name()
			if g.T[0].OID == types.RecordOID {
				var value types.Datum
				if s, ok := g.value(); ok {
					value = s
				}
				if err := g.Give(types.Row{name, value}, out); err != nil {
					return 0, err
				}
				continue
			}
			if err := appendText(out[0], g.T[0], name); err != nil {
				return 0, err
			}
		}
		at := len(out) - 1
		if g.names && at == 0 {
			continue
		}
		if s, ok := g.value(); ok {
			err = appendText(out[at], g.T[at], s)
		} else {
			out[at].AppendNull()
		}
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (g *walk) value() (s string, ok bool) {
	if g.text {
		return json.JSONText(g.Value)
	}
	return g.Value, true
}

func appendText(b array.Builder, t types.Type, s string) error {
	if b, ok := b.(*array.StringBuilder); ok {
		b.Append(s)
		return nil
	}
	return types.AppendDatum(b, t, s)
}

// records gives the objects of an array as rows of their members.
type records struct {
	*walk
	call   *function.SetCall
	binary bool
	base   types.Row // what members that an object lacks are
	whole  *types.Record
	fields []types.Field
	spans  []json.Span
	keys   []string
}

func recordset(c *function.SetCall, arg, row int, base types.Row, b bool) (function.Generator, error) {
	w, err := walkOf(c, arg, row, b, true)
	if err != nil || w == nil {
		return function.Empty{}, err
	}
	switch w.Kind() {
	case json.Array:
	case json.Object:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on an object", c.Call.Fn.Name)
	default:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a scalar", c.Call.Fn.Name)
	}
	g := w.records
	if g == nil {
		g = &records{walk: w, call: c, binary: b}
		w.records = g
		if cols := c.Call.Cols; len(cols) == 1 && cols[0].Type.OID == types.RecordOID && cols[0].Type.Rec != nil {
			g.whole = cols[0].Type.Rec
			g.fields = g.whole.Fields
		} else {
			g.fields = function.RecordOf(cols).Fields
		}
		for _, f := range g.fields {
			g.keys = append(g.keys, f.Name)
		}
		g.spans = make([]json.Span, len(g.keys))
	}
	g.base = base
	return g, nil
}

func (g *records) Next(_ context.Context, max int, out []array.Builder) (n int, err error) {
	s := g.Text()
	for ; n < max; n++ {
		object, ok := g.NextMembers(g.keys, g.spans)
		switch {
		case !ok:
			return n, nil
		case !object:
			return 0, pgerr.New(pgerr.InvalidParameterValue, "argument of %s must be an array of objects", g.call.Call.Fn.Name)
		}
		var row types.Row
		if g.whole != nil {
			row = make(types.Row, len(g.fields))
		}
		for k, f := range g.fields {
			if span := g.spans[k]; span.To > 0 && g.whole == nil {
				if done, err := g.append(out[k], f.Type, s[span.From:span.To]); err != nil {
					return 0, err
				} else if done {
					continue
				}
			}
			var d types.Datum
			if span := g.spans[k]; span.To > 0 {
				if d, err = g.field(f.Type, s[span.From:span.To]); err != nil {
					return 0, err
				}
			} else if k < len(g.base) {
				d = g.base[k]
			}
			if g.whole != nil {
				row[k] = d
			} else if err := types.AppendDatum(out[k], g.T[k], d); err != nil {
				return 0, err
			}
		}
		if g.whole != nil {
			if err := g.Give(row, out); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// field makes a value of t of a member's text, as fromJSON does of a tree.
func (g *records) field(t types.Type, s string) (types.Datum, error) {
	env := g.call.Env
	switch {
	case t.Class() == types.ClassJSON, t.Class() == types.ClassJSONB, t.IsArray(), t.Rec != nil:
		g.call.Meter.Scratch(2 * vector.JSONBytes(s))
		v, err := parseJSON(s, g.binary)
		if err != nil {
			return nil, err
		}
		return fromJSON(t, v, env)
	}
	text, ok, err := g.text(s)
	if !ok || err != nil {
		return nil, err
	}
	d, err := types.ParseText(t, text, env.TypesEnv())
	if err != nil || t.Mod < 0 && t.OID != types.BpcharOID {
		return d, err
	}
	return types.ApplyMod(t, d, false)
}

// text is the text of a member; ok is false for null.
func (g *records) text(s string) (text string, ok bool, err error) {
	if g.binary && (s[0] == '{' || s[0] == '[') { // not as it lies
		if s, err = json.CanonicalJSONB(s); err != nil {
			return "", false, err
		}
	}
	text, ok = json.JSONText(s)
	return text, ok, nil
}

// append appends a member's value without a datum between; done is false for types that need one.
func (g *records) append(b array.Builder, t types.Type, s string) (done bool, err error) {
	if t.Mod >= 0 || t.Prec > 0 {
		return false, nil
	}
	switch t.OID {
	case types.TextOID, types.Int4OID, types.Int8OID, types.Float8OID, types.NumericOID:
	default:
		return false, nil
	}
	text, ok, err := g.text(s)
	if err != nil {
		return false, err
	}
	if !ok {
		b.AppendNull()
		return true, nil
	}
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(text)
	case *array.Int32Builder:
		var v int64
		v, err = number.ParseInt(32, text)
		b.Append(int32(v))
	case *array.Int64Builder:
		var v int64
		v, err = number.ParseInt(64, text)
		b.Append(v)
	case *array.Float64Builder:
		var v float64
		v, err = number.ParseFloat(64, text)
		b.Append(v)
	case *array.BinaryBuilder:
		var v number.Decimal
		v, err = number.ParseDecimal(text)
		var digits [32]byte
		b.Append(v.AppendBinary(digits[:0]))
	default:
		return false, nil
	}
	return true, err
}
