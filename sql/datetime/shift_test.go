package datetime

import (
	"math/rand/v2"
	"testing"
)

// TestShift: it is TimestampAddInterval wherever it answers, and it answers for everyday times.
func TestShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 400 {
		iv := Interval{Months: rng.Int32N(60) - 30, Days: rng.Int32N(800) - 400, Micros: rng.Int64N(4*MicrosPerDay) - 2*MicrosPerDay}
		switch rng.IntN(6) {
		case 0:
			iv.Months = 0
		case 1:
			iv = Interval{Months: int32(rng.Uint32()), Days: rng.Int32N(2e7) - 1e7, Micros: rng.Int64() - 1<<62}
		case 2:
			iv.Months, iv.Days = 0, rng.Int32N(2e7)-1e7
		}
		shift := Shift(iv)
		if shift == nil {
			continue
		}
		for range 200 {
			ts, common := rng.Int64N(1<<52)-1<<51, true
			switch rng.IntN(12) {
			case 0:
				ts, common = int64(rng.Uint64()), false
			case 1:
				ts, common = MinTimestamp+rng.Int64N(1000*MicrosPerDay), false
			case 2:
				ts, common = []int64{TimestampInf, TimestampNegInf, MaxTimestamp, MinTimestamp}[rng.IntN(4)], false
			}
			want, err := TimestampAddInterval(ts, iv, nil)
			got, ok := shift(ts)
			if ok && (err != nil || got != want) {
				t.Fatalf("%d + %+v: %d, want %d, %v", ts, iv, got, want, err)
			}
			if !ok && common && err == nil && iv.Months > -1000 && iv.Months < 1000 && iv.Days > -1000 && iv.Days < 1000 {
				t.Fatalf("%d + %+v is not answered", ts, iv)
			}
		}
	}
}
