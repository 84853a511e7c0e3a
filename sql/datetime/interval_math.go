package datetime

import (
	"math"
	"strconv"

	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// FitInterval cuts an interval to the fields of its modifier and rounds its
// seconds.
func FitInterval(iv Interval, mod int32) (Interval, error) {
	if mod < 0 {
		return iv, nil
	}
	switch rng := ivRange(mod); {
	case rng == FullRange || rng&RangeSecond != 0:
	case rng&ivMinute != 0:
		iv.Micros = iv.Micros / microsPerMin * microsPerMin
	case rng&ivHour != 0:
		iv.Micros = iv.Micros / microsPerHour * microsPerHour
	case rng&ivDay != 0:
		iv.Micros = 0
	case rng&ivMonth != 0:
		iv.Days, iv.Micros = 0, 0
	case rng&ivYear != 0:
		iv.Months = iv.Months / 12 * 12
		iv.Days, iv.Micros = 0, 0
	}
	if p := mod & ivFullPrecision; p != ivFullPrecision && p < 6 {
		half := int64(checked.Pow10[6-p]) / 2
		if iv.Micros > math.MaxInt64-half || iv.Micros < math.MinInt64+half {
			return Interval{}, errIntervalRange()
		}
		iv.Micros = RoundMicros(iv.Micros, p)
	}
	return iv, nil
}

// IntervalRanges are the fields that a modifier may restrict an interval to.
var IntervalRanges = []struct {
	Mask int
	Text string
}{
	{ivYear, " year"}, {ivMonth, " month"}, {ivDay, " day"}, {ivHour, " hour"}, {ivMinute, " minute"}, {RangeSecond, " second"},
	{ivYear | ivMonth, " year to month"}, {ivDay | ivHour, " day to hour"}, {ivDay | ivHour | ivMinute, " day to minute"},
	{ivDay | ivHour | ivMinute | RangeSecond, " day to second"}, {ivHour | ivMinute, " hour to minute"},
	{ivHour | ivMinute | RangeSecond, " hour to second"}, {ivMinute | RangeSecond, " minute to second"}, {FullRange, ""},
}

// IntervalTypmod packs what the grammar returns: the mask of fields, and the digits of seconds.
func IntervalTypmod(mods []int32) (int32, error) {
	if len(mods) == 0 || len(mods) > 2 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid INTERVAL type modifier")
	}
	known := false
	for _, r := range IntervalRanges {
		known = known || int32(r.Mask) == mods[0]
	}
	if !known {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid INTERVAL type modifier")
	}
	if len(mods) == 1 {
		if mods[0] == FullRange {
			return -1, nil
		}
		return mods[0]<<16 | ivFullPrecision, nil
	}
	if mods[1] < 0 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "INTERVAL(%d) precision must not be negative", mods[1])
	}
	return mods[0]<<16 | min(mods[1], 6), nil
}

// IntervalModText is the modifier as format_type() writes it.
func IntervalModText(mod int32) string {
	if mod < 0 {
		return ""
	}
	s := ""
	for _, r := range IntervalRanges {
		if r.Mask == ivRange(mod) {
			s = r.Text
		}
	}
	if p := mod & ivFullPrecision; p != ivFullPrecision {
		s += "(" + strconv.Itoa(int(p)) + ")"
	}
	return s
}

// IntervalNeg is -iv.
func IntervalNeg(iv Interval) (Interval, error) {
	if iv.Months == math.MinInt32 || iv.Days == math.MinInt32 || iv.Micros == math.MinInt64 {
		return Interval{}, errIntervalRange()
	}
	return Interval{-iv.Months, -iv.Days, -iv.Micros}, nil
}

// IntervalAdd is a + b.
func IntervalAdd(a, b Interval) (Interval, error) {
	m, d := int64(a.Months)+int64(b.Months), int64(a.Days)+int64(b.Days)
	us, ok := checked.Add(a.Micros, b.Micros)
	if !ok || !fit32(m) || !fit32(d) {
		return Interval{}, errIntervalRange()
	}
	return Interval{int32(m), int32(d), us}, nil
}

// IntervalSub is a - b.
func IntervalSub(a, b Interval) (Interval, error) {
	m, d := int64(a.Months)-int64(b.Months), int64(a.Days)-int64(b.Days)
	us, ok := checked.Sub(a.Micros, b.Micros)
	if !ok || !fit32(m) || !fit32(d) {
		return Interval{}, errIntervalRange()
	}
	return Interval{int32(m), int32(d), us}, nil
}

func floatFits32(f float64) bool { return f >= math.MinInt32 && f < -float64(math.MinInt32) }
func floatFits64(f float64) bool { return f >= math.MinInt64 && f < -float64(math.MinInt64) }

// roundSix rounds to six decimals, as PostgreSQL does, because products of binary fractions are not
// exact: 0.1 days are 2.4 hours.
func roundSix(f float64) float64 { return math.RoundToEven(f*1e6) / 1e6 }

// IntervalMul is iv times f. A fraction of a month is carried into days of 30
// to the month, a fraction of a day into time.
func IntervalMul(iv Interval, f float64) (Interval, error) {
	m, d := float64(iv.Months)*f, float64(iv.Days)*f
	if math.IsNaN(m) || !floatFits32(m) || math.IsNaN(d) || !floatFits32(d) {
		return Interval{}, errIntervalRange()
	}
	return cascade(m, d, float64(iv.Micros)*f)
}

// IntervalDiv is iv divided by f.
func IntervalDiv(iv Interval, f float64) (Interval, error) {
	if f == 0 {
		return Interval{}, pgerr.New(pgerr.DivisionByZero, "division by zero")
	}
	m, d := float64(iv.Months)/f, float64(iv.Days)/f
	if math.IsNaN(m) || !floatFits32(m) || math.IsNaN(d) || !floatFits32(d) {
		return Interval{}, errIntervalRange()
	}
	return cascade(m, d, float64(iv.Micros)/f)
}

func cascade(m, d, us float64) (Interval, error) {
	r := Interval{Months: int32(m), Days: int32(d)}
	monthDays := roundSix((m - float64(r.Months)) * 30)
	whole := math.Trunc(monthDays)
	secs := roundSix((d - float64(r.Days) + monthDays - whole) * 86400)
	days := int64(r.Days)
	if math.Abs(secs) >= 86400 {
		n := math.Trunc(secs / 86400)
		days += int64(n)
		secs -= n * 86400
	}
	days += int64(whole)
	t := math.RoundToEven(us + secs*1e6)
	if math.IsNaN(t) || !floatFits64(t) || !fit32(days) {
		return Interval{}, errIntervalRange()
	}
	r.Days, r.Micros = int32(days), int64(t)
	return r, nil
}

// JustifyHours turns 24 hours into a day.
func JustifyHours(iv Interval) (Interval, error) {
	d := int64(iv.Days) + iv.Micros/MicrosPerDay
	us := iv.Micros % MicrosPerDay
	switch {
	case d > 0 && us < 0:
		d, us = d-1, us+MicrosPerDay
	case d < 0 && us > 0:
		d, us = d+1, us-MicrosPerDay
	}
	if !fit32(d) {
		return Interval{}, errIntervalRange()
	}
	return Interval{iv.Months, int32(d), us}, nil
}

// JustifyDays turns 30 days into a month.
func JustifyDays(iv Interval) (Interval, error) {
	m := int64(iv.Months) + int64(iv.Days/30)
	d := iv.Days % 30
	switch {
	case m > 0 && d < 0:
		m, d = m-1, d+30
	case m < 0 && d > 0:
		m, d = m+1, d-30
	}
	if !fit32(m) {
		return Interval{}, errIntervalRange()
	}
	return Interval{int32(m), d, iv.Micros}, nil
}

// JustifyInterval does both and makes all parts of one sign.
func JustifyInterval(iv Interval) (Interval, error) {
	m, d, us := int64(iv.Months), int64(iv.Days), iv.Micros
	if d > 0 && us > 0 || d < 0 && us < 0 {
		m, d = m+d/30, d%30
	}
	d, us = d+us/MicrosPerDay, us%MicrosPerDay
	m, d = m+d/30, d%30
	switch {
	case m > 0 && (d < 0 || d == 0 && us < 0):
		m, d = m-1, d+30
	case m < 0 && (d > 0 || d == 0 && us > 0):
		m, d = m+1, d-30
	}
	switch {
	case d > 0 && us < 0:
		d, us = d-1, us+MicrosPerDay
	case d < 0 && us > 0:
		d, us = d+1, us-MicrosPerDay
	}
	if !fit32(m) {
		return Interval{}, errIntervalRange()
	}
	return Interval{int32(m), int32(d), us}, nil
}

// MakeInterval is make_interval().
func MakeInterval(years, months, weeks, days, hours, mins int32, secs float64) (Interval, error) {
	if math.IsInf(secs, 0) || math.IsNaN(secs) {
		return Interval{}, errIntervalRange()
	}
	m := int64(years)*12 + int64(months)
	d := int64(weeks)*7 + int64(days)
	t := math.RoundToEven(secs * 1e6)
	if !floatFits64(t) {
		return Interval{}, errIntervalRange()
	}
	us, ok := checked.Add(int64(hours)*microsPerHour+int64(mins)*microsPerMin, int64(t))
	if !ok || !fit32(m) || !fit32(d) {
		return Interval{}, errIntervalRange()
	}
	return Interval{int32(m), int32(d), us}, nil
}
