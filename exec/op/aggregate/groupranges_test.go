package aggregate

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/sql/types"
)

// weighed is an aggregate whose groups have results of different sizes. It counts how many groups
// it was asked about.
type weighed struct {
	agg.Agg
	weights []int64
	asked   int
}

func (w *weighed) Takes([]arrow.Array, int) int64 { return 0 }

func (w *weighed) Need(from, to int, _ bool) (n int64) {
	for _, v := range w.weights[from:to] {
		n += v
	}
	w.asked += to - from
	return n
}

// TestSome: the results of a table are computed in ranges of groups of limited size. The size of a
// group is found by reading its rows, so each group may be asked about only a few times, however
// large groups are.
func TestSome(t *testing.T) {
	const groups, most = 5000, 1000
	for _, weigh := range []func(g int) int64{
		func(int) int64 { return 0 },
		func(int) int64 { return 1 },
		func(int) int64 { return most - 1 },
		func(int) int64 { return 3 * most },
		func(g int) int64 { return int64(g*7919) % 300 },
		func(g int) int64 { return int64(g % 100 / 99 * 5 * most) },
	} {
		w := &weighed{}
		for g := range groups {
			w.weights = append(w.weights, weigh(g))
		}
		table := newGroupTable([]types.Type{types.Int8}, []agg.Agg{w})
		pieces, weight := 0, int64(0)
		for from, to := 0, 0; from < groups; from = to {
			var need int64
			to, need = table.some(from, min(from+1024, groups), true, most)
			if to <= from || to-from > 1 && need > most {
				t.Fatalf("groups %d to %d take %d bytes", from, to, need)
			}
			pieces, weight = pieces+1, weight+need
		}
		if w.asked > 6*groups {
			t.Errorf("%d pieces of %d groups: %d were asked for", pieces, groups, w.asked)
		}
		for _, v := range w.weights {
			weight -= v
		}
		if weight != 0 {
			t.Errorf("pieces take %d bytes more than all groups", weight)
		}
	}
}
