package jsonpath

import (
	"strings"

	path "github.com/tributarydb/tributary/sql/jsonpath"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

var signs = map[path.Kind]string{path.Add: "+", path.Sub: "-", path.Mul: "*", path.Div: "/", path.Mod: "%", path.Plus: "+", path.Minus: "-"}

func (r *run) binary(n *path.Node, v types.JSONValue) error {
	var ops [2]types.Decimal
	for i, side := range []*path.Node{n.L, n.R} {
		items, err := r.sub(side, v, true)
		if err != nil {
			return err
		}
		if len(items) != 1 || items[0].Kind != types.JSONNumber {
			return pgerr.New(pgerr.SingletonSQLJSONItemRequired, "%s operand of jsonpath operator %s is not a single numeric value",
				[]string{"left", "right"}[i], signs[n.Kind])
		}
		ops[i] = items[0].Num
	}
	apply := map[path.Kind]func(a, b types.Decimal) (types.Decimal, error){
		path.Add: types.Decimal.Add, path.Sub: types.Decimal.Sub, path.Mul: types.Decimal.Mul, path.Div: types.Decimal.Div, path.Mod: types.Decimal.Mod,
	}[n.Kind]
	d, err := apply(ops[0], ops[1])
	if err != nil {
		return err
	}
	return r.next(n, types.JSONNum(d))
}

func (r *run) sign(n *path.Node, v types.JSONValue) error {
	items, err := r.sub(n.L, v, true)
	if err != nil {
		return err
	}
	for _, x := range items {
		if x.Kind != types.JSONNumber {
			return pgerr.New(pgerr.SQLJSONNumberNotFound, "operand of unary jsonpath operator %s is not a numeric value", signs[n.Kind])
		}
		if n.Kind == path.Minus {
			x = types.JSONNum(x.Num.Neg())
		}
		if err := r.next(n, x); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) method(n *path.Node, v types.JSONValue, unwrap bool) error {
	switch n.Text {
	case "type":
		return r.next(n, types.JSONStr(v.TypeOf()))
	case "size":
		size := 1
		if v.Kind == types.JSONArray {
			size = len(v.Elems)
		} else if !r.forgiving {
			return pgerr.New(pgerr.SQLJSONArrayNotFound, "jsonpath item method .size() can only be applied to an array")
		}
		return r.next(n, types.JSONNum(types.DecimalFromInt64(int64(size), 0)))
	}
	if v.Kind == types.JSONArray && unwrap {
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
	if v.Kind != types.JSONNumber {
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
	return r.next(n, types.JSONNum(d))
}

// double reads strings as numbers, and numbers as what a float8 keeps.
func (r *run) double(n *path.Node, v types.JSONValue) error {
	var text string
	switch v.Kind {
	case types.JSONNumber:
		text = v.Num.String()
	case types.JSONString:
		text = v.Str
	default:
		return pgerr.New(pgerr.NonNumericSQLJSONItem, "jsonpath item method .double() can only be applied to a string or numeric value")
	}
	f, err := types.ParseFloat(64, text)
	if err != nil || strings.ContainsAny(strings.ToLower(text), "in") { // inf and NaN
		what := map[types.JSONKind]string{types.JSONNumber: "numeric", types.JSONString: "string"}[v.Kind]
		return pgerr.New(pgerr.NonNumericSQLJSONItem, "%s argument of jsonpath item method .double() is out of range for type double precision", what)
	}
	if v.Kind == types.JSONNumber {
		return r.next(n, v)
	}
	return r.next(n, types.JSONNum(types.DecimalFromFloat64(f)))
}

// keyvalue makes an object of each member. The id tells the objects of one
// evaluation apart; the root's is 0.
func (r *run) keyvalue(n *path.Node, v types.JSONValue) error {
	if v.Kind != types.JSONObject {
		return pgerr.New(pgerr.SQLJSONObjectNotFound, "jsonpath item method .keyvalue() can only be applied to an object")
	}
	id := r.objects
	r.objects++
	for i, k := range v.Keys {
		kv := types.JSONObj([]string{"id", "key", "value"}, []types.JSONValue{
			types.JSONNum(types.DecimalFromInt64(id, 0)), types.JSONStr(k), v.Elems[i]})
		if err := r.next(n, kv); err != nil {
			return err
		}
	}
	return nil
}
