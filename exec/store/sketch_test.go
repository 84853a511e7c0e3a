package store_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/types"
)

// TestConsecutiveZones: zone maps of consecutive numbers, for which there is a shorter computation,
// equal those of numbers in any order, whatever lies between and after them.
func TestConsecutiveZones(t *testing.T) {
	const group = 64
	count := func(from, n int64) (out []int64) {
		for i := range n {
			out = append(out, from+i)
		}
		return out
	}
	join := func(parts ...[]int64) (out []int64) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	pool := mem.NewPool("n", 0)
	for name, c := range map[string]struct {
		vals  []int64
		exact bool // the number of distinct values is exact, not an estimate
	}{
		"whole":          {count(-70, 5*group), true},
		"one group less": {count(5, group-1), true},
		"a gap":          {join(count(1, 2*group), count(1000, 2*group)), false},
		"backwards":      {join(count(1000, 2*group), count(1, 2*group)), false},
		"again":          {join(count(1, 2*group), count(1, 2*group), count(1, 2*group)), false},
		"then others":    {join(count(1, 2*group), []int64{7, 7, 3}), false},
		"others first":   {join(count(1, group-1), []int64{1}, count(2, 3*group)), false},
		"turned round":   {join(count(math.MaxInt32-group+1, group), count(math.MinInt32, group)), false},
		"inside a group": {join(count(math.MaxInt32-group/2+1, group/2), count(math.MinInt32, group/2)), false},
		"one lost":       {join(count(1, group/2), count(group/2+2, group/2)), false},
		"two swapped":    {join(count(1, 3), []int64{5, 4}, count(6, group-5)), false},
	} {
		for _, typ := range []types.Type{types.Int8, types.Int4} {
			vals := c.vals
			if typ.OID == types.Int8OID && (name == "turned round" || name == "inside a group") {
				vals = nil
				for _, v := range c.vals { // the same near the ends of the range of int8
					if v > 0 {
						v = math.MaxInt64 - (math.MaxInt32 - v)
					} else {
						v = math.MinInt64 + (v - math.MinInt32)
					}
					vals = append(vals, v)
				}
			}
			columns := []store.WriterColumn{{Num: 1, Type: typ}}
			data := make(rows, len(vals))
			seen := map[int64]bool{}
			least, most, rises := vals[0], vals[0], true
			for i, v := range vals {
				data[i] = []types.Datum{v}
				seen[v] = true
				least, most, rises = min(least, v), max(most, v), rises && (i == 0 || v > vals[i-1])
			}
			w := open(t, nil).NewWriter(store.WriterOptions{Columns: columns, GroupRows: group, InlineBytes: -1, Account: pool.Account("w", false)})
			if err := w.Write(ctx, batchOf(t, columns, data, false)); err != nil {
				t.Fatal(err)
			}
			segs, err := w.Finish(ctx)
			if err != nil || len(segs) != 1 {
				t.Fatal(len(segs), err)
			}
			z := segs[0].Zones[0]
			if z.Min != least || z.Max != most || z.Unique != rises || z.Nulls != 0 {
				t.Errorf("%s, %s: %+v, not %d to %d, different %t", name, typ, z, least, most, rises)
			}
			n := int64(len(seen))
			if d := z.Distinct - n; c.exact && d != 0 || d > n/10 || d < -n/10 {
				t.Errorf("%s, %s: %d different values, not %d", name, typ, z.Distinct, n)
			}
		}
	}
}

// TestDistinct: how many values a segment has does not depend on which bits of them differ.
func TestDistinct(t *testing.T) {
	const n = 40_000
	pool := mem.NewPool("n", 0)
	text := func(f func(i int64) int64) func(int64) types.Datum {
		return func(i int64) types.Datum { return strconv.FormatInt(f(i), 10) }
	}
	for name, value := range map[string]func(i int64) types.Datum{
		"dense, shuffled":  func(i int64) types.Datum { return i * 7919 % n },
		"negative":         func(i int64) types.Datum { return -(i * 7919 % n) },
		"multiples of 2^k": func(i int64) types.Datum { return (i * 7919 % n) << 20 },
		"of high bits":     func(i int64) types.Datum { return (i * 7919 % n) << 47 },
		"powers of two":    func(i int64) types.Datum { return int64(1) << (i % 62) },
		"texts":            text(func(i int64) int64 { return i * 7919 % n }),
		"few texts":        text(func(i int64) int64 { return i % 1000 }),
		"shorts":           func(i int64) types.Datum { return i*7919%n - 1<<15 },
		"few shorts":       func(i int64) types.Datum { return i % 300 },
		"one short, NULLs": func(i int64) types.Datum {
			if i%3 == 0 {
				return nil
			}
			return int64(-5)
		},
		"round floats": func(i int64) types.Datum { return float64(i * 7919 % n) },
	} {
		columns := []store.WriterColumn{{Num: 1, Type: types.Int8}}
		switch value(0).(type) {
		case string:
			columns[0].Type = types.Text
		case float64:
			columns[0].Type = types.Float8
		}
		if strings.Contains(name, "short") {
			columns[0].Type = types.Int2
		}
		data, seen := make(rows, n), map[types.Datum]bool{}
		for i := range data {
			if data[i] = []types.Datum{value(int64(i))}; data[i][0] != nil {
				seen[data[i][0]] = true
			}
		}
		w := open(t, nil).NewWriter(store.WriterOptions{Columns: columns, InlineBytes: -1, Account: pool.Account("w", false)})
		if err := w.Write(ctx, batchOf(t, columns, data, false)); err != nil {
			t.Fatal(err)
		}
		segs, err := w.Finish(ctx)
		if err != nil || len(segs) != 1 {
			t.Fatal(len(segs), err)
		}
		if got, want := float64(segs[0].Zones[0].Distinct), float64(len(seen)); math.Abs(got-want) > want/10 {
			t.Errorf("%s: %g different values, not %g", name, got, want)
		}
	}
}
