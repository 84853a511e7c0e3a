package cast

import (
	"math"

	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/function/mathfn"
	"github.com/tributarydb/tributary/exec/function/textfn"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// chain runs one conversion after the other.
func chain(mid types.Type, first, second function.Impl) function.Impl {
	if first == nil {
		return second
	}
	if second == nil {
		return first
	}
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		c1 := *c
		c1.Ret = mid
		v, err := first(&c1, args)
		if err != nil {
			return nil, err
		}
		c2 := *c
		c2.Types = []types.Type{mid}
		c2.Valid = vector.AndBits(c.Arena, c.Valid, v.Valid, c.N)
		return second(&c2, []*vector.Vec{v})
	}
}

// Between returns the conversion between two types; nil where values of both have
// the same representation and all of them are valid for to.
func Between(from, to types.Type, explicit bool) (function.Impl, error) {
	base := to
	base.Mod = -1
	if base.OID == types.NumericOID && to.Mod >= 0 {
		// apply the modifier first, then convert to the physical type
		base.Prec, base.Scale = 0, 0
		conv, err := convertTypes(from, base, explicit)
		if err != nil {
			return nil, err
		}
		if from.OID == types.NumericOID && from.IsFixed() && to.IsFixed() {
			return fixedToFixed(from, to), nil
		}
		if from.OID == types.NumericOID {
			return modCast(to, explicit), nil
		}
		if from.IsInteger() && to.IsFixed() {
			return intToFixed(from, to), nil
		}
		return chain(base, conv, modCast(to, explicit)), nil
	}
	if from.IsInteger() && textfn.IsBit(to) && to.Mod > 0 {
		return textfn.IntToBit(from, int(to.Mod)), nil
	}
	if from.IsCharacters() && to.OID == types.BitOID && to.Mod > 0 && explicit {
		return bitParse(to), nil
	}
	conv, err := convertTypes(from, base, explicit)
	if err != nil {
		return nil, err
	}
	if to.Mod >= 0 && !(from.OID == to.OID && from.Mod == to.Mod) {
		return chain(base, conv, modCast(to, explicit)), nil
	}
	return conv, nil
}

// modCast applies the modifier of a type to values of that type.
func modCast(to types.Type, explicit bool) function.Impl {
	switch to.Form() {
	case vector.Str:
		return function.Try1(func(c *function.Call, s string) (string, error) {
			d, err := types.ApplyMod(to, s, explicit)
			if err != nil {
				return "", err
			}
			return d.(string), nil
		})
	}
	if to.OID == types.NumericOID {
		return function.Try1(func(c *function.Call, d number.Decimal) (number.Decimal, error) {
			r, err := types.ApplyMod(to, d, explicit)
			if err != nil {
				return number.Decimal{}, err
			}
			return r.(number.Decimal), nil
		})
	}
	return function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		return types.ApplyMod(to, a[0], explicit)
	})
}

// asIs is a conversion that changes nothing but the type.
func asIs(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	v := *args[0]
	v.Arr = nil
	return &v, nil
}

func convertTypes(from, to types.Type, explicit bool) (function.Impl, error) {
	f, t := from.Class(), to.Class()
	switch {
	case f == t && f == types.ClassNumeric:
		return numericPhysicalType(from, to), nil
	case f == t && f == types.ClassRecord:
		return recordCast(from, to, explicit)
	case from.IsArray() && to.IsArray():
		return arrayCast(from, to, explicit)
	case from.OID == to.OID:
		return nil, nil
	case to.Form() == vector.Null:
		return func(c *function.Call, _ []*vector.Vec) (*vector.Vec, error) { return vector.NewNull(c.N), nil }, nil
	case (f == t && f >= types.ClassBits || from.OID.General() == to.OID.General()) && from.Form() == to.Form():
		if narrow := to.Narrow(); narrow != nil {
			return function.Loose(func(_ *function.Call, a []types.Datum) (types.Datum, error) { return narrow(a[0]), nil }), nil
		}
		return nil, nil
	case textfn.IsBit(from) && to.IsInteger():
		return textfn.BitToInt(to), nil
	case from.IsInteger() && textfn.IsBit(to):
		return textfn.IntToBit(from, 1), nil
	case from.IsCharacters() && to.IsCharacters():
		return stringCast(from, to), nil
	case f == types.ClassChar && to.IsCharacters():
		return function.Strict1(types.CharText), nil
	case from.IsCharacters() && t == types.ClassChar:
		return function.Strict1(types.ParseChar), nil
	case f == types.ClassChar && to.IsInteger():
		return function.Strict1(func(s string) int64 {
			if s == "" {
				return 0
			}
			return int64(int8(s[0]))
		}), nil
	case from.IsInteger() && t == types.ClassChar:
		return function.Try1(func(_ *function.Call, v int64) (string, error) {
			if v < math.MinInt8 || v > math.MaxInt8 {
				return "", pgerr.New(pgerr.NumericValueOutOfRange, "\"char\" out of range")
			}
			return types.CharOf(byte(v)), nil
		}), nil
	case f == types.ClassJSON && t == types.ClassJSONB:
		return function.Try1(func(c *function.Call, s string) (string, error) {
			c.Parsing(types.JSONB, s)
			return json.CanonicalJSONB(s)
		}), nil
	case f == types.ClassJSONB && t == types.ClassJSON:
		return nil, nil
	case f == types.ClassJSONB && (t == types.ClassBool || to.IsNumber()):
		return jsonbCast(to)
	case from.IsCharacters() || (f == types.ClassJSON || f == types.ClassJSONB) && to.IsCharacters():
		if to.IsCharacters() {
			return nil, nil
		}
		return parseCast(to), nil
	}
	if n := numberCast(from, to); n != nil {
		return n, nil
	}
	if d := dateCasts[[2]types.Class{from.Class(), to.Class()}]; d != nil {
		return d, nil
	}
	if from.Form() == vector.U32 && to.Form() == vector.U32 {
		return nil, nil
	}
	if to.IsCharacters() {
		return textCast(from, to), nil
	}
	if from.Form() == vector.Str {
		return parseCast(to), nil
	}
	return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", from, to)
}

// parseCast reads values from their text.
func parseCast(to types.Type) function.Impl {
	if to.OID >= types.FirstUserOID {
		if to.IsArray() {
			return enumArrayParse(to)
		}
		return enumParse(to)
	}
	if to.OID == types.JSONOID {
		return function.Check(func(c *function.Call, s string) error {
			c.Parsing(types.JSON, s)
			return json.Valid(s)
		})
	}
	if to.IsArray() {
		return arrayParse(to)
	}
	if quick := quickParse(to); quick != nil {
		return quick
	}
	switch to.Form() {
	case vector.Str:
		return parseAs[string](to)
	case vector.Bool:
		return parseAs[bool](to)
	case vector.I16, vector.I32, vector.U32:
		return parseAs[int64](to)
	case vector.I64:
		if to.OID != types.NumericOID {
			return parseAs[int64](to)
		}
		return parseAs[number.Decimal](to)
	case vector.F32, vector.F64:
		return parseAs[float64](to)
	}
	return parseAs[types.Datum](to)
}

// quickParse reads numbers, dates and timestamps without a datum between, and dates in their common form without fields;
// nil for other types.
func quickParse(to types.Type) function.Impl {
	general := func(c *function.Call, s string) (int64, error) {
		c.Parsing(to, s)
		d, err := types.ParseText(to, s, c.Env.TypesEnv())
		if err != nil {
			return 0, err
		}
		return d.(int64), nil
	}
	iso := func(read func(s string) (int64, bool)) function.Impl {
		return function.Try1(func(c *function.Call, s string) (int64, error) {
			if v, ok := read(s); ok {
				return v, nil
			}
			return general(c, s)
		})
	}
	integer := func(bits int) function.Impl {
		return function.Try1(func(_ *function.Call, s string) (int64, error) { return number.ParseInt(bits, s) })
	}
	float := func(bits int) function.Impl {
		return function.Try1(func(_ *function.Call, s string) (float64, error) { return number.ParseFloat(bits, s) })
	}
	switch {
	case to.Mod >= 0 || to.Prec > 0:
		return nil
	case to.OID == types.DateOID:
		return iso(datetime.ISODate)
	case to.OID == types.TimestampOID:
		return iso(datetime.ISOTimestamp)
	case to.OID == types.Int2OID:
		return integer(16)
	case to.OID == types.Int4OID:
		return integer(32)
	case to.OID == types.Int8OID:
		return integer(64)
	case to.OID == types.Float4OID:
		return float(32)
	case to.OID == types.Float8OID:
		return float(64)
	case to.OID == types.NumericOID:
		return function.Try1(func(c *function.Call, s string) (number.Decimal, error) {
			c.Parsing(to, s)
			return number.ParseDecimal(s)
		})
	}
	return nil
}

func parseAs[T any](to types.Type) function.Impl {
	plain := to
	plain.Prec, plain.Scale = 0, 0
	return function.Try1(func(c *function.Call, s string) (T, error) {
		c.Parsing(plain, s)
		d, err := types.ParseText(plain, s, c.Env.TypesEnv())
		if err == nil && to.Prec > 0 {
			d, err = types.ApplyMod(to, d, true)
		}
		if err != nil {
			var z T
			return z, err
		}
		x, ok := d.(T)
		if !ok {
			return x, vector.BadDatum(to, d)
		}
		return x, nil
	})
}

// textCast returns the text of values.
func textCast(from, to types.Type) function.Impl {
	clip, text := to.OID == types.NameOID, types.AppendShown
	if clip {
		text = types.AppendText
	}
	if from.IsInteger() || from.IsFixed() {
		return integerText(from)
	}
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		env := c.Env.TypesEnv()
		var buf []byte
		v := args[0]
		return function.Each(c, func(i int) (string, error) {
			c.Boxed(v, i)
			d := v.Datum(from, i)
			if n := function.OutputBytes(from, d); n > cap(buf) {
				c.Meter().Charge(int64(n))
			}
			buf = text(buf[:0], from, d, env)
			s := vector.BytesString(buf)
			if clip {
				s = types.TruncateName(s)
			}
			return s, nil
		})
	}
}

// integerText is textCast of integers and fixed numerics, without a datum for each.
func integerText(from types.Type) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		v := vector.IntReader(args[0])
		if from.Scale == 0 {
			return textfn.Digits(c, v)
		}
		var buf []byte
		return function.Each(c, func(i int) (string, error) {
			buf = number.DecimalFromInt64(v(i), int32(from.Scale)).AppendText(buf[:0])
			return vector.BytesString(buf), nil
		})
	}
}

func stringCast(from, to types.Type) function.Impl {
	blanks, name := from.OID == types.BpcharOID, to.OID == types.NameOID
	switch {
	case name && blanks:
		return function.Strict1(func(s string) string { return types.TrimBlanks(types.TruncateName(s)) })
	case name:
		return function.Strict1(types.TruncateName)
	case blanks && to.IsText() && to.OID != from.OID:
		return trimmed
	}
	return nil
}

var trimRows = function.Strict1(types.TrimBlanks[string])

// trimmed is TrimBlanks of a column, which is the column itself where no value ends in
// a blank.
func trimmed(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	v := args[0]
	if v.Kind != vector.Str {
		return trimRows(c, args)
	}
	for i, end := range v.Off[1 : v.Stored()+1] {
		if end > v.Off[i] && v.Data[end-1] == ' ' {
			return trimRows(c, args)
		}
	}
	return asIs(c, args)
}

// numberCast converts among integers, floats, numeric, bool and oids.
func numberCast(from, to types.Type) function.Impl {
	kf, kt := from.Form(), to.Form()
	switch {
	case from.IsInteger() && to.IsInteger():
		if kt > kf {
			return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
				return widen(c.Arena, args[0], kt), nil
			}
		}
		return strict1range(to)
	case from.IsInteger() && kt == vector.F64:
		return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
			return compare.WidenFloat(c.Arena, args[0]), nil
		}
	case from.IsInteger() && to.IsFloat():
		return function.Strict1(func(v int64) float64 { return float64(float32(v)) })
	case from.IsFloat() && to.IsFloat():
		if kt == vector.F64 {
			return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
				return compare.WidenFloat(c.Arena, args[0]), nil
			}
		}
		return function.Try1(func(_ *function.Call, v float64) (float64, error) {
			f := float32(v)
			if math.IsInf(float64(f), 0) && !math.IsInf(v, 0) {
				return 0, mathfn.ErrFloatOver()
			}
			if f == 0 && v != 0 {
				return 0, mathfn.ErrFloatUnder()
			}
			return float64(f), nil
		})
	case from.IsFloat() && to.IsInteger():
		least, _, _ := to.IntRange()
		lo, hi := float64(least), -float64(least)
		return function.Try1(func(c *function.Call, v float64) (int64, error) {
			v = math.RoundToEven(v)
			if !(v >= lo && v < hi) {
				return 0, vector.ErrRange(to)
			}
			return int64(v), nil
		})
	case from.IsInteger() && to.Class() == types.ClassNumeric:
		if to.IsFixed() {
			return intToFixed(from, to)
		}
		return function.Strict1(func(v int64) number.Decimal { return number.DecimalFromInt64(v, 0) })
	case from.Class() == types.ClassNumeric && to.IsInteger():
		return numericToInt(from, to)
	case from.IsFloat() && to.Class() == types.ClassNumeric:
		single := kf == vector.F32
		return function.Try1(func(c *function.Call, v float64) (number.Decimal, error) {
			d := number.DecimalFromFloat64(v)
			if single {
				d = number.DecimalFromFloat32(float32(v))
			}
			if to.Prec > 0 {
				d = d.Round(int32(to.Scale))
			}
			return d, nil
		})
	case from.Class() == types.ClassNumeric && to.IsFloat():
		return numericToFloat(from, to)
	case kf == vector.Bool && to.IsInteger():
		return boolToInt
	case from.IsInteger() && kt == vector.Bool:
		return function.Strict1(func(v int64) bool { return v != 0 })
	case from.IsInteger() && to.Form() == vector.U32:
		if from.OID == types.Int8OID {
			return function.Try1(func(_ *function.Call, v int64) (int64, error) {
				if v < 0 || v > math.MaxUint32 {
					return 0, vector.ErrRange(types.Oid)
				}
				return v, nil
			})
		}
		return function.Strict1(func(v int64) int64 { return int64(uint32(int32(v))) })
	case from.Form() == vector.U32 && to.IsInteger():
		if to.OID == types.Int8OID {
			return function.Strict1(func(v int64) int64 { return v })
		}
		return function.Strict1(func(v int64) int64 { return int64(int32(uint32(v))) })
	}
	return nil
}

// strict1range narrows integers; a value beyond the target's range is 22003.
func strict1range(to types.Type) function.Impl {
	return function.Try1(func(_ *function.Call, v int64) (int64, error) { return v, nil })
}

func widen(a *vector.Arena, v *vector.Vec, k vector.Kind) *vector.Vec {
	if k == vector.I32 && v.Kind == vector.I16 {
		return compare.Convert[int16, int32](a, v, vector.I32)
	}
	return compare.WidenInt(a, v)
}

// intToFixed multiplies by the target's scale.
func intToFixed(from, to types.Type) function.Impl {
	m := mathfn.Pow10[to.Scale]
	limit := mathfn.Pow10[to.Prec-to.Scale]
	visible := to.Mod >= 0
	one := function.Try1(func(c *function.Call, v int64) (number.Decimal, error) {
		if v >= limit || v <= -limit {
			if visible {
				return number.FitNumeric(to.Mod, number.DecimalFromInt64(v, 0))
			}
			return number.Decimal{}, pgerr.New(pgerr.NumericValueOutOfRange, "numeric field overflow")
		}
		return number.DecimalFromInt64(v*m, int32(to.Scale)), nil
	})
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		v := compare.WidenInt(c.Arena, args[0])
		if v.Kind != vector.I64 {
			return one(c, args)
		}
		vals, out := vector.Values[int64](v), vector.Alloc[int64](c.Arena, c.N)
		large := false
		for i, x := range vals[:c.N] {
			large = large || x >= limit || x <= -limit
			out[i] = x * m
		}
		if large { // or an arbitrary value in a row that is NULL
			return one(c, args)
		}
		return vector.NewFixed(vector.I64, out, c.Valid), nil
	}
}

func numericToInt(from, to types.Type) function.Impl {
	if from.IsFixed() {
		slow := function.Try1(func(c *function.Call, d number.Decimal) (int64, error) {
			v, _ := d.Coefficient(int32(from.Scale))
			return mathfn.Rescale(v, from.Scale, 0), nil
		})
		return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
			var out *vector.Vec
			switch {
			case args[0].One:
			case to.OID == types.Int8OID:
				out = fixedToInt[int64](c, args[0], from.Scale, vector.I64)
			case to.OID == types.Int4OID:
				out = fixedToInt[int32](c, args[0], from.Scale, vector.I32)
			case to.OID == types.Int2OID:
				out = fixedToInt[int16](c, args[0], from.Scale, vector.I16)
			}
			if out == nil {
				return slow(c, args)
			}
			return out, nil
		}
	}
	name := to.String()
	return function.Try1(func(c *function.Call, d number.Decimal) (int64, error) {
		switch {
		case d.IsNaN():
			return 0, pgerr.New(pgerr.FeatureNotSupported, "cannot convert NaN to %s", name)
		case !d.IsFinite():
			return 0, pgerr.New(pgerr.FeatureNotSupported, "cannot convert infinity to %s", name)
		}
		v, ok := d.Round(0).Int64()
		if !ok {
			return 0, vector.ErrRange(to)
		}
		return v, nil
	})
}

// boolToInt is 1 for true, 0 for false.
func boolToInt(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	v := args[0]
	if v.One || v.Kind != vector.Bool || c.Ret.OID != types.Int4OID {
		return boolToAny(c, args)
	}
	c.Meter().Poll(c.N * vector.RowWork)
	out := vector.Alloc[int32](c.Arena, c.N)
	for i, b := range vector.Values[uint8](v)[:c.N] {
		out[i] = int32(b)
	}
	return vector.NewFixed(vector.I32, out, c.Valid), nil
}

var boolToAny = function.Strict1(func(b bool) int64 { return int64(vector.ByteOf(b)) })

// fixedToInt rounds fixed numerics to integers; nil where one that counts does not fit.
func fixedToInt[T int16 | int32 | int64](c *function.Call, v *vector.Vec, scale uint8, k vector.Kind) *vector.Vec {
	c.Meter().Poll(c.N * vector.RowWork)
	src, out := vector.Values[int64](v), vector.Alloc[T](c.Arena, c.N)
	for i, x := range src[:c.N] {
		if scale > 0 {
			x = mathfn.Rescale(x, scale, 0)
		}
		if out[i] = T(x); int64(out[i]) != x && !c.Skip(i) {
			return nil
		}
	}
	return vector.NewFixed(k, out, c.Valid)
}

func numericToFloat(from, to types.Type) function.Impl {
	single := to.OID == types.Float4OID
	if from.IsFixed() && from.Prec <= 15 && !single {
		// both exact in a float64, so their quotient is correctly rounded
		p := float64(mathfn.Pow10[from.Scale])
		return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
			src := vector.Values[int64](args[0])
			out := vector.Alloc[float64](c.Arena, len(src))
			for i, v := range src {
				out[i] = float64(v) / p
			}
			return vector.NewFixed(vector.F64, out, c.Valid), nil
		}
	}
	return function.Try1(func(c *function.Call, d number.Decimal) (float64, error) {
		f := d.Float64()
		if math.IsInf(f, 0) && d.IsFinite() {
			return 0, pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type %s", d, to)
		}
		if single {
			g := float32(f)
			if math.IsInf(float64(g), 0) && d.IsFinite() {
				return 0, pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type real", d)
			}
			if g == 0 && d.Sign() != 0 {
				return 0, pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type real", d)
			}
			f = float64(g)
		}
		return f, nil
	})
}

// numericPhysicalType changes the physical type of a numeric, not its value.
func numericPhysicalType(from, to types.Type) function.Impl {
	switch {
	case from.Prec == to.Prec && from.Scale == to.Scale:
		return nil
	case from.IsFixed() && to.IsFixed() && from.Scale == to.Scale && to.Prec >= from.Prec:
		return asIs
	case from.IsFixed() && to.IsFixed() && to.Scale >= from.Scale && int(to.Prec)-int(to.Scale) >= int(from.Prec)-int(from.Scale):
		return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
			v := *mathfn.Scaled(c, args[0], from.Scale, to.Scale)
			v.Arr = nil
			return &v, nil
		}
	}
	return function.Try1(func(c *function.Call, d number.Decimal) (number.Decimal, error) {
		if to.IsFixed() {
			r := d.Round(int32(to.Scale))
			if v, ok := r.Coefficient(int32(to.Scale)); !ok || v >= limitOf(to) || v <= -limitOf(to) {
				return d, pgerr.New(pgerr.NumericValueOutOfRange, "numeric field overflow")
			}
			return r, nil
		}
		return d, nil
	})
}

func limitOf(t types.Type) int64 {
	if int(t.Prec) >= len(mathfn.Pow10) {
		return math.MaxInt64
	}
	return mathfn.Pow10[t.Prec]
}

// fixedToFixed applies numeric(p,s) to a fixed numeric.
func fixedToFixed(from, to types.Type) function.Impl {
	if from.Scale == to.Scale && from.Prec <= to.Prec {
		return asIs
	}
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		limit := limitOf(to)
		src := vector.Values[int64](args[0])
		out := vector.Alloc[int64](c.Arena, len(src))
		for i, v := range src {
			r := int64(0)
			if to.Scale >= from.Scale {
				hi, lo := mathfn.Mul128(v, mathfn.Pow10[to.Scale-from.Scale])
				r = lo
				if hi != lo>>63 {
					r = math.MaxInt64
				}
			} else {
				r = mathfn.Rescale(v, from.Scale, to.Scale)
			}
			if r >= limit || r <= -limit {
				if c.Skip(i) {
					r = 0
				} else {
					_, err := number.FitNumeric(to.Mod, number.DecimalFromInt64(v, int32(from.Scale)))
					if err != nil {
						return nil, err
					}
				}
			}
			out[i] = r
		}
		return vector.NewFixed(vector.I64, out, c.Valid), nil
	}
}

// jsonbCast reads a scalar of jsonb.
func jsonbCast(to types.Type) (function.Impl, error) {
	num, err := convertTypes(types.Numeric, to, true)
	if err != nil && to.OID != types.BoolOID {
		return nil, err
	}
	fail := func(what string) error {
		return pgerr.New(pgerr.InvalidParameterValue, "cannot cast jsonb %s to type %s", what, to)
	}
	check := func(s string, want json.Kind) (json.Value, error) {
		v, err := json.ParseJSONB(s)
		if err != nil {
			return v, err
		}
		if v.Kind != want {
			return v, fail(v.TypeOf())
		}
		return v, nil
	}
	if to.OID == types.BoolOID {
		return function.Try1(func(_ *function.Call, s string) (bool, error) {
			v, err := check(s, json.Bool)
			return v.Bool, err
		}), nil
	}
	first := function.Try1(func(_ *function.Call, s string) (number.Decimal, error) {
		v, err := check(s, json.Number)
		return v.Num, err
	})
	return chain(types.Numeric, first, num), nil
}
