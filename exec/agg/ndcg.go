package agg

import (
	"unsafe"

	"github.com/tributarydb/tributary/exec/metric"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// ndcgFold is ndcg of the rows of one query, whose order does not matter (metric.NDCG). It measures as many places
// as the greatest third argument says, ten without one.
type ndcgFold struct {
	rows   []metric.Judged
	places int
}

func (f *ndcgFold) add(row types.Row) error {
	for _, d := range row {
		if d == nil {
			return nil
		}
	}
	y := row[0].(float64)
	label, ok := metric.Relevance(y)
	if !ok {
		return pgerr.New(pgerr.InvalidParameterValue, "%v is no label of relevance", y).
			WithHint("Labels are whole numbers from 0, not relevant, to %d.", metric.MostRelevant)
	}
	places := 10
	if len(row) > 2 {
		if places = int(row[2].(int64)); places < 1 {
			return pgerr.New(pgerr.InvalidParameterValue, "ndcg of %d places is not defined", places)
		}
	}
	f.places = max(f.places, places)
	f.rows = append(f.rows, metric.Judged{Score: row[1].(float64), Label: label})
	return nil
}

func (f *ndcgFold) result() (types.Datum, error) {
	if len(f.rows) == 0 {
		return nil, nil
	}
	metric.ByScore(f.rows)
	v := metric.NDCG(f.rows, f.places)
	f.rows, f.places = f.rows[:0], 0
	return v, nil
}

func (f *ndcgFold) held() int64 {
	return int64(cap(f.rows)) * int64(unsafe.Sizeof(metric.Judged{}))
}
