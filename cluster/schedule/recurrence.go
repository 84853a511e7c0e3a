package schedule

import (
	"time"

	"github.com/robfig/cron/v3"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// fields are what recurrences are written of.
var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Next returns when a recurrence is due after a time. Its error is 22023.
func Next(recurring, zone string, after time.Time) (time.Time, error) {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return time.Time{}, pgerr.New(pgerr.InvalidParameterValue, "schedules need a named time zone, not %q", zone).
			WithHint("SET timezone = 'UTC', or another name of pg_timezone_names.")
	}
	s, err := fields.Parse(recurring)
	if err != nil {
		return time.Time{}, pgerr.New(pgerr.InvalidParameterValue, "invalid recurrence %q", recurring).WithDetail("%s.", err).
			WithHint("Write @hourly, @daily, @weekly, @monthly, @every 90m, or five fields: minute, hour, day of month, month, day of week.")
	}
	next := s.Next(after.In(loc))
	if next.IsZero() {
		return time.Time{}, pgerr.New(pgerr.InvalidParameterValue, "the recurrence %q is never due", recurring)
	}
	return next.UTC(), nil
}
