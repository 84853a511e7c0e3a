package userfn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// maxNested is how deep JSON and lists may be nested that come in or go out.
const maxNested = 200

// toValue is a value of SQL as a function sees it.
//
//	bool → bool     int → int      float → float    numeric → decimal    text → string    bytea → bytes
//	date, timestamp → moment       arrays → list    json → dict, list …  others → string: their text
func toValue(t types.Type, d types.Datum, env *types.Env) (starlark.Value, error) {
	if d == nil {
		return starlark.None, nil
	}
	switch t.Class() {
	case types.ClassJSON, types.ClassJSONB:
		return fromJSON(string(types.AppendText(nil, t, d, env)))
	case types.ClassDate, types.ClassTimestamp, types.ClassTimestamptz:
		us, finite := d.(int64), true
		if t.OID == types.DateOID {
			if finite = !datetime.IsInfDate(us); finite {
				us *= 86400 * 1_000_000
			}
		} else {
			finite = !datetime.IsInfTimestamp(us)
		}
		if finite {
			return moment{t: t, d: d, time: time.UnixMicro(us).UTC(), env: env}, nil
		}
	}
	switch v := d.(type) {
	case bool:
		return starlark.Bool(v), nil
	case int64:
		switch t.Class() {
		case types.ClassInteger, types.ClassObject:
			return starlark.MakeInt64(v), nil
		}
	case float64:
		return starlark.Float(v), nil
	case string:
		if t.IsString() || t.OID == types.TextOID {
			return starlark.String(v), nil
		}
	case []byte:
		return starlark.Bytes(v), nil
	case number.Decimal:
		return decimal{v}, nil
	case types.Array:
		list := make([]starlark.Value, len(v.Elems))
		for i, e := range v.Elems {
			x, err := toValue(v.Elem, e, env)
			if err != nil {
				return nil, err
			}
			list[i] = x
		}
		return starlark.NewList(list), nil
	}
	return starlark.String(types.AppendText(nil, t, d, env)), nil
}

// toDatum is what a function returns as a value of its type.
func toDatum(t types.Type, v starlark.Value, env *types.Env, depth int) (types.Datum, error) {
	if depth > maxNested {
		return nil, mismatch(t, v)
	}
	switch t.Class() {
	case types.ClassJSON, types.ClassJSONB:
		if v == starlark.None {
			return nil, nil
		}
		var b bytes.Buffer
		if err := toJSON(&b, v, 0); err != nil {
			return nil, err
		}
		return types.ParseText(t, b.String(), env)
	}
	if t.Form() == types.FormNull {
		return nil, nil
	}
	if el, ok := t.Elem(); ok {
		var it starlark.Indexable
		switch v := v.(type) {
		case *starlark.List:
			it = v
		case starlark.Tuple:
			it = v
		case starlark.String:
			return types.ParseText(t, string(v), env)
		}
		if it != nil {
			a := types.Array{Elem: el, Elems: make([]types.Datum, it.Len())}
			for i := range a.Elems {
				d, err := toDatum(el, it.Index(i), env, depth+1)
				if err != nil {
					return nil, err
				}
				a.Elems[i] = d
			}
			return a, nil
		}
	}
	switch x := v.(type) {
	case starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		if t.OID == types.BoolOID {
			return bool(x), nil
		}
	case starlark.Int:
		switch t.Class() {
		case types.ClassInteger, types.ClassObject:
			return toInt(t, x)
		case types.ClassFloat:
			return float64(x.Float()), nil
		case types.ClassNumeric:
			return number.DecimalFromBig(x.BigInt(), 0), nil
		}
	case starlark.Float:
		f := float64(x)
		switch t.Class() {
		case types.ClassFloat:
			if t.Form() == types.FormFloat64 {
				return f, nil
			}
			if f32 := float64(float32(f)); math.IsInf(f32, 0) && !math.IsInf(f, 0) {
				return nil, pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
			}
			return float64(float32(f)), nil
		case types.ClassNumeric:
			return number.DecimalFromFloat64(f), nil
		case types.ClassInteger:
			if f == math.Trunc(f) && !math.IsInf(f, 0) {
				i, err := starlark.NumberToInt(x)
				if err != nil {
					return nil, err
				}
				return toInt(t, i)
			}
		}
	case decimal:
		switch t.Class() {
		case types.ClassNumeric:
			return x.d, nil
		case types.ClassFloat:
			return x.d.Float64(), nil
		case types.ClassInteger:
			if i, ok := x.d.Int64(); ok && number.DecimalFromInt64(i, 0).Cmp(x.d) == 0 {
				return toInt(t, starlark.MakeInt64(i))
			}
		}
	case starlark.Bytes:
		if t.OID == types.ByteaOID {
			return []byte(x), nil
		}
	case moment:
		if t.OID == x.t.OID {
			return x.d, nil
		}
		return types.ParseText(t, x.String(), env)
	case starlark.String:
		return types.ParseText(t, string(x), env)
	}
	if t.IsString() || t.OID == types.TextOID {
		if printed(v, 0) > 1<<30 {
			return nil, mismatch(t, v)
		}
		return types.ParseText(t, v.String(), env)
	}
	return nil, mismatch(t, v)
}

func mismatch(t types.Type, v starlark.Value) error {
	return pgerr.New(pgerr.DatatypeMismatch, "the function returned a value of Starlark type %s, which is no %s", v.Type(), t)
}

func toInt(t types.Type, x starlark.Int) (types.Datum, error) {
	i, ok := x.Int64()
	bits := map[types.OID]uint{types.Int2OID: 16, types.Int4OID: 32, types.Int8OID: 64}[t.OID]
	if bits == 0 {
		bits = 64
	}
	if !ok || i<<(64-bits)>>(64-bits) != i {
		return nil, pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", t)
	}
	return i, nil
}

// fromJSON reads JSON; numbers are ints where they are whole.
func fromJSON(s string) (starlark.Value, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var read func(depth int) (starlark.Value, error)
	read = func(depth int) (starlark.Value, error) {
		if depth > maxNested {
			return nil, pgerr.New(pgerr.ProgramLimitExceeded, "JSON is nested deeper than %d levels", maxNested)
		}
		tok, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch x := tok.(type) {
		case nil:
			return starlark.None, nil
		case bool:
			return starlark.Bool(x), nil
		case string:
			return starlark.String(x), nil
		case json.Number:
			if i, ok := new(big.Int).SetString(x.String(), 10); ok {
				return starlark.MakeBigInt(i), nil
			}
			f, err := strconv.ParseFloat(x.String(), 64)
			return starlark.Float(f), err
		case json.Delim:
			if x == '[' {
				l := starlark.NewList(nil)
				for d.More() {
					v, err := read(depth + 1)
					if err != nil {
						return nil, err
					}
					if err := l.Append(v); err != nil {
						return nil, err
					}
				}
				_, err := d.Token()
				return l, err
			}
			m := starlark.NewDict(0)
			for d.More() {
				k, err := d.Token()
				if err != nil {
					return nil, err
				}
				v, err := read(depth + 1)
				if err != nil {
					return nil, err
				}
				if err := m.SetKey(starlark.String(k.(string)), v); err != nil {
					return nil, err
				}
			}
			_, err := d.Token()
			return m, err
		}
		return nil, fmt.Errorf("%v is no JSON", tok)
	}
	return read(0)
}

// toJSON writes a value as JSON.
func toJSON(b *bytes.Buffer, v starlark.Value, depth int) error {
	if depth > maxNested || b.Len() > 1<<28 {
		return pgerr.New(pgerr.ProgramLimitExceeded, "the value is too large, or nested too deep, for JSON")
	}
	switch x := v.(type) {
	case starlark.NoneType:
		b.WriteString("null")
	case starlark.Bool:
		b.WriteString(strconv.FormatBool(bool(x)))
	case starlark.Int:
		b.WriteString(x.String())
	case starlark.Float:
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return pgerr.New(pgerr.InvalidTextRepresentation, "%s cannot be represented in JSON", x)
		}
		b.WriteString(strconv.FormatFloat(float64(x), 'g', -1, 64))
	case decimal:
		b.WriteString(x.d.String())
	case starlark.String:
		return quote(b, string(x))
	case moment:
		return quote(b, x.String())
	case *starlark.Dict:
		b.WriteByte('{')
		for i, it := range x.Items() {
			if i > 0 {
				b.WriteByte(',')
			}
			k, ok := starlark.AsString(it[0])
			if !ok {
				k = it[0].String()
			}
			if err := quote(b, k); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := toJSON(b, it[1], depth+1); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case starlark.Indexable:
		b.WriteByte('[')
		for i := range x.Len() {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := toJSON(b, x.Index(i), depth+1); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default:
		return pgerr.New(pgerr.DatatypeMismatch, "a Starlark value of type %s cannot be represented in JSON", v.Type())
	}
	return nil
}

func quote(b *bytes.Buffer, s string) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the line's end
	return nil
}

// decimal is a numeric.
type decimal struct{ d number.Decimal }

var (
	_ starlark.HasBinary  = decimal{}
	_ starlark.Comparable = decimal{}
	_ starlark.HasUnary   = decimal{}
)

func (x decimal) String() string       { return x.d.String() }
func (x decimal) Type() string         { return "decimal" }
func (x decimal) Freeze()              {}
func (x decimal) Truth() starlark.Bool { return x.d.Sign() != 0 }
func (x decimal) Hash() (uint32, error) {
	return starlark.String(x.d.HashKey(nil)).Hash()
}

func (x decimal) CompareSameType(op syntax.Token, y starlark.Value, _ int) (bool, error) {
	return ordered(op, x.d.Cmp(y.(decimal).d))
}

func ordered(op syntax.Token, c int) (bool, error) {
	switch op {
	case syntax.EQL:
		return c == 0, nil
	case syntax.NEQ:
		return c != 0, nil
	case syntax.LT:
		return c < 0, nil
	case syntax.LE:
		return c <= 0, nil
	case syntax.GT:
		return c > 0, nil
	case syntax.GE:
		return c >= 0, nil
	}
	return false, fmt.Errorf("unknown comparison %s", op)
}

func (x decimal) Unary(op syntax.Token) (starlark.Value, error) {
	switch op {
	case syntax.MINUS:
		return decimal{x.d.Neg()}, nil
	case syntax.PLUS:
		return x, nil
	}
	return nil, nil
}

func (x decimal) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	var o number.Decimal
	switch y := y.(type) {
	case decimal:
		o = y.d
	case starlark.Int:
		o = number.DecimalFromBig(y.BigInt(), 0)
	case starlark.Float:
		z := decimal{number.DecimalFromFloat64(float64(y))}
		return x.Binary(op, z, side)
	default:
		return nil, nil
	}
	a, b := x.d, o
	if side == starlark.Right {
		a, b = b, a
	}
	var r number.Decimal
	var err error
	switch op {
	case syntax.PLUS:
		r, err = a.Add(b)
	case syntax.MINUS:
		r, err = a.Sub(b)
	case syntax.STAR:
		r, err = a.Mul(b)
	case syntax.SLASH:
		r, err = a.Div(b)
	case syntax.SLASHSLASH:
		r, err = a.DivTrunc(b)
	case syntax.PERCENT:
		r, err = a.Mod(b)
	default:
		return nil, nil
	}
	return decimal{r}, err
}

// moment is a date or a timestamp.
type moment struct {
	t    types.Type
	d    types.Datum
	time time.Time // in UTC; of a timestamp without time zone as it is written
	env  *types.Env
}

var (
	_ starlark.HasAttrs   = moment{}
	_ starlark.Comparable = moment{}
	_ starlark.HasBinary  = moment{}
)

func (m moment) String() string       { return string(types.AppendText(nil, m.t, m.d, m.env)) }
func (m moment) Type() string         { return "moment" }
func (m moment) Freeze()              {}
func (m moment) Truth() starlark.Bool { return true }
func (m moment) Hash() (uint32, error) {
	return starlark.MakeInt64(m.time.UnixMicro()).Hash()
}

func (m moment) CompareSameType(op syntax.Token, y starlark.Value, _ int) (bool, error) {
	return ordered(op, m.time.Compare(y.(moment).time))
}

// Binary is the difference of two moments: days of dates, seconds of others.
func (m moment) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	o, ok := y.(moment)
	if !ok || op != syntax.MINUS {
		return nil, nil
	}
	if side == starlark.Right {
		m, o = o, m
	}
	us := m.time.UnixMicro() - o.time.UnixMicro()
	if m.t.OID == types.DateOID && o.t.OID == types.DateOID {
		return starlark.MakeInt64(us / (86400 * 1_000_000)), nil
	}
	return starlark.Float(float64(us) / 1e6), nil
}

var momentFields = []string{"day", "epoch", "hour", "iso", "microsecond", "minute", "month", "second", "weekday", "year", "yearday"}

func (m moment) AttrNames() []string { return momentFields }

func (m moment) Attr(name string) (starlark.Value, error) {
	t := m.time
	n := 0
	switch name {
	case "year":
		n = t.Year()
	case "month":
		n = int(t.Month())
	case "day":
		n = t.Day()
	case "hour":
		n = t.Hour()
	case "minute":
		n = t.Minute()
	case "second":
		n = t.Second()
	case "microsecond":
		n = t.Nanosecond() / 1000
	case "weekday": // of Python: Monday is 0
		n = (int(t.Weekday()) + 6) % 7
	case "yearday":
		n = t.YearDay()
	case "epoch":
		return starlark.Float(float64(t.UnixMicro()) / 1e6), nil
	case "iso":
		return starlark.String(m.String()), nil
	default:
		return nil, nil
	}
	return starlark.MakeInt(n), nil
}
