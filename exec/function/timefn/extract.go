package timefn

import (
	"math"
	"strings"
	"time"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// extract is extract(field FROM value): in a typed loop where the field is the same for all rows, is a whole
// number of some unit (datetime.Field), and no value is infinite.
func extract(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	vals, scale, ok := fieldOf(c, args)
	if !ok || c.Ret.IsFixed() && int32(c.Ret.Scale) != scale {
		return extractSlow(c, args)
	}
	if c.Ret.IsFixed() {
		return vector.NewFixed(vector.I64, vals, c.Valid), nil
	}
	out := &vector.Vec{Kind: vector.Bin, N: c.N, Valid: c.Valid}
	off := vector.Alloc[int32](c.Arena, c.N+1)
	data := vector.Alloc[byte](c.Arena, 8*c.N)[:0]
	for i := range c.N {
		off[i] = int32(len(data))
		if !c.Skip(i) {
			data = number.DecimalFromInt64(vals[i], scale).AppendBinary(data)
		}
	}
	off[c.N] = int32(len(data))
	out.Off, out.Data = off, data
	return out, nil
}

// dateTrunc is date_trunc(unit, timestamp), in a typed loop where the unit is the same for all rows and days are those of
// UTC.
func dateTrunc(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	loc := c.Env.Location()
	if c.Types[1].OID == types.TimestampOID {
		loc = time.UTC
	}
	if args[0].One && !args[1].One && loc == time.UTC {
		if trunc := truncationFor(c, args[0].Str(0)); trunc != nil {
			at, out, ok := vector.IntReader(args[1]), vector.Alloc[int64](c.Arena, c.N), true
			for i := 0; ok && i < c.N; i++ {
				if c.Skip(i) {
					continue
				}
				v := at(i)
				if out[i] = v; !datetime.IsInfTimestamp(v) {
					out[i], ok = trunc(v)
				}
			}
			if ok {
				return vector.NewFixed(vector.I64, out, c.Valid), nil
			}
		}
	}
	return dateTruncSlow(c, args)
}

// knownTruncation is what a call cut to last, with the days that it remembers.
type knownTruncation struct {
	unit string
	cut  func(int64) (int64, bool)
}

// truncationFor returns datetime.Truncation of a unit: that of the batch before where it is the same.
func truncationFor(c *function.Call, unit string) func(int64) (int64, bool) {
	if c.Memo == nil {
		return datetime.Truncation(unit)
	}
	k, ok := (*c.Memo).(*knownTruncation)
	if !ok || k.unit != unit {
		k = &knownTruncation{strings.Clone(unit), datetime.Truncation(unit)}
		*c.Memo = k
	}
	return k.cut
}

var dateTruncSlow = function.Try2(func(c *function.Call, unit string, v int64) (int64, error) {
	if c.Types[1].OID == types.TimestampOID {
		return datetime.DateTrunc(unit, v, nil)
	}
	return datetime.DateTrunc(unit, v, c.Env.Location())
})

var extractSlow = function.Datums(func(c *function.Call, a []types.Datum) (types.Datum, error) {
	v, ok, err := types.Extract(a[0].(string), c.Types[1], a[1], c.Env.Location())
	if err != nil || !ok {
		return nil, err
	}
	return v, nil
})

// datePart is date_part(field, value), in a loop likewise. A date is read as a timestamp, which has more
// fields.
func datePart(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	vals, scale, ok := fieldOf(c, args)
	if !ok {
		return datePartSlow(c, args)
	}
	unit := math.Pow10(int(scale))
	out := vector.Alloc[float64](c.Arena, c.N)
	for i, v := range vals {
		out[i] = float64(v) / unit
	}
	return vector.NewFixed(vector.F64, out, c.Valid), nil
}

var datePartSlow = function.Datums(func(c *function.Call, a []types.Datum) (types.Datum, error) {
	at, d := c.Types[1], a[1]
	if at.OID == types.DateOID {
		ts, err := datetime.DateToTimestamp(d.(int64))
		if err != nil {
			return nil, err
		}
		at, d = types.Timestamp, ts
	}
	v, ok, err := types.Extract(a[0].(string), at, d, c.Env.Location())
	if err != nil || !ok {
		return nil, err
	}
	return v.Float64(), nil
})

// fieldOf returns the field that all rows are asked for, as whole numbers of 10^-scale, any for rows that are skipped;
// ok is false where it has to be looked at value by value.
func fieldOf(c *function.Call, args []*vector.Vec) (vals []int64, scale int32, ok bool) {
	t := c.Types[1]
	if !args[0].One || args[1].One {
		return nil, 0, false
	}
	if t.OID == types.IntervalOID {
		part, scale := datetime.IntervalField(args[0].Str(0))
		if part == nil || args[1].Kind != vector.F16 {
			return nil, 0, false
		}
		vals, of := vector.Alloc[int64](c.Arena, c.N), vector.Values[[16]byte](args[1])
		for i := range vals {
			if !c.Skip(i) {
				if vals[i], ok = part(datetime.GetInterval(of[i][:])); !ok {
					return nil, 0, false
				}
			}
		}
		return vals, scale, true
	}
	f, ok := fieldFor(c, args[0].Str(0), t)
	if !ok {
		return nil, 0, false
	}
	if t.IsStamp() && args[1].Kind == vector.I64 {
		of := vector.Values[int64](args[1])
		odd := false
		for _, v := range of {
			odd = odd || datetime.IsInfTimestamp(v)
		}
		for i := 0; odd && i < len(of); i++ {
			if !c.Skip(i) && datetime.IsInfTimestamp(of[i]) {
				return nil, 0, false
			}
		}
		if f.Fill != nil {
			vals := vector.Alloc[int64](c.Arena, c.N)
			f.Fill(of, vals)
			return vals, f.Scale, true
		}
	}
	if t.OID == types.DateOID && args[1].Kind == vector.I32 && f.Fill != nil {
		of, vals := vector.Values[int32](args[1]), vector.Alloc[int64](c.Arena, c.N)
		odd := false
		for i, v := range of {
			vals[i] = int64(v)
			odd = odd || isOddDate(int64(v))
		}
		for i := 0; odd && i < len(of); i++ {
			if !c.Skip(i) && isOddDate(int64(of[i])) {
				return nil, 0, false
			}
		}
		f.Fill(vals, vals)
		return vals, f.Scale, true
	}
	vals = vector.Alloc[int64](c.Arena, c.N)
	at := vector.IntReader(args[1])
	for i := range vals {
		if c.Skip(i) {
			continue
		}
		v := at(i)
		if t.OID == types.DateOID && isOddDate(v) {
			return nil, 0, false
		}
		vals[i] = f.Get(v)
	}
	return vals, f.Scale, true
}

// knownField is the field that a call was asked for last, with the days that it remembers.
type knownField struct {
	name string
	loc  *time.Location
	f    datetime.Field
}

// fieldFor returns the field of a name: that of the batch before where it is the same.
func fieldFor(c *function.Call, name string, t types.Type) (datetime.Field, bool) {
	loc := c.Env.Location()
	if c.Memo == nil {
		return types.FieldOf(name, t, loc)
	}
	if k, ok := (*c.Memo).(*knownField); ok && k.name == name && k.loc == loc {
		return k.f, true
	}
	f, ok := types.FieldOf(name, t, loc)
	if ok {
		*c.Memo = &knownField{strings.Clone(name), loc, f}
	}
	return f, ok
}

// isOddDate reports whether a date is infinite or no timestamp, as which date_part reads it.
func isOddDate(v int64) bool {
	return datetime.IsInfDate(v) || v > datetime.MaxTimestamp/datetime.MicrosPerDay
}
