package datetime

import (
	"math"
	"testing"
)

func TestCalendarDays(t *testing.T) {
	// Every day of eight centuries, around year 0 and around now, compared with counting days one
	// by one.
	for _, start := range []int{-401, 1599} {
		day := YMDToDate(start, 1, 1)
		for y := start; y < start+801; y++ {
			for m := 1; m <= 12; m++ {
				for d := 1; d <= daysIn(y, m); d++ {
					if gy, gm, gd := DateToYMD(day); gy != y || gm != m || gd != d || YMDToDate(y, m, d) != day {
						t.Fatalf("day %d is %d-%d-%d, got %d-%d-%d", day, y, m, d, gy, gm, gd)
					}
					day++
				}
			}
		}
	}
	if got := YMDToDate(2020, 14, 0); got != YMDToDate(2021, 1, 31) {
		t.Errorf("carrying gives %d", got)
	}
	if v := RoundMicros(math.MaxInt64/2, 0); v%1e6 != 0 {
		t.Error(v)
	}
}
