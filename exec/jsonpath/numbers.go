package jsonpath

import (
	"strings"

	"github.com/tributarydb/tributary/sql/json"
	path "github.com/tributarydb/tributary/sql/jsonpath"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

var signs = map[path.Kind]string{path.Add: "+", path.Sub: "-", path.Mul: "*", path.Div: "/", path.Mod: "%", path.Plus: "+", path.Minus: "-"}

func (r *run) binary(n *path.Node, v json.Value) error {
	var ops [2]number.Decimal
	for i, side := range []*path.Node{n.L, n.R} {
		items, err := r.sub(side, v, true)
		if err != nil {
			return err
		}
		if len(items) != 1 || items[0].Kind != json.Number {
			return pgerr.New(pgerr.SingletonSQLJSONItemRequired, "%s operand of jsonpath operator %s is not a single numeric value",
				[]string{"left", "right"}[i], signs[n.Kind])
		}
		ops[i] = items[0].Num
	}
	apply := map[path.Kind]func(a, b number.Decimal) (number.Decimal, error){
		path.Add: number.Decimal.Add, path.Sub: number.Decimal.Sub, path.Mul: number.Decimal.Mul, path.Div: number.Decimal.Div, path.Mod: number.Decimal.Mod,
	}[n.Kind]
	d, err := apply(ops[0], ops[1])
	if err != nil {
		return err
	}
	return r.next(n, json.NumberOf(d))
}

func (r *run) sign(n *path.Node, v json.Value) error {
	items, err := r.sub(n.L, v, true)
	if err != nil {
		return err
	}
	for _, x := range items {
		if x.Kind != json.Number {
			return pgerr.New(pgerr.SQLJSONNumberNotFound, "operand of unary jsonpath operator %s is not a numeric value", signs[n.Kind])
		}
		if n.Kind == path.Minus {
			x = json.NumberOf(x.Num.Neg())
		}
		if err := r.next(n, x); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) method(n *path.Node, v json.Value, unwrap bool) error {
	switch n.Text {
	case "type":
		return r.next(n, json.StringOf(v.TypeOf()))
	case "size":
		size := 1
		if v.Kind == json.Array {
			size = len(v.Elems)
		} else if !r.forgiving {
			return pgerr.New(pgerr.SQLJSONArrayNotFound, "jsonpath item method .size() can only be applied to an array")
		}
		return r.next(n, json.NumberOf(number.DecimalFromInt64(int64(size), 0)))
	}
	if v.Kind == json.Array && unwrap {
		return r.each(n, v)
	}
	switch n.Text {
	case "keyvalue":
		return r.keyvalue(n, v)
	case "datetime":
		return pgerr.Unsupported("the jsonpath method .datetime() is not supported")
	case "double":
		return r.double(n, v)
	}
	if v.Kind != json.Number {
		return pgerr.New(pgerr.NonNumericSQLJSONItem, "jsonpath item method .%s() can only be applied to a numeric value", n.Text)
	}
	d := v.Num
	switch n.Text {
	case "abs":
		d = d.Abs()
	case "floor":
		d = d.Floor()
	case "ceiling":
		d = d.Ceil()
	}
	return r.next(n, json.NumberOf(d))
}

// double is .double(): strings are parsed as float8, numbers rounded to it.
func (r *run) double(n *path.Node, v json.Value) error {
	var text string
	switch v.Kind {
	case json.Number:
		text = v.Num.String()
	case json.String:
		text = v.Str
	default:
		return pgerr.New(pgerr.NonNumericSQLJSONItem, "jsonpath item method .double() can only be applied to a string or numeric value")
	}
	f, err := number.ParseFloat(64, text)
	if err != nil || strings.ContainsAny(strings.ToLower(text), "in") { // inf and NaN
		what := map[json.Kind]string{json.Number: "numeric", json.String: "string"}[v.Kind]
		return pgerr.New(pgerr.NonNumericSQLJSONItem, "%s argument of jsonpath item method .double() is out of range for type double precision", what)
	}
	if v.Kind == json.Number {
		return r.next(n, v)
	}
	return r.next(n, json.NumberOf(number.DecimalFromFloat64(f)))
}

// keyvalue makes an object of each member. The id distinguishes the objects of one evaluation; the
// root's is 0.
func (r *run) keyvalue(n *path.Node, v json.Value) error {
	if v.Kind != json.Object {
		return pgerr.New(pgerr.SQLJSONObjectNotFound, "jsonpath item method .keyvalue() can only be applied to an object")
	}
	id := r.objects
	r.objects++
	for i, k := range v.Keys {
		kv := json.ObjectOf([]string{"id", "key", "value"}, []json.Value{
			json.NumberOf(number.DecimalFromInt64(id, 0)), json.StringOf(k), v.Elems[i]})
		if err := r.next(n, kv); err != nil {
			return err
		}
	}
	return nil
}
