package eval

import "github.com/tributarydb/tributary/sql/types"

// datetimeCast converts among dates, times and intervals.
func datetimeCast(from, to types.Type) impl {
	i64 := func(f func(c *call, v int64) (int64, error)) impl { return try1(f) }
	switch from.OID {
	case types.DateOID:
		switch to.OID {
		case types.TimestampOID:
			return i64(func(_ *call, v int64) (int64, error) { return types.DateToTimestamp(v) })
		case types.TimestamptzOID:
			return i64(func(c *call, v int64) (int64, error) { return types.DateToTimestamptz(v, c.env.location()) })
		}
	case types.TimestampOID:
		switch to.OID {
		case types.DateOID:
			return i64(func(_ *call, v int64) (int64, error) { return types.TimestampToDate(v), nil })
		case types.TimeOID:
			return i64(timeOfDay)
		case types.TimestamptzOID:
			return i64(func(c *call, v int64) (int64, error) { return types.TimestampToTimestamptz(v, c.env.location()) })
		}
	case types.TimestamptzOID:
		switch to.OID {
		case types.DateOID:
			return i64(func(c *call, v int64) (int64, error) {
				l, err := types.TimestamptzToTimestamp(v, c.env.location())
				return types.TimestampToDate(l), err
			})
		case types.TimestampOID:
			return i64(func(c *call, v int64) (int64, error) { return types.TimestamptzToTimestamp(v, c.env.location()) })
		case types.TimeOID:
			return i64(func(c *call, v int64) (int64, error) {
				l, err := types.TimestamptzToTimestamp(v, c.env.location())
				if err != nil {
					return 0, err
				}
				return timeOfDay(c, l)
			})
		case types.TimetzOID:
			return try1(func(c *call, v int64) (types.TimeTZ, error) {
				t, ok := types.TimestamptzToTimeTZ(v, c.env.location())
				if !ok {
					return t, errNull
				}
				return t, nil
			})
		}
	case types.TimeOID:
		switch to.OID {
		case types.IntervalOID:
			return strict1(func(v int64) types.Interval { return types.Interval{Micros: v} })
		case types.TimetzOID:
			return try1(func(c *call, v int64) (types.TimeTZ, error) { return types.TimeToTimeTZ(v, c.env.types()), nil })
		}
	case types.TimetzOID:
		if to.OID == types.TimeOID {
			return strict1(func(v types.TimeTZ) int64 { return v.Micros })
		}
	case types.IntervalOID:
		if to.OID == types.TimeOID {
			return strict1(types.IntervalToTime)
		}
	}
	return nil
}

func timeOfDay(_ *call, v int64) (int64, error) {
	us, ok := types.TimestampToTime(v)
	if !ok {
		return 0, errNull
	}
	return us, nil
}

// stampAt gives a date or timestamp as a timestamp, or, zoned, as one with time
// zone, for comparing; dates beyond the range of timestamps saturate.
func stampAt(env *Env, v *vec, t types.Type, i int, zoned bool) int64 {
	x := intAt(v, i)
	var err error
	switch t.OID {
	case types.DateOID:
		y := x
		if zoned {
			x, err = types.DateToTimestamptz(x, env.location())
		} else {
			x, err = types.DateToTimestamp(x)
		}
		if err != nil {
			if y > 0 {
				return types.TimestampInf - 1
			}
			return types.TimestampNegInf + 1
		}
	case types.TimestampOID:
		if zoned {
			y := x
			if x, err = types.TimestampToTimestamptz(x, env.location()); err != nil {
				return y
			}
		}
	}
	return x
}
