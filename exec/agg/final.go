package agg

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// known refuses aggregates that final does not compute.
func (c *collect) known() error {
	switch c.call.Fn.Name {
	case "array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg",
		"percentile_cont", "percentile_disc", "mode", "rank", "dense_rank", "percent_rank", "cume_dist", "concordance_index":
		return nil
	}
	return pgerr.Unsupported("aggregate function %s is not supported", c.call.Fn.Name)
}

// final computes the aggregate from a group's arranged rows.
func (c *collect) final(rows []types.Row) (types.Datum, error) {
	switch c.call.Fn.Name {
	case "array_agg":
		return c.arrayAgg(rows)
	case "json_agg", "jsonb_agg":
		return c.jsonAgg(rows)
	case "json_object_agg", "jsonb_object_agg":
		return c.jsonObjectAgg(rows)
	case "percentile_cont", "percentile_disc":
		return c.percentile(rows)
	case "mode":
		return c.mode(rows), nil
	case "concordance_index":
		return concordance(rows), nil
	}
	return c.hypothetical(rows), nil
}

func (c *collect) arrayAgg(rows []types.Row) (types.Datum, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if c.args[0].IsArray() {
		return nil, pgerr.Unsupported("arrays of more than one dimension are not supported")
	}
	a := types.Array{Elem: c.args[0], Elems: make([]types.Datum, len(rows))}
	for i, r := range rows {
		a.Elems[i] = r[0]
	}
	return a, nil
}

// stringAggs writes the strings of groups [from, to) where they are to stay.
func (c *collect) stringAggs(from, to int) (arrow.Array, error) {
	size, _, _ := c.values(from, to)
	if size > maxBytes {
		return nil, errTooLong(size)
	}
	offs := make([]int32, 1, to-from+1)
	out := make([]byte, 0, size)
	valid := make([]byte, batch.BitmapBytes(to-from))
	for g := from; g < to; g++ {
		rows := c.arranged(c.rows[g])
		for i, r := range rows {
			if i > 0 && len(c.args) > 1 {
				out = appendAny(out, r[1])
			}
			out = appendAny(out, r[0])
		}
		if len(rows) > 0 {
			batch.SetBit(valid, g-from)
		}
		offs = append(offs, int32(len(out)))
	}
	return batch.FromOffsets(c.call.Typ.Arrow(), offs, out, valid), nil
}

func appendAny(dst []byte, d types.Datum) []byte {
	switch v := d.(type) {
	case string:
		return append(dst, v...)
	case []byte:
		return append(dst, v...)
	}
	return dst
}

func (c *collect) jsonAgg(rows []types.Row) (types.Datum, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	out := []byte{'['}
	nested := c.args[0].OID == types.RecordOID || c.args[0].IsArray()
	for i, r := range rows {
		if i > 0 {
			out = append(out, ", "...)
			if nested && r[0] != nil { // as PostgreSQL has it
				out = append(out, "\n "...)
			}
		}
		var err error
		if out, err = types.AppendJSON(out, c.args[0], r[0], c.env); err != nil {
			return nil, err
		}
	}
	return c.json(append(out, ']'))
}

// json returns text as the result type wants it: jsonb is canonical.
func (c *collect) json(text []byte) (types.Datum, error) {
	if c.call.Typ.OID == types.JSONBOID {
		return types.ParseText(types.JSONB, string(text), c.env)
	}
	return string(text), nil
}

func (c *collect) jsonObjectAgg(rows []types.Row) (types.Datum, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	out := []byte("{ ")
	for i, r := range rows {
		if r[0] == nil {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "field name must not be null")
		}
		if i > 0 {
			out = append(out, ", "...)
		}
		key := string(types.AppendText(nil, c.args[0], r[0], c.env))
		var err error
		if out, err = types.AppendJSON(out, types.Text, key, c.env); err != nil {
			return nil, err
		}
		out = append(out, " : "...)
		if out, err = types.AppendJSON(out, c.args[1], r[1], c.env); err != nil {
			return nil, err
		}
	}
	return c.json(append(out, " }"...))
}

// percentile is percentile_cont and percentile_disc, of one fraction or an
// array of them. rows are sorted by the ordered argument.
func (c *collect) percentile(rows []types.Row) (types.Datum, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	at := len(c.args)
	one := func(f types.Datum) (types.Datum, error) {
		if f == nil {
			return nil, nil
		}
		p, ok := f.(float64)
		if !ok {
			return nil, pgerr.Internal("percentile fraction is not float8")
		}
		if err := checkFraction(p); err != nil {
			return nil, err
		}
		n := float64(len(rows))
		if c.call.Fn.Name == "percentile_disc" {
			i := int(math.Ceil(p*n)) - 1
			return rows[max(i, 0)][at], nil
		}
		pos := p * (n - 1)
		lo, hi := int(math.Floor(pos)), int(math.Ceil(pos))
		if lo == hi {
			return rows[lo][at], nil
		}
		frac := pos - float64(lo)
		switch a := rows[lo][at].(type) {
		case float64:
			b := rows[hi][at].(float64)
			return a + frac*(b-a), nil
		case datetime.Interval:
			b := rows[hi][at].(datetime.Interval)
			d, err := datetime.IntervalMul(datetime.Interval{Months: b.Months - a.Months, Days: b.Days - a.Days, Micros: b.Micros - a.Micros}, frac)
			return datetime.Interval{Months: a.Months + d.Months, Days: a.Days + d.Days, Micros: a.Micros + d.Micros}, err
		}
		return nil, pgerr.Internal("percentile_cont of an unexpected type")
	}
	fr := rows[0][0]
	arr, ok := fr.(types.Array)
	if !ok {
		return one(fr)
	}
	elem, _ := c.call.Typ.Elem()
	out := types.Array{Elem: elem, Elems: make([]types.Datum, len(arr.Elems))}
	for i, f := range arr.Elems {
		v, err := one(f)
		if err != nil {
			return nil, err
		}
		out.Elems[i] = v
	}
	return out, nil
}

func checkFraction(p float64) error {
	if p < 0 || p > 1 || math.IsNaN(p) {
		return pgerr.New(pgerr.NumericValueOutOfRange, "percentile value %g is not between 0 and 1", p)
	}
	return nil
}

// mode is the most frequent value, the first in order among equals.
func (c *collect) mode(rows []types.Row) types.Datum {
	at := len(c.args)
	var best types.Datum
	most := 0
	for i := 0; i < len(rows); {
		j := i
		for j < len(rows) && types.Compare(c.order[0], rows[i][at], rows[j][at]) == 0 {
			j++
		}
		if j-i > most {
			most, best = j-i, rows[i][at]
		}
		i = j
	}
	return best
}

// hypothetical is the rank that the direct arguments would have among the rows.
func (c *collect) hypothetical(rows []types.Row) types.Datum {
	if len(rows) == 0 {
		switch c.call.Fn.Name {
		case "percent_rank":
			return 0.0
		case "cume_dist":
			return 1.0
		}
		return int64(1)
	}
	n := len(c.order)
	less, equal, distinct := 0, 0, 0
	var last types.Row
	for _, r := range rows {
		x := 0
		for k := 0; k < n && x == 0; k++ {
			o := c.call.OrderBy[k]
			x = compareNulls(c.order[k], r[len(c.args)+k], r[k], o.Desc, o.NullsFirst)
		}
		if x < 0 {
			less++
			same := last != nil
			for k := 0; k < n && same; k++ {
				same = compareNulls(c.order[k], r[len(c.args)+k], last[len(c.args)+k], false, false) == 0
			}
			if !same {
				distinct++
			}
			last = r
		} else if x == 0 {
			equal++
		}
	}
	switch c.call.Fn.Name {
	case "dense_rank":
		return int64(distinct + 1)
	case "percent_rank":
		return float64(less) / float64(len(rows))
	case "cume_dist":
		return float64(less+equal+1) / float64(len(rows)+1)
	}
	return int64(less + 1)
}

// concordance is of rows of a time, whether the event came then, and a risk.
func concordance(rows []types.Row) types.Datum {
	list := make([]kernel.Survival, len(rows))
	for i, r := range rows {
		list[i] = kernel.Survival{Time: r[0].(float64), Event: r[1].(bool), Risk: r[2].(float64), Weight: 1}
	}
	if v, ok := kernel.Concordance(list); ok {
		return v
	}
	return nil
}
