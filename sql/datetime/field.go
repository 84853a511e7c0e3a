package datetime

import (
	"math"
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
	// Fill writes the field of each of vals into to, in loops without a call a value; of an infinite value, or of
	// none, it writes anything. It is nil where there is no such loop.
	Fill func(vals, to []int64)
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
			return Field{Get: func(v int64) int64 { return v }, Scale: 6, Digits: 11, Periodic: true}, true
		}
		return clockField(u)
	case KindDate:
		switch u {
		case uEpoch:
			return Field{Get: func(v int64) int64 { return v * 86400 }, Digits: 15}, true
		case uJulian:
			return Field{Get: func(v int64) int64 { return v + julianUnix }, Digits: 10}, true
		}
		return dayField(u)
	case KindTimestamp, KindTimestamptz:
		if u == uEpoch {
			return Field{Get: func(v int64) int64 { return v }, Scale: 6, Fill: func(vals, to []int64) { copy(to, vals) }}, true
		}
		return stampField(u, t, loc)
	}
	return Field{}, false
}

// stampField is a field of timestamps other than the epoch.
func stampField(u dtUnit, t Kind, loc *time.Location) (Field, bool) {
	if t == KindTimestamptz {
		if _, zone := extractZone(u, 0); zone {
			return Field{Get: func(v int64) int64 {
				d, _ := extractZone(u, offsetAt(v, loc))
				c, _ := d.Coefficient(0)
				return c
			}, Digits: 6, Periodic: true}, true
		}
	}
	f, ok := clockField(u)
	if ok {
		clock := f.Get
		f.Get = func(v int64) int64 {
			_, us := checked.FloorDiv(v, MicrosPerDay)
			return clock(us)
		}
		f.Fill = func(vals, to []int64) { fillClock(u, vals, to) }
	} else if f, ok = dayField(u); ok {
		day, fill := f.Get, f.Fill
		f.Get = func(v int64) int64 {
			d, _ := checked.FloorDiv(v, MicrosPerDay)
			return day(d)
		}
		f.Fill = func(vals, to []int64) {
			to = to[:len(vals)]
			for i, v := range vals {
				d := v / MicrosPerDay
				to[i] = d + (v-d*MicrosPerDay)>>63
			}
			fill(to, to)
		}
	}
	if t == KindTimestamptz && ok && loc != time.UTC {
		local := f.Get
		f.Get = func(v int64) int64 { return local(v + int64(offsetAt(v, loc))*microsPerSec) }
		f.Fill = nil
	}
	return f, ok
}

// fillClock is clockField of timestamps, with divisors that the compiler knows.
func fillClock(u dtUnit, vals, to []int64) {
	to = to[:len(vals)]
	switch u {
	case uHour:
		for i, v := range vals {
			to[i] = inUnit(v, MicrosPerDay) / microsPerHour
		}
	case uMinute:
		for i, v := range vals {
			to[i] = inUnit(v, microsPerHour) / microsPerMin
		}
	default:
		for i, v := range vals {
			to[i] = inUnit(v, microsPerMin)
		}
	}
}

// inUnit returns how far v is in the unit that it lies in.
func inUnit(v, unit int64) int64 {
	r := v % unit
	return r + r>>63&unit
}

// memoDays is how many days a memory has room for.
const memoDays = 1 << 11

// dayMemo remembers a field of days: those of a batch of rows are few, mostly, and come again and again.
type dayMemo struct {
	field func(day int64) int64
	known []knownDay // for one goroutine, as Field is
}

type knownDay struct{ day, value int64 }

// byDay returns f with a memory of days.
func byDay(f func(day int64) int64) func(day int64) int64 { return (&dayMemo{field: f}).of }

func (m *dayMemo) of(day int64) int64 {
	if m.known == nil {
		m.known = make([]knownDay, memoDays)
		m.known[0].day = -1 // which is another's
	}
	k := &m.known[day&(memoDays-1)]
	if k.day != day {
		*k = knownDay{day, m.field(day)}
	}
	return k.value
}

func (m *dayMemo) fill(days, to []int64) {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, day := range days {
		lo, hi = min(lo, day), max(hi, day)
	}
	if uint64(hi-lo) >= memoDays { // they would take each other's places
		for i, day := range days {
			to[i] = m.field(day)
		}
		return
	}
	for i, day := range days {
		to[i] = m.of(day)
	}
}

// clockField is a field of a time of day or, of either sign, of an interval's microseconds.
func clockField(u dtUnit) (Field, bool) {
	inMinute := func(v int64) int64 { return v % microsPerMin }
	switch u {
	case uMicrosec:
		return Field{Get: inMinute, Digits: 8, Periodic: true}, true
	case uMillisec:
		return Field{Get: inMinute, Scale: 3, Digits: 8, Periodic: true}, true
	case uSecond:
		return Field{Get: inMinute, Scale: 6, Digits: 8, Periodic: true}, true
	case uMinute:
		return Field{Get: func(v int64) int64 { return v / microsPerMin % 60 }, Digits: 2, Periodic: true}, true
	case uHour:
		return Field{Get: func(v int64) int64 { return v / microsPerHour }, Digits: 2, Periodic: true}, true
	}
	return Field{}, false
}

// dayField is a field of a day, given as days since 1970.
func dayField(u dtUnit) (Field, bool) {
	f, ok := oneDayField(u)
	switch u {
	case uDow, uIsoDow:
		sunday := f.Get(-4)
		f.Fill = func(days, to []int64) {
			for i, day := range days {
				dow := inUnit(day+4, 7)
				if dow == 0 {
					dow = sunday
				}
				to[i] = dow
			}
		}
	default:
		f.Fill = (&dayMemo{field: f.Get}).fill
	}
	return f, ok
}

// yearNumber is the number of a year before or after Christ: there is no year 0.
func yearNumber(y int) int64 {
	if y <= 0 {
		return int64(y - 1)
	}
	return int64(y)
}

func oneDayField(u dtUnit) (Field, bool) {
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
		return Field{Get: ymd(func(_, _, d int) int64 { return int64(d) }), Digits: 2, Periodic: true}, true
	case uMonth:
		return Field{Get: ymd(func(_, m, _ int) int64 { return int64(m) }), Digits: 2, Periodic: true}, true
	case uQuarter:
		return Field{Get: ymd(func(_, m, _ int) int64 { return int64(m-1)/3 + 1 }), Digits: 1, Periodic: true}, true
	case uWeek:
		return Field{Get: func(day int64) int64 { _, w := isoWeek(day); return int64(w) }, Digits: 2, Periodic: true}, true
	case uYear:
		return Field{Get: ymd(func(y, _, _ int) int64 { return yearNumber(y) }), Digits: 7}, true
	case uIsoYear:
		return Field{Get: func(day int64) int64 { y, _ := isoWeek(day); return yearNumber(y) }, Digits: 7}, true
	case uDecade:
		return Field{Get: ymd(func(y, _, _ int) int64 { return int64(floorDecade(y)) }), Digits: 7}, true
	case uCentury:
		return Field{Get: ymd(func(y, _, _ int) int64 { return int64(ceilYear(y, 100)) }), Digits: 7}, true
	case uMillennium:
		return Field{Get: ymd(func(y, _, _ int) int64 { return int64(ceilYear(y, 1000)) }), Digits: 7}, true
	case uDow:
		return Field{Get: weekday(0), Digits: 1, Periodic: true}, true
	case uIsoDow:
		return Field{Get: weekday(7), Digits: 1, Periodic: true}, true
	case uDoy:
		return Field{Get: func(day int64) int64 {
			y, _, _ := DateToYMD(day)
			return day - YMDToDate(y, 1, 1) + 1
		}, Digits: 3, Periodic: true}, true
	}
	return Field{}, false
}
