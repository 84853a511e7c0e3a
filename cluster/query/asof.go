package query

import (
	"time"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// AsOf reads a time of the past as tributary.as_of gives it: a timestamp, or an interval from now.
func AsOf(text string, env *types.Env, now time.Time) (time.Time, error) {
	settings := env.Settings
	settings.Now = now
	micros, err := datetime.ParseTimestamptz(text, &settings)
	if err != nil {
		iv, bad := datetime.ParseInterval(text, -1, &settings)
		if bad != nil {
			return time.Time{}, err
		}
		if micros, err = datetime.TimestampAddInterval(now.UnixMicro(), iv, settings.Location); err != nil {
			return time.Time{}, err
		}
	}
	return NotFuture(time.UnixMicro(micros).UTC(), time.Now())
}

// NotFuture refuses a time that is yet to come.
func NotFuture(at, now time.Time) (time.Time, error) {
	if at.After(now) {
		return time.Time{}, pgerr.New(pgerr.InvalidParameterValue, "the time is in the future: %s", at.UTC().Format("2006-01-02 15:04:05.999999Z07:00")).
			WithHint("An interval of the past is negative, such as -10 minutes.")
	}
	return at, nil
}
