package datetime

import (
	"math"
	"math/rand/v2"
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
	// The quick formulas are the general ones, up to where they are used and beyond.
	rnd := rand.New(rand.NewPCG(3, 1))
	for i := range 1 << 20 {
		day := int64(rnd.Uint64()) >> (20 + i%40)
		switch i % 8 {
		case 0:
			day = -civilEpoch + int64(i) - 1<<19
		case 1:
			day = 1<<32 - civilEpoch + int64(i) - 1<<19
		}
		y, m, d := farDateToYMD(day)
		if gy, gm, gd := DateToYMD(day); gy != y || gm != m || gd != d || YMDToDate(y, m, d) != day {
			t.Fatalf("day %d is %d-%d-%d, got %d-%d-%d and back %d", day, y, m, d, gy, gm, gd, YMDToDate(y, m, d))
		}
		if k := rnd.IntN(2000) - 1000; YMDToDate(y, m+k, d) != YMDToDate(y+(m+k-1-((m+k-1)%12+12)%12)/12, ((m+k-1)%12+12)%12+1, d) {
			t.Fatalf("%d months from %d-%d-%d", k, y, m, d)
		}
	}
	if got := YMDToDate(2020, 14, 0); got != YMDToDate(2021, 1, 31) {
		t.Errorf("carrying gives %d", got)
	}
	if v := RoundMicros(math.MaxInt64/2, 0); v%1e6 != 0 {
		t.Error(v)
	}
}
