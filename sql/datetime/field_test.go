package datetime

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestFields: fields in loops and value by value are what Extract returns, before and after 1970, at the ends of days, for
// all that is finite; and nothing is too odd for a loop.
func TestFields(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	vals := []int64{0, -1, 1, MicrosPerDay, -MicrosPerDay, MicrosPerDay - 1, -MicrosPerDay - 1, MinTimestamp, MaxTimestamp}
	for range 3000 {
		v := r.Int64N(200*365*MicrosPerDay) - 100*365*MicrosPerDay
		vals = append(vals, v, v-v%MicrosPerDay, v-v%microsPerHour)
	}
	dates := make([]int64, len(vals))
	for i, v := range vals {
		dates[i] = v / MicrosPerDay
	}
	stamps := vals
	for _, kind := range []Kind{KindTimestamp, KindTimestamptz, KindDate} {
		vals := stamps
		if kind == KindDate {
			vals = dates
		}
		for _, name := range []string{"microseconds", "milliseconds", "second", "minute", "hour", "day", "dow", "isodow", "doy", "week", "month", "quarter", "year", "isoyear", "decade", "century", "millennium", "epoch"} {
			f, ok := FieldOf(name, kind, time.UTC)
			if _, clock := clockField(dtUnit(unitWord(name).val)); kind == KindDate && (clock || name == "epoch") {
				continue
			}
			if !ok || f.Fill == nil {
				t.Fatalf("%s of %v has no loop", name, kind)
			}
			got := make([]int64, len(vals))
			f.Fill(vals, got)
			for i, v := range vals {
				d, some, err := Extract(name, kind, v, time.UTC)
				if err != nil || !some {
					t.Fatal(name, v, err)
				}
				want, exact := d.Coefficient(f.Scale)
				if !exact || got[i] != want || f.Get(v) != want {
					t.Fatalf("%s of %d is %d in a loop, %d by itself, not %v", name, v, got[i], f.Get(v), d)
				}
			}
			f.Fill([]int64{math.MinInt64, math.MaxInt64, DateInf, DateNegInf}, make([]int64, 4))
		}
	}
}
