package datetime

import (
	"time"

	"github.com/tributarydb/tributary/sql/checked"
)

// Field is a field of dates, times or timestamps that is a whole number of 10^-Scale: what Extract returns,
// without a decimal for each value. It is for one goroutine.
type Field struct {
	Get   func(v int64) int64 // of a value that is not infinite
	Scale int32
	// Digits is how many digits the values have at most, those after the point included; 0 where that depends
	// on the values.
	Digits uint8
	// Periodic fields of infinite values are NULL; the others are infinite.
	Periodic bool
}

// FieldOf returns a field of the values of a type; false for types and names that have none. loc is as
// for Extract.
func FieldOf(name string, t Kind, loc *time.Location) (Field, bool) {
	u, known := fieldWord(name)
	if !known {
		return Field{}, false
	}
	return fieldOf(u, t, loc)
}

func fieldOf(u dtUnit, t Kind, loc *time.Location) (Field, bool) {
	switch t {
	case KindTime:
		if u == uEpoch {
			return Field{func(v int64) int64 { return v }, 6, 11, true}, true
		}
		return clockField(u)
	case KindDate:
		switch u {
		case uEpoch:
			return Field{func(v int64) int64 { return v * 86400 }, 0, 15, false}, true
		case uJulian:
			return Field{func(v int64) int64 { return v + julianUnix }, 0, 10, false}, true
		}
		return dayField(u)
	case KindTimestamp, KindTimestamptz:
		if u == uEpoch {
			return Field{func(v int64) int64 { return v }, 6, 0, false}, true
		}
		return stampField(u, t, loc)
	}
	return Field{}, false
}

// stampField is a field of timestamps other than the epoch.
func stampField(u dtUnit, t Kind, loc *time.Location) (Field, bool) {
	if t == KindTimestamptz {
		if _, zone := extractZone(u, 0); zone {
			return Field{func(v int64) int64 {
				d, _ := extractZone(u, offsetAt(v, loc))
				c, _ := d.Coefficient(0)
				return c
			}, 0, 6, true}, true
		}
	}
	f, ok := clockField(u)
	if ok {
		clock := f.Get
		f.Get = func(v int64) int64 {
			_, us := checked.FloorDiv(v, MicrosPerDay)
			return clock(us)
		}
	} else if f, ok = dayField(u); ok {
		day := byDay(f.Get)
		f.Get = func(v int64) int64 {
			d, _ := checked.FloorDiv(v, MicrosPerDay)
			return day(d)
		}
	}
	if t == KindTimestamptz && ok {
		local := f.Get
		f.Get = func(v int64) int64 { return local(v + int64(offsetAt(v, loc))*microsPerSec) }
	}
	return f, ok
}

// byDay returns f with a memory of days: those of a batch of rows are few and come again and again.
func byDay(f func(day int64) int64) func(day int64) int64 {
	type known struct {
		day, value int64
		some       bool
	}
	const days = 1 << 9
	var memory []known // for one goroutine, as Field is
	return func(day int64) int64 {
		if memory == nil {
			memory = make([]known, days)
		}
		k := &memory[day&(days-1)]
		if !k.some || k.day != day {
			*k = known{day, f(day), true}
		}
		return k.value
	}
}

// clockField is a field of a time of day or, of either sign, of an interval's microseconds.
func clockField(u dtUnit) (Field, bool) {
	inMinute := func(v int64) int64 { return v % microsPerMin }
	switch u {
	case uMicrosec:
		return Field{inMinute, 0, 8, true}, true
	case uMillisec:
		return Field{inMinute, 3, 8, true}, true
	case uSecond:
		return Field{inMinute, 6, 8, true}, true
	case uMinute:
		return Field{func(v int64) int64 { return v / microsPerMin % 60 }, 0, 2, true}, true
	case uHour:
		return Field{func(v int64) int64 { return v / microsPerHour }, 0, 2, true}, true
	}
	return Field{}, false
}

// dayField is a field of a day, given as days since 1970.
func dayField(u dtUnit) (Field, bool) {
	bc := func(y int) int64 {
		if y <= 0 {
			return int64(y - 1) // there is no year 0
		}
		return int64(y)
	}
	ymd := func(f func(y, m, d int) int64) func(int64) int64 {
		return func(day int64) int64 { return f(DateToYMD(day)) }
	}
	weekday := func(sunday int64) func(int64) int64 {
		return func(day int64) int64 {
			if _, dow := checked.FloorDiv(day+4, 7); dow != 0 {
				return dow
			}
			return sunday
		}
	}
	switch u {
	case uDay:
		return Field{ymd(func(_, _, d int) int64 { return int64(d) }), 0, 2, true}, true
	case uMonth:
		return Field{ymd(func(_, m, _ int) int64 { return int64(m) }), 0, 2, true}, true
	case uQuarter:
		return Field{ymd(func(_, m, _ int) int64 { return int64(m-1)/3 + 1 }), 0, 1, true}, true
	case uWeek:
		return Field{func(day int64) int64 { _, w := isoWeek(day); return int64(w) }, 0, 2, true}, true
	case uYear:
		return Field{ymd(func(y, _, _ int) int64 { return bc(y) }), 0, 7, false}, true
	case uIsoYear:
		return Field{func(day int64) int64 { y, _ := isoWeek(day); return bc(y) }, 0, 7, false}, true
	case uDecade:
		return Field{ymd(func(y, _, _ int) int64 { return int64(floorDecade(y)) }), 0, 7, false}, true
	case uCentury:
		return Field{ymd(func(y, _, _ int) int64 { return int64(ceilYear(y, 100)) }), 0, 7, false}, true
	case uMillennium:
		return Field{ymd(func(y, _, _ int) int64 { return int64(ceilYear(y, 1000)) }), 0, 7, false}, true
	case uDow:
		return Field{weekday(0), 0, 1, true}, true
	case uIsoDow:
		return Field{weekday(7), 0, 1, true}, true
	case uDoy:
		return Field{func(day int64) int64 {
			y, _, _ := DateToYMD(day)
			return day - YMDToDate(y, 1, 1) + 1
		}, 0, 3, true}, true
	}
	return Field{}, false
}
