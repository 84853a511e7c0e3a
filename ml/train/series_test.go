package train

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/types"
)

// readings makes rows of sensors; the number of rows per sensor cycles through lengths. Five
// columns of random numbers, one of few values, a text, and the order, in which some rows are
// equal. Rows are sorted by sensor, or interleaved if inTurn.
func readings(n int, lengths []int, inTurn bool, seed uint64) *table {
	tb := &table{cols: []dataset.Column{{Name: "a", Type: types.Float8}, {Name: "b", Type: types.Float8}, {Name: "c", Type: types.Float8},
		{Name: "d", Type: types.Float8}, {Name: "e", Type: types.Float8}, {Name: "few", Type: types.Float8}, {Name: "city", Type: types.Text},
		{Name: "id", Type: types.Int8}, {Name: "at", Type: types.Int8}, {Name: "part", Type: types.Float8}, {Name: "fifty", Type: types.Int4}, {Name: "w", Type: types.Float8}, {Name: "y", Type: types.Float8}}}
	r := rand.New(rand.NewPCG(seed, 2))
	for id := int64(0); len(tb.rows) < n; id++ {
		for at := range lengths[int(id)%len(lengths)] {
			row := []any{r.NormFloat64(), 1e5 * r.Float64(), r.Float64() - 3, r.ExpFloat64(), r.NormFloat64(), float64(r.IntN(5)),
				[]string{"Oslo", "Rome", "Lima"}[r.IntN(3)], id, int64(at), 0.0, int32(at / 50), r.Float64(), r.NormFloat64()}
			if r.IntN(40) == 0 {
				row[1] = nil
			}
			if r.IntN(50) == 0 {
				row[8] = int64(max(at-1, 0)) // a tie with the row before it
				row[9] = float64(r.IntN(2))
			}
			tb.rows = append(tb.rows, row)
		}
	}
	if inTurn {
		slices.SortStableFunc(tb.rows, func(a, b []any) int { return int(a[8].(int64) - b[8].(int64)) })
	}
	return tb
}

// TestWindowsRescanned: rows of windows several times as large as memory are read twice, and no
// more than their blocks is written. The model is that with ample memory, whatever the encoders,
// and that of rows kept as records.
func TestWindowsRescanned(t *testing.T) {
	withFading(t)
	const window = 8
	lengths := []int{300, 200, 500, 5, 8, 250, 7, 150}
	tables := map[bool]*table{false: readings(90000, lengths, false, 1), true: readings(90000, lengths, true, 2)}
	for _, c := range []struct {
		name      string
		inTurn    bool
		algorithm string
		targets   []string
		cols      []int // columns of the table; nil: all
		args      []any
		encoders  []feature.Transform
	}{
		{"plain", false, "fading", []string{"y"}, nil, nil, nil},
		{"in turn", true, "fading", []string{"y"}, nil, []any{"order_by", arrayOf("at", "part")}, nil},
		{"weights", true, "fading", []string{"y"}, nil, []any{"weight", "w"}, nil},
		{"float64", true, "fading", []string{"y"}, nil, []any{"precision", "float64"}, nil},
		{"targets", false, "fading", []string{"y", "w"}, nil, nil, nil},
		{"encoders", true, "fading", []string{"y"}, nil, nil, []feature.Transform{
			{Column: "a", Func: "robust_scaler"}, {Column: "b", Func: "quantile_bucketize", Args: []types.Datum{int64(7)}}, {Column: "c", Func: "min_max_scaler"},
			{Column: "d", Func: "max_abs_scaler"}, {Column: "few", Func: "one_hot_encoder"}, {Column: "city", Func: "label_encoder"}}},
		{"stride", false, "fading", []string{"y"}, nil, []any{"window", int64(20), "stride", int64(10), "partition_by", arrayOf("id", "fifty")}, nil},
		{"lstm", false, "lstm", []string{"y"}, nil, []any{"units", int64(2), "epochs", int64(1), "batch_size", int64(5000)}, nil},
		{"classes", true, "lstm", []string{"city"}, nil, []any{"units", int64(2), "epochs", int64(1), "batch_size", int64(5000)}, nil},
		{"itself", true, "lstm_autoencoder", nil, []int{0, 1, 2, 3, 4, 7, 8, 12}, []any{"units", int64(2), "epochs", int64(1), "batch_size", int64(5000)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tb, rows := tables[c.inTurn], batches(tables[c.inTurn])
			if c.cols != nil {
				all := tb
				tb, rows = pick(tb, rows, c.cols)
				for _, r := range all.rows {
					some := make([]any, len(c.cols))
					for i, col := range c.cols {
						some[i] = r[col]
					}
					tb.rows = append(tb.rows, some)
				}
			}
			args := slices.Clone(c.args)
			if !slices.Contains(args, any("window")) {
				args = append(args, "window", int64(window), "partition_by", "id")
			}
			if !slices.Contains(args, any("order_by")) {
				args = append(args, "order_by", "at")
			}
			if c.algorithm == "fading" && !slices.Contains(args, any("precision")) {
				args = append(args, "precision", "float32")
			}
			job, err := NewJob(c.algorithm, c.targets, pairs(args...), c.encoders, tb.cols)
			if err != nil {
				t.Fatal(err)
			}
			want, err := trainRescanned(t, job, &source{rows: rows}, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			if u := Total(want.Usage); u.Reads != 1 || u.Written != 0 {
				t.Fatalf("with ample memory: %+v", u)
			}
			same := func(how string, got *Result) {
				t.Helper()
				if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || got.Rows != want.Rows || fmt.Sprint(got.Metrics) != fmt.Sprint(want.Metrics) {
					t.Errorf("%s: another model: %d windows, not %d", how, got.Rows, want.Rows)
				}
			}
			for _, workers := range []int{1, 3} {
				got, err := trainRescanned(t, job, &source{rows: rows}, workers, 3<<20)
				if err != nil {
					t.Fatalf("%d workers: %v", workers, err)
				}
				same(fmt.Sprint(workers, " workers"), got)
				u, encoded := Total(got.Usage), Total(want.Usage).Block
				t.Logf("%d workers: %+v", workers, u)
				if c.name == "float64" || c.name == "encoders" {
					continue // compressed, the rows are no larger than their blocks, so they are kept
				}
				if u.Reads != 2 || u.Read != 2*Total(want.Usage).Read || u.Before == 0 || u.Before > 2*u.Block || u.Written > 2*u.Block || u.Block != encoded {
					t.Errorf("%d workers: %+v", workers, u)
				}
			}
			got, err := trainTable(t, job, tb, setup{workers: 1, threads: 1, shuffle: 3, memory: 4 << 20}, Input{})
			if err != nil {
				t.Fatal(err)
			}
			same("held", got)
		})
	}
}

// TestWindowsHeld: rows of windows are kept, and so read once, if they take less space than their
// blocks, or if all rows of a partition are needed to know which are trained on.
func TestWindowsHeld(t *testing.T) {
	withFading(t)
	tb := readings(60000, []int{300}, true, 1)
	digits := &table{cols: tb.cols}
	for _, r := range tb.rows {
		r = slices.Clone(r)
		for _, c := range []int{0, 1, 2, 3, 4, 11, 12} {
			if v, ok := r[c].(float64); ok {
				r[c] = float64(int(v * 4))
			}
		}
		digits.rows = append(digits.rows, r)
	}
	for _, c := range []struct {
		name string
		tb   *table
		args []any
	}{
		{"few digits", digits, nil},
		{"held out", tb, []any{"eval_fraction", 0.2}},
		{"gaps", tb, []any{"stride", int64(9)}},
		{"left over", tb, []any{"stride", int64(7)}},
		{"short partitions", readings(60000, []int{11, 7, 9}, false, 1), nil},
		{"texts order", tb, []any{"order_by", arrayOf("at", "city")}},
	} {
		args := append([]any{"window", int64(8), "partition_by", "id", "precision", "float32"}, c.args...)
		if !slices.Contains(args, any("order_by")) {
			args = append(args, "order_by", "at")
		}
		job := mustJob(t, "fading", "y", c.tb, args...)
		want, err := trainRescanned(t, job, &source{rows: batches(c.tb)}, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := trainRescanned(t, job, &source{rows: batches(c.tb)}, 2, 3<<20)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if u := Total(got.Usage); u.Reads != 1 || u.Before == 0 || !bytes.Equal(got.Model.Encode(), want.Model.Encode()) {
			t.Errorf("%s: %+v", c.name, u)
		}
	}
}

// TestPartitionsTooShortLate: partitions about as short as a window arrive after many long ones, so
// that too many rows wait until their partition is known to be long enough. The training must start
// anew and keep the rows.
func TestPartitionsTooShortLate(t *testing.T) {
	withFading(t)
	tb := readings(60000, []int{300}, false, 1)
	late := readings(40000, []int{7}, false, 2)
	for _, r := range late.rows {
		r[7] = r[7].(int64) + 1e6
	}
	rows := append(batches(tb), batches(late)...)
	job := mustJob(t, "fading", "y", tb, "window", int64(8), "partition_by", "id", "order_by", "at", "precision", "float32")
	if _, err := trainRescanned(t, job, &source{rows: rows}, 1, 3<<20); !errors.Is(err, errDraw) {
		t.Errorf("%v", err)
	}
	// One partition of many has a row left over after its last whole window, as its last row shows.
	some := readings(60000, []int{80}, false, 1)
	one := slices.Clone(some.rows[0])
	one[8] = int64(100)
	rows = append(batches(some), some.batch([][]any{one}))
	job = mustJob(t, "fading", "y", tb, "window", int64(8), "stride", int64(8), "partition_by", "id", "order_by", "at", "precision", "float32")
	if _, err := trainRescanned(t, job, &source{rows: rows}, 2, 3<<20); !errors.Is(err, errDraw) {
		t.Errorf("a row left over: %v", err)
	}
	// The second reading returns other partitions.
	job = mustJob(t, "fading", "y", tb, "window", int64(8), "partition_by", "id", "order_by", "at", "precision", "float32")
	other := &table{cols: tb.cols}
	for _, r := range tb.rows {
		r = slices.Clone(r)
		r[7] = r[7].(int64) / 3 * 3
		if r[7].(int64) == 0 {
			r[7] = r[8]
		}
		other.rows = append(other.rows, r)
	}
	if _, err := trainRescanned(t, job, &source{rows: batches(tb), other: batches(other)}, 1, 3<<20); !errors.Is(err, ErrOtherRows) {
		t.Errorf("other partitions: %v", err)
	}
}
