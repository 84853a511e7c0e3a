package datetime

import "github.com/tributarydb/tributary/sql/tochar"

// resolve turns the fields that were read into a date and a time.
func (r *formatReader) resolve(st *dtState) error {
	if r.ssss != 0 {
		st.hour, st.min, st.sec = r.ssss/3600, r.ssss/60%60, r.ssss%60
	}
	for _, f := range []struct {
		dest *int
		v    int
	}{{&st.sec, r.ss}, {&st.min, r.mi}, {&st.hour, r.hh}} {
		if f.v != 0 {
			*f.dest = f.v
		}
	}
	if r.clock12 {
		if st.hour < 1 || st.hour > 12 {
			return errTemplate("hour \"%d\" is invalid for the 12-hour clock", st.hour).
				WithHint("Use the 24-hour clock, or give an hour between 1 and 12.")
		}
		if r.pm == 1 && st.hour < 12 {
			st.hour += 12
		} else if r.pm == 0 && st.hour == 12 {
			st.hour = 0
		}
	}
	r.resolveYear(st)
	if r.j != 0 {
		st.setDay(int64(r.j) - julianUnix)
		st.mask |= mDate
	}
	if r.ww != 0 {
		if r.mode == tochar.ModeISO {
			day := isoWeekStart(st.year, r.ww)
			if r.d > 1 { // 1 is Sunday, the last day of the week
				day += int64(r.d - 2)
			} else if r.d == 1 {
				day += 6
			}
			st.setDay(day)
			st.mask |= mDate
		} else {
			r.ddd = (r.ww-1)*7 + 1
		}
	}
	if r.w != 0 {
		r.dd = (r.w-1)*7 + 1
	}
	if r.dd != 0 {
		st.day = r.dd
		st.mask |= mDay
	}
	if r.mm != 0 {
		st.month = r.mm
		st.mask |= mMonth
	}
	if err := r.resolveDayOfYear(st); err != nil {
		return err
	}
	st.fsec = int64(r.ms)*1000 + int64(r.us)
	if st.mask != 0 {
		st.julian = true // the year is settled already
		if st.validate() != 0 {
			return dtFieldOverflow.error("timestamp", r.s)
		}
	}
	if st.hour < 0 || st.hour >= 24 || st.min < 0 || st.min >= 60 || st.sec < 0 || st.sec >= 60 ||
		st.fsec < 0 || st.fsec >= microsPerSec {
		return dtFieldOverflow.error("timestamp", r.s)
	}
	return nil
}

func (r *formatReader) resolveYear(st *dtState) {
	bc := r.bc != 0
	switch {
	case r.year != 0 && r.cc != 0 && r.yearLen <= 2:
		// two digits within the century
		if bc {
			r.cc = -r.cc
		}
		st.year = r.year % 100
		switch {
		case st.year != 0 && r.cc >= 0:
			st.year += (r.cc - 1) * 100
		case st.year != 0:
			st.year = (r.cc+1)*100 - st.year + 1
		case r.cc >= 0:
			st.year = r.cc * 100
		default:
			st.year = r.cc*100 + 1
		}
	case r.year != 0:
		st.year = r.year
		if bc {
			st.year = -st.year
		}
		if st.year < 0 {
			st.year++
		}
	case r.cc != 0:
		// the first year of the century
		if bc {
			r.cc = -r.cc
		}
		if r.cc >= 0 {
			st.year = (r.cc-1)*100 + 1
		} else {
			st.year = r.cc*100 + 1
		}
	default:
		return
	}
	st.mask |= mYear
}

func (r *formatReader) resolveDayOfYear(st *dtState) error {
	if r.ddd == 0 || st.month > 1 && st.day > 1 {
		return nil
	}
	if st.year == 0 && r.bc == 0 {
		return errTemplate("cannot calculate day of year without year information")
	}
	if r.mode == tochar.ModeISO {
		st.setDay(isoWeekStart(st.year, 1) + int64(r.ddd) - 1)
		st.mask |= mDate
		return nil
	}
	month, before := 1, 0
	for month <= 12 && r.ddd > before+daysIn(st.year, month) {
		before += daysIn(st.year, month)
		month++
	}
	if st.month <= 1 {
		st.month = month
	}
	if st.day <= 1 {
		st.day = r.ddd - before
	}
	st.mask |= mMonth | mDay
	return nil
}
