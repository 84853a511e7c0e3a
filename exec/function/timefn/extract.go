package timefn

import (
	"math"
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
	get, scale, ok := fieldOf(c, args)
	if !ok || c.Ret.IsFixed() && int32(c.Ret.Scale) != scale {
		return extractSlow(c, args)
	}
	if c.Ret.IsFixed() {
		out := vector.Alloc[int64](c.Arena, c.N)
		for i := range c.N {
			if !c.Skip(i) {
				out[i] = get(i)
			}
		}
		return vector.NewFixed(vector.I64, out, c.Valid), nil
	}
	out := &vector.Vec{Kind: vector.Bin, N: c.N, Valid: c.Valid}
	off := vector.Alloc[int32](c.Arena, c.N+1)
	data := vector.Alloc[byte](c.Arena, 8*c.N)[:0]
	for i := range c.N {
		off[i] = int32(len(data))
		if !c.Skip(i) {
			data = number.DecimalFromInt64(get(i), scale).AppendBinary(data)
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
		if trunc := datetime.Truncation(args[0].Str(0)); trunc != nil {
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
	get, scale, ok := fieldOf(c, args)
	if !ok {
		return datePartSlow(c, args)
	}
	unit := math.Pow10(int(scale))
	out := vector.Alloc[float64](c.Arena, c.N)
	for i := range c.N {
		if !c.Skip(i) {
			out[i] = float64(get(i)) / unit
		}
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

// fieldOf returns access to the field that all rows are asked for, as a whole number of 10^-scale; ok is false
// where it has to be looked at value by value.
func fieldOf(c *function.Call, args []*vector.Vec) (get func(i int) int64, scale int32, ok bool) {
	t := c.Types[1]
	if !args[0].One || args[1].One {
		return nil, 0, false
	}
	if t.OID == types.IntervalOID {
		at := function.Arg[datetime.Interval](c, args, 1)
		part, scale := datetime.IntervalField(args[0].Str(0))
		ok = part != nil
		for i := 0; ok && i < c.N; i++ {
			if !c.Skip(i) {
				_, ok = part(at(i))
			}
		}
		return func(i int) int64 {
			v, _ := part(at(i))
			return v
		}, scale, ok
	}
	f, ok := types.FieldOf(args[0].Str(0), t, c.Env.Location())
	if !ok {
		return nil, 0, false
	}
	at := vector.IntReader(args[1])
	infinite := func(int64) bool { return false }
	switch {
	case t.OID == types.DateOID:
		infinite = func(v int64) bool { // and what is no timestamp, as which date_part reads it
			ts, err := datetime.DateToTimestamp(v)
			return err != nil || datetime.IsInfTimestamp(ts)
		}
	case t.IsStamp():
		infinite = datetime.IsInfTimestamp
	}
	for i := range c.N {
		if !c.Skip(i) && infinite(at(i)) {
			return nil, 0, false
		}
	}
	return func(i int) int64 { return f.Get(at(i)) }, f.Scale, true
}
