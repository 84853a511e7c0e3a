package cast

import (
	"time"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// dateCasts convert among dates, times and intervals.
var dateCasts = map[[2]types.Class]function.Impl{
	{types.ClassDate, types.ClassTimestamp}:   ofDates(func(*function.Call) *time.Location { return time.UTC }),
	{types.ClassDate, types.ClassTimestamptz}: ofDates(func(c *function.Call) *time.Location { return c.Env.Location() }),
	{types.ClassTimestamp, types.ClassDate}:   daysOf,
	{types.ClassTimestamp, types.ClassTime}:   i64(timeOfDay),
	{types.ClassTimestamp, types.ClassTimestamptz}: i64(func(c *function.Call, v int64) (int64, error) {
		return datetime.TimestampToTimestamptz(v, c.Env.Location())
	}),
	{types.ClassTimestamptz, types.ClassDate}: i64(func(c *function.Call, v int64) (int64, error) {
		l, err := datetime.TimestamptzToTimestamp(v, c.Env.Location())
		return datetime.TimestampToDate(l), err
	}),
	{types.ClassTimestamptz, types.ClassTimestamp}: i64(func(c *function.Call, v int64) (int64, error) {
		return datetime.TimestamptzToTimestamp(v, c.Env.Location())
	}),
	{types.ClassTimestamptz, types.ClassTime}: i64(func(c *function.Call, v int64) (int64, error) {
		l, err := datetime.TimestamptzToTimestamp(v, c.Env.Location())
		if err != nil {
			return 0, err
		}
		return timeOfDay(c, l)
	}),
	{types.ClassTimestamptz, types.ClassTimetz}: function.Try1(func(c *function.Call, v int64) (datetime.TimeTZ, error) {
		t, ok := datetime.TimestamptzToTimeTZ(v, c.Env.Location())
		if !ok {
			return t, function.ErrNull
		}
		return t, nil
	}),
	{types.ClassTime, types.ClassInterval}: function.Strict1(func(v int64) datetime.Interval { return datetime.Interval{Micros: v} }),
	{types.ClassTime, types.ClassTimetz}: function.Try1(func(c *function.Call, v int64) (datetime.TimeTZ, error) {
		return datetime.TimeToTimeTZ(v, c.Env.TypesEnv().Dates()), nil
	}),
	{types.ClassTimetz, types.ClassTime}:   function.Strict1(func(v datetime.TimeTZ) int64 { return v.Micros }),
	{types.ClassInterval, types.ClassTime}: function.Strict1(datetime.IntervalToTime),
}

// ofDates converts dates to when they begin in a zone. Columns have few different dates: where a zone's offset is not the
// same always, it is asked once for each of a batch.
func ofDates(zone func(*function.Call) *time.Location) function.Impl {
	slow := i64(func(c *function.Call, v int64) (int64, error) { return datetime.DateToTimestamptz(v, zone(c)) })
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		v := args[0]
		if v.One || v.Kind != vector.I32 || c.N < 2 {
			return slow(c, args)
		}
		c.Meter().Poll(c.N * vector.RowWork)
		days, out := vector.Values[int32](v)[:c.N], vector.Alloc[int64](c.Arena, c.N)
		loc := zone(c)
		var begins [1 << 10]struct{ day, at int64 } // day + 1, as 0 is none
		for i, d := range days {
			day := int64(d)
			if loc == time.UTC && day > -plainDays && day < plainDays {
				out[i] = day * datetime.MicrosPerDay
				continue
			}
			b := &begins[uint(day)%uint(len(begins))]
			if b.day != day+1 {
				at, err := datetime.DateToTimestamptz(day, loc)
				if err != nil {
					if c.Skip(i) {
						continue
					}
					return slow(c, args)
				}
				b.day, b.at = day+1, at
			}
			out[i] = b.at
		}
		return vector.NewFixed(vector.I64, out, c.Valid), nil
	}
}

// plainDays is a number of days around the epoch within which every date is a timestamp.
const plainDays = 1 << 19

// daysOf returns the days of timestamps.
func daysOf(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	out := vector.Alloc[int32](c.Arena, c.N)
	for i, v := range vector.Values[int64](args[0])[:c.N] {
		if d := v / datetime.MicrosPerDay; datetime.IsInfTimestamp(v) {
			out[i] = int32(datetime.TimestampToDate(v))
		} else {
			out[i] = int32(d + (v-d*datetime.MicrosPerDay)>>63)
		}
	}
	return vector.NewFixed(vector.I32, out, c.Valid), nil
}

func i64(f func(c *function.Call, v int64) (int64, error)) function.Impl { return function.Try1(f) }

func timeOfDay(_ *function.Call, v int64) (int64, error) {
	us, ok := datetime.TimestampToTime(v)
	if !ok {
		return 0, function.ErrNull
	}
	return us, nil
}
