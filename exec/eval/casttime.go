package eval

import (
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// datetimeCast converts among dates, times and intervals.
func datetimeCast(from, to types.Type) impl {
	i64 := func(f func(c *call, v int64) (int64, error)) impl { return try1(f) }
	switch from.OID {
	case types.DateOID:
		switch to.OID {
		case types.TimestampOID:
			return i64(func(_ *call, v int64) (int64, error) { return datetime.DateToTimestamp(v) })
		case types.TimestamptzOID:
			return i64(func(c *call, v int64) (int64, error) { return datetime.DateToTimestamptz(v, c.env.location()) })
		}
	case types.TimestampOID:
		switch to.OID {
		case types.DateOID:
			return i64(func(_ *call, v int64) (int64, error) { return datetime.TimestampToDate(v), nil })
		case types.TimeOID:
			return i64(timeOfDay)
		case types.TimestamptzOID:
			return i64(func(c *call, v int64) (int64, error) { return datetime.TimestampToTimestamptz(v, c.env.location()) })
		}
	case types.TimestamptzOID:
		switch to.OID {
		case types.DateOID:
			return i64(func(c *call, v int64) (int64, error) {
				l, err := datetime.TimestamptzToTimestamp(v, c.env.location())
				return datetime.TimestampToDate(l), err
			})
		case types.TimestampOID:
			return i64(func(c *call, v int64) (int64, error) { return datetime.TimestamptzToTimestamp(v, c.env.location()) })
		case types.TimeOID:
			return i64(func(c *call, v int64) (int64, error) {
				l, err := datetime.TimestamptzToTimestamp(v, c.env.location())
				if err != nil {
					return 0, err
				}
				return timeOfDay(c, l)
			})
		case types.TimetzOID:
			return try1(func(c *call, v int64) (datetime.TimeTZ, error) {
				t, ok := datetime.TimestamptzToTimeTZ(v, c.env.location())
				if !ok {
					return t, errNull
				}
				return t, nil
			})
		}
	case types.TimeOID:
		switch to.OID {
		case types.IntervalOID:
			return strict1(func(v int64) datetime.Interval { return datetime.Interval{Micros: v} })
		case types.TimetzOID:
			return try1(func(c *call, v int64) (datetime.TimeTZ, error) {
				return datetime.TimeToTimeTZ(v, c.env.types().Dates()), nil
			})
		}
	case types.TimetzOID:
		if to.OID == types.TimeOID {
			return strict1(func(v datetime.TimeTZ) int64 { return v.Micros })
		}
	case types.IntervalOID:
		if to.OID == types.TimeOID {
			return strict1(datetime.IntervalToTime)
		}
	}
	return nil
}

func timeOfDay(_ *call, v int64) (int64, error) {
	us, ok := datetime.TimestampToTime(v)
	if !ok {
		return 0, errNull
	}
	return us, nil
}
