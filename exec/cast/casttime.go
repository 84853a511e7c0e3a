package cast

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// dateCasts convert among dates, times and intervals.
var dateCasts = map[[2]types.Class]function.Impl{
	{types.ClassDate, types.ClassTimestamp}: i64(func(_ *function.Call, v int64) (int64, error) { return datetime.DateToTimestamp(v) }),
	{types.ClassDate, types.ClassTimestamptz}: i64(func(c *function.Call, v int64) (int64, error) {
		return datetime.DateToTimestamptz(v, c.Env.Location())
	}),
	{types.ClassTimestamp, types.ClassDate}: daysOf,
	{types.ClassTimestamp, types.ClassTime}: i64(timeOfDay),
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
