// Package datetime is PostgreSQL's dates, times, timestamps, time zones and
// intervals: their calendar, their arithmetic, their text, to_char().
//
//	date                     days since 1970-01-01      (±infinity: min, max)
//	time                     microseconds since midnight
//	timestamp, timestamptz   microseconds since 1970-01-01 00:00 UTC
//	TimeTZ                   microseconds since midnight, seconds west of UTC
//	Interval                 months, days, microseconds
//
// calendar.go, timestamp_math.go, interval_math.go, extract.go, date_trunc.go
// and make_time.go are the calendar, zone*.go the zones. A text is cut into
// fields (lex.go, words.go), which decode.go and fields.go put together, for
// intervals interval_input.go and interval_iso.go; output.go and interval_output.go
// print; format*.go is to_char() and its inverses. Settings is all that the
// text depends on besides the value. No clock is read: Settings.Now is given.
package datetime
