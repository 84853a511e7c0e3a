package datetime

// Kind is one of the types of dates and times, by the name that errors use.
type Kind string

// The kinds. A value of a Kind is an int64, but for an Interval and a TimeTZ.
const (
	KindDate        Kind = "date"
	KindTime        Kind = "time without time zone"
	KindTimestamp   Kind = "timestamp without time zone"
	KindTimestamptz Kind = "timestamp with time zone"
	KindInterval    Kind = "interval"
)
