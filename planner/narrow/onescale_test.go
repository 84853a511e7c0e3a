package narrow

import (
	"math/rand"
	"testing"

	"github.com/tributarydb/tributary/sql/number"
)

// TestOneScale: the mean of numbers of at most meanDigits digits is the same, with the same digits shown, whether
// each has its own scale or all have the greatest.
func TestOneScale(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for range 200000 {
		prec := 1 + r.Intn(meanDigits)
		scale := r.Intn(prec + 1)
		limit := int64(1)
		for range prec - scale {
			limit *= 10
		}
		var own, fixed number.Decimal
		n := 1 + r.Intn(5)
		for range n {
			s, most := r.Intn(scale+1), limit
			for range s {
				most *= 10
			}
			v := r.Int63n(most) >> r.Intn(45)
			if r.Intn(3) == 0 {
				v = most - 1
			}
			d := number.DecimalFromInt64(v, int32(s))
			c, ok := d.Coefficient(int32(scale))
			if !ok {
				t.Fatal(d, scale)
			}
			own, fixed = plus(t, own, d), plus(t, fixed, number.DecimalFromInt64(c, int32(scale)))
		}
		count := number.DecimalFromInt64(int64(n)*[]int64{1, 1000, 99999}[r.Intn(3)], 0)
		a, err := own.Div(count)
		b, err2 := fixed.Div(count)
		if err != nil || err2 != nil || a.String() != b.String() {
			t.Fatalf("%v / %v is %v, and of scale %d %v", own, count, a, scale, b)
		}
	}
}
