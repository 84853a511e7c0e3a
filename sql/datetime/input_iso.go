package datetime

// ISODate reads a date that is written as most are, 2024-05-06, without the fields of other forms; ok is false for those,
// and for dates that there are not.
func ISODate(s string) (day int64, ok bool) {
	if len(s) != 10 {
		return 0, false
	}
	return isoDay(s)
}

// ISOTimestamp reads a timestamp of such a date alone, or with a time: 2024-05-06 07:08:09.123456, or T for the blank.
func ISOTimestamp(s string) (ts int64, ok bool) {
	if len(s) < 10 {
		return 0, false
	}
	day, ok := isoDay(s)
	if !ok || len(s) == 10 {
		return day * MicrosPerDay, ok
	}
	if len(s) < 19 || s[10] != ' ' && s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	h, m, sec := twoDigits(s, 11), twoDigits(s, 14), twoDigits(s, 17)
	if uint(h) > 23 || uint(m) > 59 || uint(sec) > 59 {
		return 0, false
	}
	micros := 0
	if len(s) > 19 {
		if s[19] != '.' || len(s) == 20 || len(s) > 26 {
			return 0, false
		}
		for i := range 6 {
			d := byte(0)
			if 20+i < len(s) {
				if d = s[20+i] - '0'; d > 9 {
					return 0, false
				}
			}
			micros = micros*10 + int(d)
		}
	}
	return day*MicrosPerDay + (int64(h*60+m)*60+int64(sec))*microsPerSec + int64(micros), true
}

// isoDay reads the date that s begins with.
func isoDay(s string) (day int64, ok bool) {
	y1, y2, m, d := twoDigits(s, 0), twoDigits(s, 2), twoDigits(s, 5), twoDigits(s, 8)
	if y1|y2|m|d < 0 || y1+y2 == 0 || s[4] != '-' || s[7] != '-' || m == 0 || m > 12 || d == 0 || d > daysIn(100*y1+y2, m) {
		return 0, false
	}
	return YMDToDate(100*y1+y2, m, d), true
}

// twoDigits is the number of two digits at i; negative if they are none.
func twoDigits(s string, i int) int {
	a, b := s[i]-'0', s[i+1]-'0'
	if a > 9 || b > 9 {
		return -1
	}
	return int(a)*10 + int(b)
}
