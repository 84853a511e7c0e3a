package datetime

import (
	"math/rand"
	"testing"
)

// TestTruncation: what is remembered of days is what date_trunc says of each value.
func TestTruncation(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for _, unit := range []string{"microseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "Year", "decade", "century", "millennium"} {
		f := Truncation(unit)
		for i := range 20000 {
			ts := r.Int63n(40*365*MicrosPerDay) - 10*365*MicrosPerDay
			if i%10 == 0 {
				ts = MinTimestamp + r.Int63n(MaxTimestamp)
			}
			want, err := DateTrunc(unit, ts, nil)
			if got, ok := f(ts); ok != (err == nil) || ok && got != want {
				t.Fatalf("%s of %d is %d, %v, want %d, %v", unit, ts, got, ok, want, err)
			}
		}
	}
	if Truncation("dow") != nil || Truncation("nothing") != nil {
		t.Error("what is no unit has a function")
	}
}
