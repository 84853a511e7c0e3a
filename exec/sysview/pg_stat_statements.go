package sysview

import (
	"math"

	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// StatementsExtension is what pg_stat_statements belongs to in PostgreSQL. It is always there.
const (
	StatementsExtension               = "pg_stat_statements"
	statementsRelation      types.OID = 13740
	statementsExtensionOID  types.OID = 13991
	statementsExtensionVers           = "1.10"
)

// pgStatStatements adds up what the nodes have counted. Of PostgreSQL's counters those of buffers, of
// the write-ahead log and of its compiler are 0.
func pgStatStatements(v *view, put put) error {
	all := make([]int16, 19) // the columns of a node's part
	for i := range all {
		all[i] = int16(i + 1)
	}
	rows, err := v.host.NodeRows(v.shape.name, all)
	if err != nil {
		return err
	}
	type key struct{ user, query types.Datum }
	var merged [][]types.Datum
	at := map[key]int{}
	for _, r := range rows {
		if len(r) < len(all) {
			continue
		}
		k := key{r[0], r[3]}
		i, ok := at[k]
		if !ok || k.query == nil { // one that is hidden has no number
			at[k] = len(merged)
			merged = append(merged, r)
			continue
		}
		m := merged[i]
		mergeTimes(m[5:11], r[5:11])
		mergeTimes(m[11:17], r[11:17])
		m[17], m[18] = m[17].(int64)+r[17].(int64), m[18].(int64)+r[18].(int64)
	}
	for _, m := range merged {
		f := v.fields()
		for i, c := range v.shape.cols {
			switch {
			case i < 18:
				f.row[i] = m[i]
			case c.Type == types.Float8:
				f.row[i] = 0.0
			case c.Type == types.Numeric:
				f.row[i] = number.DecimalFromInt64(0, 0)
			default:
				f.row[i] = 0
			}
		}
		f.set("temp_blks_written", m[18].(int64)/blockBytes)
		if err := put(f.row...); err != nil {
			return err
		}
	}
	return nil
}

// mergeTimes adds times: their number, sum, least, most, mean and standard deviation.
func mergeTimes(m, r []types.Datum) {
	f := func(x types.Datum) float64 { return x.(float64) }
	n, k := float64(m[0].(int64)), float64(r[0].(int64))
	switch {
	case k == 0:
		return
	case n == 0:
		copy(m, r)
		return
	}
	d := f(r[4]) - f(m[4])
	squares := n*f(m[5])*f(m[5]) + k*f(r[5])*f(r[5]) + d*d*n*k/(n+k)
	sum := f(m[1]) + f(r[1])
	copy(m, []types.Datum{int64(n + k), sum, min(f(m[2]), f(r[2])), max(f(m[3]), f(r[3])), sum / (n + k), math.Sqrt(squares / (n + k))})
}
