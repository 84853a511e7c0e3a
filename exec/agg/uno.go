package agg

import (
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/sql/types"
)

// unoFold is concordance_index_ipcw, Uno's index of rows (pairs.Uno), whose order does not matter.
type unoFold struct{ rows []pairs.WeightedSurvival }

func (f *unoFold) add(row types.Row) error {
	for _, d := range row {
		if d == nil {
			return nil
		}
	}
	f.rows = append(f.rows, pairs.WeightedSurvival{Time: row[0].(float64), Event: row[1].(bool), Risk: row[2].(float64)})
	return nil
}

func (f *unoFold) result() (types.Datum, error) {
	v, ok := pairs.Uno(f.rows)
	f.rows = f.rows[:0]
	return index(v, ok), nil
}

func (f *unoFold) held() int64 {
	return int64(cap(f.rows)) * int64(unsafe.Sizeof(pairs.WeightedSurvival{})+2*unsafe.Sizeof(float64(0)))
}
