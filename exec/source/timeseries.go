package source

import (
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// people are the values of timeseries' column name.
var people = strings.Fields("Alice Bob Charlie Dan Edith Frank George Hannah Ingrid Jerry Kevin Laura Michael Norbert Oliver Patricia " +
	"Quinn Ray Sarah Tim Ursula Victor Wendy Xavier Yvonne Zelda")

// newTimeseries is a demonstration table: a row every freq from start up to
// end with a number around 1000, a name, and two numbers in [-1, 1).
func newTimeseries(_ *Sources, a *args) (table, error) {
	if !a.names("start", "end", "freq", "seed") {
		return nil, a.err
	}
	const day = int64(86400e6)
	start := a.moment("start", 10957*day) // 2000-01-01
	end := a.moment("end", start+30*day)
	step := a.span("freq", 1e6)
	seed := a.seed("seed")
	if a.err != nil {
		return nil, a.err
	}
	if step <= 0 {
		a.bad("freq", "must be greater than zero")
		return nil, a.err
	}
	n := int64(0)
	if end > start {
		n = (end - start + step - 1) / step
	}
	if n > maxRows {
		a.bad("freq", "gives more than %d rows", int64(maxRows))
		return nil, a.err
	}
	names := array.NewStringBuilder(memory.DefaultAllocator)
	names.AppendValues(people, nil)
	dict := names.NewArray()
	make := func(b, from int64, n int, want []bool) []arrow.Array {
		out := make([]arrow.Array, 5)
		if want[0] {
			ts := make([]int64, n)
			for i := range ts {
				ts[i] = start + (from+int64(i))*step
			}
			out[0] = batch.FromSlice(types.TimestampArrow, ts, nil)
		}
		if want[1] {
			// Poisson of mean 1000, which is nearly normal.
			id := make([]int64, n)
			for i, v := range normals(seed, 1, b, n) {
				id[i] = int64(math.Round(1000 + float64(v*31.622776601683793)))
			}
			out[1] = ints(id)
		}
		if want[2] {
			s := newStream(seed, 2, uint64(b))
			idx := make([]int32, n)
			for i := range idx {
				idx[i] = int32(s.below(int64(len(people))))
			}
			out[2] = batch.FromIndices(types.DictArrow, idx, nil, dict)
		}
		for j := 3; j < 5; j++ {
			if want[j] {
				s := newStream(seed, uint64(j), uint64(b))
				x := make([]float64, n)
				for i := range x {
					x[i] = float64(2*s.uniform()) - 1
				}
				out[j] = floats(types.Float8, x)
			}
		}
		return out
	}
	return &generator{n: n, make: make, cols: []plan.Column{{Name: "ts", Type: types.Timestamp}, {Name: "id", Type: types.Int8},
		{Name: "name", Type: types.Text}, {Name: "x", Type: types.Float8}, {Name: "y", Type: types.Float8}}}, nil
}

// moment reads a timestamp, date or text.
func (a *args) moment(name string, def int64) int64 {
	for _, p := range a.list {
		if p.Name != name || p.Val == nil {
			continue
		}
		switch v := p.Val.(type) {
		case string:
			ts, err := datetime.ParseTimestamp(v, nil)
			if err != nil {
				a.err = err
			}
			return ts
		case int64:
			switch p.Type.Class() {
			case types.ClassDate:
				return v * 86400e6
			case types.ClassTimestamp, types.ClassTimestamptz:
				return v
			}
		}
		a.bad(name, "must be a timestamp")
	}
	return def
}

// span reads an interval without months, or its text; also short forms as
// "1s", "500ms", "2H", "1T".
func (a *args) span(name string, def int64) int64 {
	d, ok := a.get(name)
	if !ok {
		return def
	}
	if s, isText := d.(string); isText {
		num := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
		unit := map[string]int64{"ms": 1e3, "L": 1e3, "us": 1, "U": 1, "s": 1e6, "S": 1e6, "min": 60e6, "T": 60e6, "h": 3600e6, "H": 3600e6,
			"d": 86400e6, "D": 86400e6}[s[len(num):]]
		if n, err := strconv.ParseInt(num, 10, 32); err == nil && unit > 0 {
			return n * unit
		}
		iv, err := types.ParseText(types.IntervalT, s, types.DefaultEnv)
		if err != nil {
			if a.err == nil {
				a.err = err
			}
			return def
		}
		d = iv
	}
	iv, ok := d.(datetime.Interval)
	if !ok || iv.Months != 0 {
		a.bad(name, "must be an interval without months")
		return def
	}
	return iv.Micros + int64(iv.Days)*86400e6
}
