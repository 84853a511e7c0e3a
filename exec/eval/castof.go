package eval

import (
	"math"

	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// chain runs one conversion after the other.
func chain(mid types.Type, first, second impl) impl {
	if first == nil {
		return second
	}
	if second == nil {
		return first
	}
	return func(c *call, args []*vec) (*vec, error) {
		c1 := *c
		c1.ret = mid
		v, err := first(&c1, args)
		if err != nil {
			return nil, err
		}
		c2 := *c
		c2.types = []types.Type{mid}
		c2.valid = andBits(c.a, c.valid, v.valid, c.n)
		return second(&c2, []*vec{v})
	}
}

// castOf gives the conversion between two types; nil where values are carried
// alike and nothing needs checking.
func castOf(from, to types.Type, explicit bool) (impl, error) {
	base := to
	base.Mod = -1
	if base.OID == types.NumericOID && to.Mod >= 0 {
		// fit the modifier first, then bring to how the type is carried
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
		if isInt(from) && to.IsFixed() {
			return intToFixed(from, to), nil
		}
		return chain(base, conv, modCast(to, explicit)), nil
	}
	if isInt(from) && isBit(to) && to.Mod > 0 {
		return intToBit(from, int(to.Mod)), nil
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
func modCast(to types.Type, explicit bool) impl {
	switch kindOf(to) {
	case kStr:
		return try1(func(c *call, s string) (string, error) {
			d, err := types.ApplyMod(to, s, explicit)
			if err != nil {
				return "", err
			}
			return d.(string), nil
		})
	}
	if to.OID == types.NumericOID {
		return try1(func(c *call, d number.Decimal) (number.Decimal, error) {
			r, err := types.ApplyMod(to, d, explicit)
			if err != nil {
				return number.Decimal{}, err
			}
			return r.(number.Decimal), nil
		})
	}
	return loose(func(c *call, a []types.Datum) (types.Datum, error) { return types.ApplyMod(to, a[0], explicit) })
}

// asIs is a conversion that changes nothing but the type.
func asIs(c *call, args []*vec) (*vec, error) {
	v := *args[0]
	v.arr = nil
	return &v, nil
}

func isReg(t types.Type) bool { return kindOf(t) == kU32 }

// stringLike are the string types proper.
func stringLike(t types.Type) bool {
	switch t.OID {
	case types.TextOID, types.VarcharOID, types.BpcharOID, types.NameOID, types.UnknownOID, types.CstringOID, types.PgNodeTreeOID:
		return true
	}
	return false
}

func convertTypes(from, to types.Type, explicit bool) (impl, error) {
	f, t := from.OID, to.OID
	switch {
	case f == t && f == types.NumericOID:
		return numericCarriage(from, to), nil
	case f == t && f == types.RecordOID:
		return recordCast(from, to, explicit)
	case from.IsArray() && to.IsArray():
		return arrayCast(from, to, explicit)
	case f == t:
		return nil, nil
	case t == types.VoidOID:
		return func(c *call, _ []*vec) (*vec, error) { return nullVec(c.n), nil }, nil
	case isBit(from) && isBit(to):
		return nil, nil
	case isBit(from) && isInt(to):
		return bitToInt(to), nil
	case isInt(from) && isBit(to):
		return intToBit(from, 1), nil
	case stringLike(from) && stringLike(to):
		return stringCast(from, to), nil
	case f == types.CharOID && stringLike(to):
		return nil, nil
	case stringLike(from) && t == types.CharOID:
		return strict1(func(s string) string {
			if s == "" {
				return ""
			}
			return s[:1]
		}), nil
	case f == types.CharOID && t == types.Int4OID:
		return strict1(func(s string) int64 {
			if s == "" {
				return 0
			}
			return int64(int8(s[0]))
		}), nil
	case f == types.Int4OID && t == types.CharOID:
		return try1(func(_ *call, v int64) (string, error) {
			if v < math.MinInt8 || v > math.MaxInt8 {
				return "", pgerr.New(pgerr.NumericValueOutOfRange, "\"char\" out of range")
			}
			if v == 0 {
				return "", nil
			}
			return string([]byte{byte(v)}), nil
		}), nil
	case f == types.BoolOID && stringLike(to) && t != types.NameOID:
		return strict1(func(b bool) string {
			if b {
				return "true"
			}
			return "false"
		}), nil
	case f == types.JSONOID && t == types.JSONBOID:
		return try1(func(c *call, s string) (string, error) {
			c.parsing(types.JSONB, s)
			return json.CanonicalJSONB(s)
		}), nil
	case f == types.JSONBOID && t == types.JSONOID:
		return nil, nil
	case f == types.JSONBOID && (t == types.BoolOID || isInt(to) || isFloat(to) || t == types.NumericOID):
		return jsonbCast(to)
	case stringLike(from) || f == types.JSONOID && stringLike(to) || f == types.JSONBOID && stringLike(to):
		if stringLike(to) {
			return nil, nil
		}
		return parseCast(to), nil
	}
	if n := numberCast(from, to); n != nil {
		return n, nil
	}
	if d := datetimeCast(from, to); d != nil {
		return d, nil
	}
	if isReg(from) && isReg(to) {
		return nil, nil
	}
	if stringLike(to) {
		return textCast(from, to), nil
	}
	if kindOf(from) == kStr && f != types.RecordOID {
		return parseCast(to), nil
	}
	return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", from, to)
}

// parseCast reads values from their text.
func parseCast(to types.Type) impl {
	if to.OID >= types.FirstUserOID {
		if to.IsArray() {
			return enumArrayParse(to)
		}
		return enumParse(to)
	}
	switch kindOf(to) {
	case kStr:
		return parseAs[string](to)
	case kBool:
		return parseAs[bool](to)
	case kI16, kI32, kU32:
		return parseAs[int64](to)
	case kI64:
		if to.OID != types.NumericOID {
			return parseAs[int64](to)
		}
		return parseAs[number.Decimal](to)
	case kF32, kF64:
		return parseAs[float64](to)
	}
	return parseAs[types.Datum](to)
}

func parseAs[T any](to types.Type) impl {
	plain := to
	plain.Prec, plain.Scale = 0, 0
	return try1(func(c *call, s string) (T, error) {
		c.parsing(plain, s)
		d, err := types.ParseText(plain, s, c.env.types())
		if err == nil && to.Prec > 0 {
			d, err = types.ApplyMod(to, d, true)
		}
		if err != nil {
			var z T
			return z, err
		}
		x, ok := d.(T)
		if !ok {
			return x, badDatum(to, d)
		}
		return x, nil
	})
}

// textCast gives the text of values.
func textCast(from, to types.Type) impl {
	clip := to.OID == types.NameOID
	return func(c *call, args []*vec) (*vec, error) {
		env := c.env.types()
		var buf []byte
		v := args[0]
		return each(c, func(i int) (string, error) {
			c.boxed(v, i)
			d := v.datum(from, i)
			if n := outputBytes(from, d); n > cap(buf) {
				c.meter().charge(int64(n))
			}
			buf = types.AppendText(buf[:0], from, d, env)
			s := bytesString(buf)
			if clip {
				s = types.TruncateName(s)
			}
			return s, nil
		})
	}
}

func stringCast(from, to types.Type) impl {
	switch {
	case to.OID == types.NameOID && from.OID == types.BpcharOID:
		return strict1(func(s string) string { return types.TrimBlanks(types.TruncateName(s)) })
	case to.OID == types.NameOID:
		return strict1(types.TruncateName)
	case from.OID == types.BpcharOID && (to.OID == types.TextOID || to.OID == types.VarcharOID):
		return strict1(types.TrimBlanks[string])
	}
	return nil
}

// numberCast converts among integers, floats, numeric, bool and oids.
func numberCast(from, to types.Type) impl {
	kf, kt := kindOf(from), kindOf(to)
	switch {
	case isInt(from) && isInt(to):
		if kt > kf {
			return func(c *call, args []*vec) (*vec, error) { return widen(c.a, args[0], kt), nil }
		}
		return strict1range(to)
	case isInt(from) && isFloat(to):
		return strict1(func(v int64) float64 {
			if kt == kF32 {
				return float64(float32(v))
			}
			return float64(v)
		})
	case isFloat(from) && isFloat(to):
		if kt == kF64 {
			return func(c *call, args []*vec) (*vec, error) { return widenFloat(c.a, args[0]), nil }
		}
		return try1(func(_ *call, v float64) (float64, error) {
			f := float32(v)
			if math.IsInf(float64(f), 0) && !math.IsInf(v, 0) {
				return 0, errFloatOver()
			}
			if f == 0 && v != 0 {
				return 0, errFloatUnder()
			}
			return float64(f), nil
		})
	case isFloat(from) && isInt(to):
		lo, hi := float64(math.MinInt64), -float64(math.MinInt64)
		switch to.OID {
		case types.Int2OID:
			lo, hi = math.MinInt16, math.MaxInt16+1
		case types.Int4OID:
			lo, hi = math.MinInt32, math.MaxInt32+1
		}
		return try1(func(c *call, v float64) (int64, error) {
			v = math.RoundToEven(v)
			if !(v >= lo && v < hi) {
				return 0, errRange(to)
			}
			return int64(v), nil
		})
	case isInt(from) && to.OID == types.NumericOID:
		if to.IsFixed() {
			return intToFixed(from, to)
		}
		return strict1(func(v int64) number.Decimal { return number.DecimalFromInt64(v, 0) })
	case from.OID == types.NumericOID && isInt(to):
		return numericToInt(from, to)
	case isFloat(from) && to.OID == types.NumericOID:
		single := kf == kF32
		return try1(func(c *call, v float64) (number.Decimal, error) {
			d := number.DecimalFromFloat64(v)
			if single {
				d = number.DecimalFromFloat32(float32(v))
			}
			if to.Prec > 0 {
				d = d.Round(int32(to.Scale))
			}
			return d, nil
		})
	case from.OID == types.NumericOID && isFloat(to):
		return numericToFloat(from, to)
	case from.OID == types.BoolOID && isInt(to):
		return strict1(func(b bool) int64 { return int64(b2u(b)) })
	case isInt(from) && to.OID == types.BoolOID:
		return strict1(func(v int64) bool { return v != 0 })
	case isInt(from) && isReg(to):
		if from.OID == types.Int8OID {
			return try1(func(_ *call, v int64) (int64, error) {
				if v < 0 || v > math.MaxUint32 {
					return 0, errRange(types.Oid)
				}
				return v, nil
			})
		}
		return strict1(func(v int64) int64 { return int64(uint32(int32(v))) })
	case isReg(from) && isInt(to):
		if to.OID == types.Int8OID {
			return strict1(func(v int64) int64 { return v })
		}
		return strict1(func(v int64) int64 { return int64(int32(uint32(v))) })
	}
	return nil
}

// strict1range narrows integers, with the error of the target's range.
func strict1range(to types.Type) impl {
	return try1(func(_ *call, v int64) (int64, error) { return v, nil })
}

func widen(a *arena, v *vec, k kind) *vec {
	if k == kI32 && v.kind == kI16 {
		return convert[int16, int32](a, v, kI32)
	}
	return widenInt(a, v)
}

// intToFixed multiplies by the target's scale.
func intToFixed(from, to types.Type) impl {
	m := pow10[to.Scale]
	limit := pow10[to.Prec-to.Scale]
	visible := to.Mod >= 0
	return try1(func(c *call, v int64) (number.Decimal, error) {
		if v >= limit || v <= -limit {
			if visible {
				return number.FitNumeric(to.Mod, number.DecimalFromInt64(v, 0))
			}
			return number.Decimal{}, pgerr.New(pgerr.NumericValueOutOfRange, "numeric field overflow")
		}
		return number.DecimalFromInt64(v*m, int32(to.Scale)), nil
	})
}

func numericToInt(from, to types.Type) impl {
	if from.IsFixed() {
		return try1(func(c *call, d number.Decimal) (int64, error) {
			v, _ := d.Coefficient(int32(from.Scale))
			return rescale(v, from.Scale, 0), nil
		})
	}
	name := to.String()
	return try1(func(c *call, d number.Decimal) (int64, error) {
		switch {
		case d.IsNaN():
			return 0, pgerr.New(pgerr.FeatureNotSupported, "cannot convert NaN to %s", name)
		case !d.IsFinite():
			return 0, pgerr.New(pgerr.FeatureNotSupported, "cannot convert infinity to %s", name)
		}
		v, ok := d.Round(0).Int64()
		if !ok {
			return 0, errRange(to)
		}
		return v, nil
	})
}

func numericToFloat(from, to types.Type) impl {
	single := to.OID == types.Float4OID
	if from.IsFixed() && from.Prec <= 15 && !single {
		// both exact in a float64, so their quotient is correctly rounded
		p := float64(pow10[from.Scale])
		return func(c *call, args []*vec) (*vec, error) {
			src := vals[int64](args[0])
			out := alloc[float64](c.a, len(src))
			for i, v := range src {
				out[i] = float64(v) / p
			}
			return fixedVec(kF64, out, c.valid), nil
		}
	}
	return try1(func(c *call, d number.Decimal) (float64, error) {
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

// numericCarriage changes how a numeric is carried, not its value.
func numericCarriage(from, to types.Type) impl {
	switch {
	case from.Prec == to.Prec && from.Scale == to.Scale:
		return nil
	case from.IsFixed() && to.IsFixed() && from.Scale == to.Scale && to.Prec >= from.Prec:
		return asIs
	case from.IsFixed() && to.IsFixed() && to.Scale >= from.Scale && int(to.Prec)-int(to.Scale) >= int(from.Prec)-int(from.Scale):
		return func(c *call, args []*vec) (*vec, error) {
			v := *scaled(c, args[0], from.Scale, to.Scale)
			v.arr = nil
			return &v, nil
		}
	}
	return try1(func(c *call, d number.Decimal) (number.Decimal, error) {
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
	if int(t.Prec) >= len(pow10) {
		return math.MaxInt64
	}
	return pow10[t.Prec]
}

// fixedToFixed applies numeric(p,s) to a fixed numeric.
func fixedToFixed(from, to types.Type) impl {
	if from.Scale == to.Scale && from.Prec <= to.Prec {
		return asIs
	}
	return func(c *call, args []*vec) (*vec, error) {
		limit := limitOf(to)
		src := vals[int64](args[0])
		out := alloc[int64](c.a, len(src))
		for i, v := range src {
			r := int64(0)
			if to.Scale >= from.Scale {
				hi, lo := mul128(v, pow10[to.Scale-from.Scale])
				r = lo
				if hi != lo>>63 {
					r = math.MaxInt64
				}
			} else {
				r = rescale(v, from.Scale, to.Scale)
			}
			if r >= limit || r <= -limit {
				if c.skip(i) {
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
		return fixedVec(kI64, out, c.valid), nil
	}
}

// jsonbCast reads a scalar of jsonb.
func jsonbCast(to types.Type) (impl, error) {
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
		return try1(func(_ *call, s string) (bool, error) {
			v, err := check(s, json.Bool)
			return v.Bool, err
		}), nil
	}
	first := try1(func(_ *call, s string) (number.Decimal, error) {
		v, err := check(s, json.Number)
		return v.Num, err
	})
	return chain(types.Numeric, first, num), nil
}
