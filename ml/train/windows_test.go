package train

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// withFading registers the family of windows that exists in tests only.
func withFading(t *testing.T) {
	before := families.All
	families.All = append(slices.Clip(before), familytest.Fading{})
	t.Cleanup(func() { families.All = before })
}

// series makes sequences of random lengths: a key of two columns, NULL in some rows, two order
// columns with ties, a feature, a weight and a target.
func series(n int, seed uint64) *table {
	tb := &table{cols: []record.Column{{Name: "x", Type: types.Float8}, {Name: "id", Type: types.Int8}, {Name: "site", Type: types.Text},
		{Name: "at", Type: types.Float8}, {Name: "seq", Type: types.Text}, {Name: "w", Type: types.Float8}, {Name: "y", Type: types.Float8}}}
	r := rand.New(rand.NewPCG(seed, 2))
	for id := int64(0); len(tb.rows) < n; id++ {
		var site any
		if r.IntN(5) > 0 {
			site = []string{"", "north", "south"}[r.IntN(3)]
		}
		for range r.IntN(60) {
			at := float64(r.IntN(40)-20) / 2
			if r.IntN(30) == 0 {
				at = math.NaN() // NaN sorts last
			}
			tb.rows = append(tb.rows, []any{r.NormFloat64(), id / 2, site, at, []string{"a", "b", "bb"}[r.IntN(3)], r.Float64(), r.NormFloat64()})
		}
	}
	return tb
}

// wanted computes what fading learns by its definition.
func wanted(tb *table, w family.Windows, share float64) (m familytest.FadingSum) {
	groups := map[string][][]any{}
	for _, r := range tb.rows {
		k := fmt.Sprint(r[1], r[2] == nil, r[2])
		if w.PartitionBy == nil {
			k = ""
		}
		groups[k] = append(groups[k], r)
	}
	for _, rows := range groups {
		slices.SortFunc(rows, func(a, b []any) int {
			return cmp.Or(types.CompareFloat(a[3].(float64), b[3].(float64)), cmp.Compare(a[4].(string), b[4].(string)))
		})
		n := 0
		for at := 0; at+w.Length <= len(rows); at += w.Stride {
			n++
		}
		held := 0
		if share > 0 && n > 0 {
			held = int(share * float64(n))
		}
		for k := range n {
			begin := k * w.Stride
			if share == 0 || begin+w.Length <= (n-held)*w.Stride {
				h, y := 0.0, 0.0
				for _, r := range rows[begin : begin+w.Length] {
					h, y = h/2+r[0].(float64), r[6].(float64)
				}
				m.Windows++
				m.HY += h * y
				m.HH += h * h
			}
		}
	}
	return m
}

// distinctTimes makes the order within every partition unique.
func distinctTimes(tb *table) {
	for i, r := range tb.rows {
		r[3] = float64((i*7919)%len(tb.rows)) - 100
	}
}

// TestWindowsAreThoseOfThePartitions trains over windows and compares with the definition.
func TestWindowsAreThoseOfThePartitions(t *testing.T) {
	withFading(t)
	for _, c := range []struct {
		rows           int
		length, stride int64
		noPartition    bool
	}{{3000, 5, 1, false}, {3000, 5, 3, false}, {3000, 7, 7, false}, {3000, 4, 11, false}, {30000, 12, 2, false}, {2000, 50, 5, true}} {
		tb := series(c.rows, 3)
		distinctTimes(tb)
		args := []any{"window", c.length, "stride", c.stride, "order_by", arrayOf("at", "seq"), "partition_by", arrayOf("id", "site"), "standardize", false}
		if c.noPartition {
			args = append(args[:6], "standardize", false)
		}
		job := mustJob(t, "fading", "y", tb, args...)
		got, err := trainTable(t, job, tb, setup{workers: 2, threads: 2, shuffle: 9}, Input{})
		if err != nil {
			t.Fatal(err)
		}
		m, want := got.Model.Predictor.(*familytest.FadingModel), wanted(tb, *job.Plan.Windows, 0)
		if m.Windows != want.Windows || got.Rows != int64(want.Windows) || math.Abs(m.HY-want.HY) > 1e-9*math.Abs(want.HH) || math.Abs(m.HH-want.HH) > 1e-9*want.HH {
			t.Errorf("window %d, stride %d: %+v of %d, want %+v", c.length, c.stride, m.FadingSum, got.Rows, want)
		}
	}
}

func arrayOf(s ...string) types.Array {
	a := types.Array{Elem: types.Text}
	for _, x := range s {
		a.Elems = append(a.Elems, x)
	}
	return a
}

// TestWindowsOnAnySetup trains over windows with other numbers of workers, orders of arrival and
// little memory: the model is the same.
func TestWindowsOnAnySetup(t *testing.T) {
	withFading(t)
	for _, partition := range [][]string{{"id", "site"}, {"site"}} {
		tb := series(30000, 4) // some rows are equal in the order columns, so their bytes decide
		job := mustJob(t, "fading", "y", tb, "window", int64(6), "stride", int64(2), "order_by", arrayOf("at", "seq"), "partition_by", arrayOf(partition...),
			"weight", "w", "data_split_eval_fraction", 0.25)
		if again, err := DecodeJob(job.Encode()); err != nil || !bytes.Equal(again.Encode(), job.Encode()) || fmt.Sprint(again.windows) != fmt.Sprint(job.windows) {
			t.Fatalf("the job does not decode to itself: %v", err)
		}
		var want *Result
		for i, s := range []setup{
			{workers: 1, threads: 1}, {workers: 1, threads: 3, shuffle: 1}, {workers: 3, threads: 2, shuffle: 2}, {workers: 5, threads: 1, shuffle: 3},
			{workers: 1, threads: 1, shuffle: 4, memory: 4 << 20}, {workers: 1, threads: 2, shuffle: 5, memory: 9 << 19},
		} {
			got, err := trainTable(t, job, tb, s, Input{})
			if err != nil {
				t.Fatalf("setup %d: %v", i, err)
			}
			if i == 0 {
				want = got
				if m := got.Model.Predictor.(*familytest.FadingModel); int64(m.Windows) != got.Rows || int64(m.Held) != got.Held || got.Held == 0 || len(got.Metrics) == 0 {
					t.Errorf("%d windows trained on and %d held out, of %d and %d", m.Windows, m.Held, got.Rows, got.Held)
				}
			} else if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || fmt.Sprint(got.Metrics) != fmt.Sprint(want.Metrics) {
				t.Errorf("setup %d: another model: %+v, not %+v", i, got.Model.Predictor, want.Model.Predictor)
			}
		}
	}
}

// TestHeldOutWindowsAreTheLast holds out the end of each sequence, and trains on no row that is in
// a window held out.
func TestHeldOutWindowsAreTheLast(t *testing.T) {
	withFading(t)
	tb := series(0, 1)
	for id := range int64(40) {
		for i := range 104 {
			tb.rows = append(tb.rows, []any{float64(i), id, "s", float64(i), "", 1.0, float64(i)})
		}
	}
	// 100 windows of 5 rows: 20 held out, and the 4 before overlap them.
	job := mustJob(t, "fading", "y", tb, "window", int64(5), "order_by", "at", "partition_by", "id", "data_split_eval_fraction", 0.2, "standardize", false)
	got, err := trainTable(t, job, tb, setup{workers: 2, threads: 1}, Input{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Held != 40*20 || got.Rows != 40*76 {
		t.Errorf("%d windows, %d held out", got.Rows, got.Held)
	}
	want := wanted(tb, *job.Plan.Windows, 0.2)
	if m := got.Model.Predictor.(*familytest.FadingModel); math.Abs(m.HY-want.HY) > 1e-9*want.HH {
		t.Errorf("learnt %+v, want %+v", m.FadingSum, want)
	}
	// If sequences have one window each, a share of the sequences is held out.
	tb.rows = nil
	for id := range int64(2000) {
		for i := range 5 {
			tb.rows = append(tb.rows, []any{float64(i), id, "s", float64(i), "", 1.0, float64(i)})
		}
	}
	if got, err = trainTable(t, job, tb, setup{workers: 1, threads: 1}, Input{}); err != nil {
		t.Fatal(err)
	}
	if got.Rows+got.Held != 2000 || got.Held < 340 || got.Held > 460 {
		t.Errorf("%d sequences, %d held out", got.Rows, got.Held)
	}
}

func TestWindowErrors(t *testing.T) {
	withFading(t)
	tb := series(500, 5)
	for _, c := range []struct {
		code pgerr.Code
		want string
		args []any
	}{
		{pgerr.InvalidParameterValue, `the option "window" is missing`, []any{"order_by", "at"}},
		{pgerr.InvalidParameterValue, `the option "order_by" is missing`, []any{"window", int64(3)}},
		{pgerr.UndefinedColumn, `column "when" does not exist in the training query`, []any{"window", int64(3), "order_by", "when"}},
		{pgerr.InvalidParameterValue, `column "at" cannot be both partition_by and order_by`, []any{"window", int64(3), "order_by", "at", "partition_by", "at"}},
		{pgerr.InvalidParameterValue, `column "at" is named twice in order_by`, []any{"window", int64(3), "order_by", arrayOf("at", "at")}},
		{pgerr.InvalidParameterValue, `column "y" cannot be both target and order_by`, []any{"window", int64(3), "order_by", "y"}},
		{pgerr.FeatureNotSupported, `class weights of windows are not supported`, []any{"window", int64(3), "order_by", "at", "class_weights", "balanced"}},
	} {
		_, err := NewJob("fading", []string{"y"}, pairs(c.args...), nil, tb.cols)
		if err == nil || pgerr.From(err).Message != c.want || pgerr.CodeOf(err) != c.code {
			t.Errorf("%v: %v, want %s", c.args, err, c.want)
		}
	}
	job := mustJob(t, "fading", "y", tb, "window", int64(100), "order_by", "at", "partition_by", "id")
	if _, err := trainTable(t, job, tb, setup{workers: 2, threads: 1}, Input{}); !pgerr.Is(err, pgerr.InvalidParameterValue) {
		t.Errorf("no window: %v", err)
	}
	tb.rows[7][3] = nil
	l := &Local{}
	w, err := NewWorker(job, WorkerConfig{Pool: mem.NewPool("node", 0), Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	l.Workers = append(l.Workers, w)
	defer l.Close()
	if err := w.Add(context.Background(), tb.batch(tb.rows)); !pgerr.Is(err, pgerr.NullValueNotAllowed) {
		t.Errorf("an order of NULL: %v", err)
	}
}
