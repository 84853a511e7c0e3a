package datetime

// isoOfInterval returns the ISO year, week and day of the year that to_char() prints for an interval. It
// takes the interval's fields as a date, including month 0 and day 0, by PostgreSQL's arithmetic of Julian
// days.
func isoOfInterval(year, mon, mday int) (isoYear, week, day int) {
	first := func(y int) int { // the Monday of the first week
		fourth := julianDay(y, 1, 4)
		return fourth - (fourth%7+7)%7
	}
	d := julianDay(year, mon, mday)
	start := first(year)
	if d < start {
		year--
		start = first(year)
	} else if next := first(year + 1); d >= next {
		year++
		start = next
	}
	return year, (d-start)/7 + 1, d - start + 1
}

// julianDay counts days of the Gregorian calendar as PostgreSQL's date2j does.
func julianDay(y, m, d int) int {
	if m > 2 {
		m, y = m+1, y+4800
	} else {
		m, y = m+13, y+4799
	}
	century := y / 100
	return y*365 - 32167 + y/4 - century + century/4 + 7834*m/256 + d
}
