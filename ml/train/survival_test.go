package train

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// TestTimesToEvents: the column of events is not a feature and is kept with the target, whatever
// its type, wherever rows are.
func TestTimesToEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	cols := []record.Column{{Name: "a", Type: types.Float8}, {Name: "k", Type: types.Text}, {Name: "days", Type: types.Float8}, {Name: "died", Type: types.Bool}}
	tb := &table{cols: cols}
	number := &table{cols: slices.Clone(cols)}
	number.cols[3].Type = types.Int4
	for range 3000 {
		a, k := r.NormFloat64(), r.IntN(2)
		days, until := math.Ceil(30*r.ExpFloat64()/math.Exp(a+float64(k))), float64(r.IntN(90))
		died := days <= until
		row := []any{a, []string{"x", "y"}[k], min(days, until), died}
		tb.rows = append(tb.rows, row)
		bit := int32(0)
		if died {
			bit = 1
		}
		number.rows = append(number.rows, []any{row[0], row[1], row[2], bit})
	}
	options := []any{"event", "died", "data_split_eval_fraction", 0.2, "max_iterations", int64(30)}
	var want []byte
	for i, tb := range []*table{tb, number, tb} {
		job := mustJob(t, "time_to_event", "days", tb, options...)
		res, err := trainTable(t, job, tb, setup{workers: 1 + i, threads: 2, shuffle: uint64(i)}, Input{})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Model.Fitted.Cols) != 2 || res.Model.Columns()[0].Name != "risk" {
			t.Fatalf("features %v, columns %v", res.Model.Fitted.Cols, res.Model.Columns())
		}
		if len(res.Metrics) != 1 || res.Metrics[0].Name != "concordance" || res.Metrics[0].Value < 0.7 {
			t.Errorf("metrics %v", res.Metrics)
		}
		if i == 0 {
			want = res.Model.Encode()
		} else if i == 2 && !bytes.Equal(res.Model.Encode(), want) {
			t.Error("three workers make another model")
		}
	}
	last := len(tb.rows) - 1
	for _, c := range []struct {
		name string
		row  []any
		want string
	}{
		{"no event", []any{0.1, "x", 3.0, nil}, "event column"},
		{"negative", []any{0.1, "x", -3.0, false}, "duration column"},
		{"no duration", []any{0.1, "x", nil, false}, "contains NULL"},
	} {
		bad := &table{cols: cols, rows: append(slices.Clone(tb.rows[:last]), c.row)}
		if _, err := trainTable(t, mustJob(t, "time_to_event", "days", bad, options...), bad, setup{workers: 1, threads: 1}, Input{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	number.rows[0] = []any{0.1, "x", 3.0, int32(2)}
	if _, err := trainTable(t, mustJob(t, "time_to_event", "days", number, options...), number, setup{workers: 1, threads: 1}, Input{}); err == nil || !strings.Contains(err.Error(), "other than 0 and 1") {
		t.Errorf("an event of 2: %v", err)
	}
	for option, want := range map[string]string{"days": "cannot be both target and event", "k": "must be boolean", "nobody": "does not exist"} {
		if _, err := NewJob("time_to_event", []string{"days"}, pairs("event", option), nil, cols); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("event %s: %v", option, err)
		}
	}
}
