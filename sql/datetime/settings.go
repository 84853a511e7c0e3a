package datetime

import (
	"time"
	_ "time/tzdata" // zones also on machines without a zoneinfo directory
)

// DateStyle is how dates print (the first word of the setting DateStyle).
type DateStyle uint8

// The date styles.
const (
	DateISO DateStyle = iota
	DatePostgres
	DateSQL
	DateGerman
)

// DateOrder is how ambiguous dates read (the second word of DateStyle).
type DateOrder uint8

// The date orders.
const (
	OrderMDY DateOrder = iota
	OrderDMY
	OrderYMD
)

// IntervalStyle is how intervals print.
type IntervalStyle uint8

// The interval styles.
const (
	IntervalPostgres IntervalStyle = iota
	IntervalVerbose
	IntervalSQL
	IntervalISO
)

// Settings is what dates, times and intervals as text depend on besides the
// value. It is read-only once in use; a nil *Settings is the defaults.
type Settings struct {
	Location      *time.Location // nil is UTC
	DateStyle     DateStyle
	DateOrder     DateOrder
	IntervalStyle IntervalStyle
	// Now is the start of the transaction: what 'now' and 'today' mean.
	Now time.Time
	// ReadNow, where set, is called when Now is read: a plan that contains the
	// result must not be kept for later executions.
	ReadNow func()
}

var defaults = &Settings{Location: time.UTC}

// Zone is the time zone, UTC where none is set.
func (s *Settings) Zone() *time.Location {
	if s == nil || s.Location == nil {
		return time.UTC
	}
	return s.Location
}

func (s *Settings) orDefault() *Settings {
	if s == nil {
		return defaults
	}
	return s
}

// now is Now in microseconds since 1970.
func (s *Settings) now() int64 {
	if s.ReadNow != nil {
		s.ReadNow()
	}
	return s.Now.UnixMicro()
}
