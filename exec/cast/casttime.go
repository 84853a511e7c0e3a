package cast

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// datetimeCast converts among dates, times and intervals.
func datetimeCast(from, to types.Type) function.Impl {
	i64 := func(f func(c *function.Call, v int64) (int64, error)) function.Impl { return function.Try1(f) }
	switch from.OID {
	case types.DateOID:
		switch to.OID {
		case types.TimestampOID:
			return i64(func(_ *function.Call, v int64) (int64, error) { return datetime.DateToTimestamp(v) })
		case types.TimestamptzOID:
			return i64(func(c *function.Call, v int64) (int64, error) { return datetime.DateToTimestamptz(v, c.Env.Location()) })
		}
	case types.TimestampOID:
		switch to.OID {
		case types.DateOID:
			return i64(func(_ *function.Call, v int64) (int64, error) { return datetime.TimestampToDate(v), nil })
		case types.TimeOID:
			return i64(timeOfDay)
		case types.TimestamptzOID:
			return i64(func(c *function.Call, v int64) (int64, error) {
				return datetime.TimestampToTimestamptz(v, c.Env.Location())
			})
		}
	case types.TimestamptzOID:
		switch to.OID {
		case types.DateOID:
			return i64(func(c *function.Call, v int64) (int64, error) {
				l, err := datetime.TimestamptzToTimestamp(v, c.Env.Location())
				return datetime.TimestampToDate(l), err
			})
		case types.TimestampOID:
			return i64(func(c *function.Call, v int64) (int64, error) {
				return datetime.TimestamptzToTimestamp(v, c.Env.Location())
			})
		case types.TimeOID:
			return i64(func(c *function.Call, v int64) (int64, error) {
				l, err := datetime.TimestamptzToTimestamp(v, c.Env.Location())
				if err != nil {
					return 0, err
				}
				return timeOfDay(c, l)
			})
		case types.TimetzOID:
			return function.Try1(func(c *function.Call, v int64) (datetime.TimeTZ, error) {
				t, ok := datetime.TimestamptzToTimeTZ(v, c.Env.Location())
				if !ok {
					return t, function.ErrNull
				}
				return t, nil
			})
		}
	case types.TimeOID:
		switch to.OID {
		case types.IntervalOID:
			return function.Strict1(func(v int64) datetime.Interval { return datetime.Interval{Micros: v} })
		case types.TimetzOID:
			return function.Try1(func(c *function.Call, v int64) (datetime.TimeTZ, error) {
				return datetime.TimeToTimeTZ(v, c.Env.TypesEnv().Dates()), nil
			})
		}
	case types.TimetzOID:
		if to.OID == types.TimeOID {
			return function.Strict1(func(v datetime.TimeTZ) int64 { return v.Micros })
		}
	case types.IntervalOID:
		if to.OID == types.TimeOID {
			return function.Strict1(datetime.IntervalToTime)
		}
	}
	return nil
}

func timeOfDay(_ *function.Call, v int64) (int64, error) {
	us, ok := datetime.TimestampToTime(v)
	if !ok {
		return 0, function.ErrNull
	}
	return us, nil
}
