package setfn

import (
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// cumulativeIncidence returns a row for each cause and time of an event: the probability that an event of this cause has
// happened by then, where another cause may come first (Aalen and Johansen 1978). Its arguments are times, ascending,
// with the causes, NULL for none, and the numbers of rows.
func cumulativeIncidence(c *function.SetCall, args []types.Datum) (function.Generator, error) {
	times, causes, counts := vector.Elems(args[0]), vector.Elems(args[1]), vector.Elems(args[2])
	if len(causes) != len(times) || len(counts) != len(times) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "times, causes and counts are not as many")
	}
	left := int64(0)
	for i, n := range counts {
		if !(times[i].(float64) >= 0) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "a duration is negative, or no number")
		}
		left += n.(int64)
	}
	type row struct {
		cause  string
		values types.Row
	}
	var rows []row
	sums := map[string]float64{}
	survival := 1.0
	for from := 0; from < len(times); {
		to, events, gone := from, int64(0), int64(0)
		for ; to < len(times) && times[to] == times[from]; to++ {
			n := counts[to].(int64)
			if gone += n; causes[to] != nil {
				events += n
			}
		}
		after := survival * (1 - float64(events)/float64(left))
		for i := from; i < to; i++ {
			if causes[i] == nil {
				continue
			}
			cause, n := causes[i].(string), counts[i].(int64)
			sums[cause] += survival * float64(n) / float64(left)
			rows = append(rows, row{cause, types.Row{cause, times[i], left, n, sums[cause], after}})
		}
		survival, left, from = after, left-gone, to
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.cause, b.cause) })
	out := make([]types.Datum, len(rows))
	for i, r := range rows {
		out[i] = r.values
	}
	return c.List(out), nil
}
