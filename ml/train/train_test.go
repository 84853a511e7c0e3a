package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// table has rows of any columns; nil is NULL.
type table struct {
	cols []record.Column
	rows [][]any
}

func (t *table) batch(rows [][]any) *batch.Batch {
	out := make([]arrow.Array, len(t.cols))
	for c, col := range t.cols {
		b := array.NewBuilder(memory.DefaultAllocator, col.Type.Arrow())
		for _, r := range rows {
			switch v := r[c].(type) {
			case nil:
				b.AppendNull()
			case float64:
				b.(*array.Float64Builder).Append(v)
			case float32:
				b.(*array.Float32Builder).Append(v)
			case int32:
				b.(*array.Int32Builder).Append(v)
			case int64:
				b.(*array.Int64Builder).Append(v)
			case bool:
				b.(*array.BooleanBuilder).Append(v)
			case string:
				b.(*array.StringBuilder).Append(v)
			case arrow.Timestamp:
				b.(*array.TimestampBuilder).Append(v)
			case []float64:
				l := b.(*array.ListBuilder)
				l.Append(true)
				for _, x := range v {
					l.ValueBuilder().(*array.Float64Builder).Append(x)
				}
			}
		}
		out[c] = b.NewArray()
	}
	return batch.New(out, len(rows))
}

// setup says how a training is distributed.
type setup struct {
	workers, threads int
	memory           int64
	owners           func(leaves int) []int
	shuffle          uint64
	records          bool          // keep rows as records, though they could be encoded at once
	slice            int           // elements of a slice of partials, see Input
	first            int           // see Distribute
	lanes            *atomic.Int64 // gets the number of lanes that were used; may be nil
}

func newLocal(t testing.TB, job *Job, tb *table, s setup) (*Local, int64) {
	t.Helper()
	l, rows, err := tryLocal(t, job, tb, s)
	if err != nil {
		t.Fatal(err)
	}
	return l, rows
}

// tryLocal is newLocal, but returns an error of the rows.
func tryLocal(t testing.TB, job *Job, tb *table, s setup) (*Local, int64, error) {
	t.Helper()
	l := &Local{lanes: s.lanes, first: s.first}
	for i := range s.workers {
		w, err := NewWorker(job, WorkerConfig{Pool: mem.NewPool(fmt.Sprint("node", i), s.memory), Temp: t.TempDir(), Threads: s.threads, Workers: s.workers, Self: i, Records: s.records, Send: l.sender})
		if err != nil {
			t.Fatal(err)
		}
		l.Workers = append(l.Workers, w)
	}
	rows := append([][]any(nil), tb.rows...)
	r := rand.New(rand.NewPCG(s.shuffle, 1))
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	for len(rows) > 0 {
		n := min(1+r.IntN(3000), len(rows))
		if err := l.Workers[r.IntN(s.workers)].Add(context.Background(), tb.batch(rows[:n])); err != nil {
			return l, 0, err
		}
		rows = rows[n:]
	}
	var total int64
	if s.owners != nil && !job.InPlace() {
		total = int64(len(tb.rows))
		if err := l.DistributeTo(context.Background(), total, s.owners(record.Leaves(total))); err != nil {
			return l, 0, err
		}
		return l, total, nil
	}
	total, err := l.Distribute(context.Background())
	return l, total, err
}

func mustJob(t testing.TB, algorithm, target string, tb *table, args ...any) *Job {
	t.Helper()
	j, err := NewJob(algorithm, []string{target}, pairs(args...), nil, tb.cols)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func pairs(args ...any) (out []family.Arg) {
	for i := 0; i < len(args); i += 2 {
		out = append(out, family.Arg{Name: args[i].(string), Value: args[i+1], Pos: 1})
	}
	return out
}

func trainTable(t testing.TB, job *Job, tb *table, s setup, in Input) (*Result, error) {
	t.Helper()
	l, rows, err := tryLocal(t, job, tb, s)
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		for _, w := range l.Workers {
			if s.memory > 0 && w.Spilled() == 0 {
				t.Error("nothing was spilled")
			}
			if n := w.cfg.Pool.Used(); n != 0 {
				t.Errorf("%d bytes are still charged", n)
			}
		}
	}()
	if err != nil {
		return nil, err
	}
	in.Job, in.Rows, in.SliceElements = job, rows, s.slice
	return Run(context.Background(), in, l)
}

// mixed makes rows with every kind of column and a label that depends on them, with noise: k
// classes, or a number if k is 0.
func mixed(n, k int, seed uint64) *table {
	tb := &table{cols: []record.Column{{Name: "a", Type: types.Float8}, {Name: "b", Type: types.Int4}, {Name: "city", Type: types.Text},
		{Name: "flag", Type: types.Bool}, {Name: "at", Type: types.Timestamp}, {Name: "v", Type: types.Type{OID: 1022, Mod: -1}},
		{Name: "w", Type: types.Float8}, {Name: "y", Type: types.Int4}}}
	if k == 0 {
		tb.cols[7].Type = types.Float8
	}
	r := rand.New(rand.NewPCG(seed, 9))
	cities := []string{"Oslo", "Rome", "Lima", "Bern"}
	for range n {
		a, b, c, f := r.NormFloat64(), int32(r.IntN(100)), r.IntN(4), r.IntN(2) == 0
		v := []float64{r.Float64(), r.NormFloat64() * 100}
		at := arrow.Timestamp(r.Int64N(1e15))
		z := 2*a - float64(b)/25 + []float64{1, -1, 0, 2}[c] + v[1]/100 + r.NormFloat64()
		if f {
			z++
		}
		row := []any{a, b, cities[c], f, at, v, 0.5 + r.Float64(), nil}
		switch {
		case k == 0:
			row[7] = z
		case k == 2 && z > 0:
			row[7] = int32(1)
		case k == 2:
			row[7] = int32(0)
		default:
			row[7] = int32(min(max(int(z)+k/2, 0), k-1)) * 10
		}
		if r.IntN(20) == 0 {
			row[0] = nil
		}
		if r.IntN(20) == 0 {
			row[2] = nil
		}
		tb.rows = append(tb.rows, row)
	}
	return tb
}

// TestTheSameBytesOnAnySetup trains on one worker and on several, with other threads, placements,
// orders of arrival and memory: the bytes of the model are the same.
func TestTheSameBytesOnAnySetup(t *testing.T) {
	scattered := func(leaves int) []int {
		o := make([]int, leaves)
		for i := range o {
			o[i] = (i * 7) % 3
		}
		return o
	}
	setups := []setup{
		{workers: 1, threads: 1},
		{workers: 1, threads: 3, shuffle: 5},
		{workers: 3, threads: 2, shuffle: 6},
		{workers: 3, threads: 2, shuffle: 7, owners: scattered, slice: 3},
		{workers: 5, threads: 1, shuffle: 9, slice: 5},
		{workers: 2, threads: 2, shuffle: 8, memory: 9 << 20},
	}
	for _, c := range []struct {
		name, algorithm string
		classes         int
		args            []any
	}{
		{"logistic lbfgs", "logistic_regression", 2, []any{"c", 1.0, "weight", "w"}},
		{"logistic newton balanced holdout", "logistic_reg", 2, []any{"optimizer", "irls", "l2_reg", 1e-4, "class_weights", "balanced", "eval_fraction", 0.2}},
		{"softmax", "logistic_regression", 4, []any{"l2_reg", 1e-3, "max_iterations", int64(15)}},
		{"adam", "logistic_regression", 2, []any{"optimizer", "adam", "max_iterations", int64(2), "batch_size", int64(4096), "precision", "float32"}},
		{"least squares", "linear_regression", 0, nil},
		{"gd", "linear_reg", 0, []any{"optimizer", "gd", "max_iterations", int64(10), "fit_intercept", false}},
		{"net", "mlp", 3, []any{"epochs", int64(2), "batch_size", int64(4096), "hidden_units", int64(8), "dropout", 0.1, "weight", "w", "eval_fraction", 0.2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tb := mixed(70000, c.classes, 3) // four leaves
			job := mustJob(t, c.algorithm, "y", tb, c.args...)
			var want *Result
			for i, s := range setups {
				got, err := trainTable(t, job, tb, s, Input{})
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					want = got
					continue
				}
				if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || fmt.Sprint(got.Metrics, got.TrainLoss, got.Rows, got.Held) != fmt.Sprint(want.Metrics, want.TrainLoss, want.Rows, want.Held) {
					t.Errorf("setup %d: another model: %v %v, not %v %v", i, got.Metrics, got.TrainLoss, want.Metrics, want.TrainLoss)
				}
			}
			m, err := model.Decode(want.Model.Encode())
			if err != nil || !bytes.Equal(m.Encode(), want.Model.Encode()) {
				t.Errorf("the model does not decode to itself: %v", err)
			}
			t.Logf("%d iterations, %s, %v", want.Iterations, want.Stopped, want.Metrics)
		})
	}
}

// TestGathering: sending every partial to one worker gives the same model as the reduction tree.
func TestGathering(t *testing.T) {
	tb := mixed(70000, 2, 4)
	for _, c := range []struct {
		algorithm string
		args      []any
	}{
		{"logistic_regression", []any{"c", 1.0, "max_iterations", int64(5)}},
		{"mlp", []any{"epochs", int64(2), "batch_size", int64(40000), "hidden_units", int64(8)}},
	} {
		want, err := trainTable(t, mustJob(t, c.algorithm, "y", tb, c.args...), tb, setup{workers: 1, threads: 2}, Input{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []setup{{workers: 1, threads: 2}, {workers: 3, threads: 2, slice: 7}, {workers: 3, threads: 2}} {
			job := mustJob(t, c.algorithm, "y", tb, append(c.args, "reduction", "gather")...)
			got, err := trainTable(t, job, tb, s, Input{})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) {
				t.Errorf("%s on %d workers: another model", c.algorithm, s.workers)
			}
		}
	}
}

// TestGoldenModel pins the bytes of a model: they are the same for every instruction set (run it
// with -tags noasm too), on every machine, and in every version. To change them is to change the
// models of every user.
func TestGoldenModel(t *testing.T) {
	tb := mixed(3000, 3, 21)
	job := mustJob(t, "logistic_regression", "y", tb, "l2_reg", 1e-2, "weight", "w", "max_iterations", int64(8))
	res, err := trainTable(t, job, tb, setup{workers: 1, threads: 1}, Input{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(res.Model.Encode()))[:16]; got != goldenModel {
		t.Errorf("model %s, want %s", got, goldenModel)
	}
}

const goldenModel = "a56c3f3da0a36056"

type saver struct{ states [][]byte }

func (s *saver) Save(_ context.Context, _ int, write func(io.Writer) error) error {
	var b bytes.Buffer
	err := write(&b)
	s.states = append(s.states, b.Bytes())
	return err
}

func TestResumeGivesTheUnbrokenModel(t *testing.T) {
	tb := mixed(40000, 2, 4)
	for _, args := range [][]any{
		{"checkpoint_every", int64(3), "c", 10.0, "eval_fraction", 0.1},
		{"checkpoint_every", int64(1), "optimizer", "momentum", "max_iterations", int64(4)},
	} {
		job := mustJob(t, "logistic_regression", "y", tb, args...)
		var s saver
		want, err := trainTable(t, job, tb, setup{workers: 2, threads: 2}, Input{Save: &s})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.states) == 0 {
			t.Fatal("no checkpoint was saved")
		}
		for _, state := range s.states {
			got, err := trainTable(t, job, tb, setup{workers: 3, threads: 1, shuffle: 9}, Input{Resume: state})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || got.Iterations != want.Iterations || len(got.History) != len(want.History) {
				t.Errorf("resumed: %d iterations, unbroken: %d; or another model", got.Iterations, want.Iterations)
			}
		}
		other := mustJob(t, "logistic_regression", "y", tb, "c", 11.0)
		if _, err := trainTable(t, other, tb, setup{workers: 1}, Input{Resume: s.states[0]}); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Errorf("a checkpoint of another training: %v", err)
		}
	}
}

// TestCheckpointWithinAnEpoch: after ten seconds of work there is a checkpoint, in the middle of an
// epoch too, and resuming from it gives the same model.
func TestCheckpointWithinAnEpoch(t *testing.T) {
	tb := mixed(3000, 2, 4)
	for _, c := range []struct {
		algorithm string
		args      []any
	}{
		{"logistic_regression", []any{"optimizer", "momentum", "max_iterations", int64(2), "batch_size", int64(300)}},
		{"mlp", []any{"epochs", int64(2), "batch_size", int64(300), "hidden_units", int64(4), "dropout", 0.2, "eval_fraction", 0.1}},
	} {
		for _, every := range []int64{1000, 0} {
			now := time.Unix(0, 0)
			clock := func() time.Time { now = now.Add(4 * time.Second); return now }
			job := mustJob(t, c.algorithm, "y", tb, append(c.args, "checkpoint_every", every)...)
			var s saver
			want, err := trainTable(t, job, tb, setup{workers: 2, threads: 2}, Input{Save: &s, Now: clock})
			if err != nil {
				t.Fatal(err)
			}
			if some := len(s.states) > 4; some != (every > 0) { // checkpoints within the twenty steps of the epochs
				t.Fatalf("%s, checkpoint_every %d: %d checkpoints", c.algorithm, every, len(s.states))
			}
			for _, state := range s.states {
				got, err := trainTable(t, job, tb, setup{workers: 3, threads: 1, shuffle: 9}, Input{Resume: state})
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || len(got.History) != len(want.History) || got.Evals != want.Evals {
					t.Errorf("%s resumed: another model, or %d steps, not %d", c.algorithm, got.Evals, want.Evals)
				}
			}
		}
	}
}

// TestLeastSquaresFindsTheTruth has no noise: the weights are those that the data was made with, in
// the units of the columns.
func TestLeastSquaresFindsTheTruth(t *testing.T) {
	tb := &table{cols: []record.Column{{Name: "x1", Type: types.Float8}, {Name: "x2", Type: types.Int8}, {Name: "k", Type: types.Text}, {Name: "const", Type: types.Float8}, {Name: "y", Type: types.Float8}}}
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		x1, x2, k := r.NormFloat64()*3+7, r.Int64N(1000), []string{"p", "q"}[r.IntN(2)]
		y := 1.5 + 2*x1 - 0.25*float64(x2)
		if k == "q" {
			y += 10
		}
		tb.rows = append(tb.rows, []any{x1, x2, k, 4.0, y})
	}
	for _, opt := range []string{"newton", "lbfgs", "gd"} {
		for _, std := range []bool{true, false} {
			if opt == "gd" && !std {
				continue
			}
			job := mustJob(t, "linear_regression", "y", tb, "optimizer", opt, "standardize", std, "tolerance", 1e-12, "max_iterations", int64(3000))
			res, err := trainTable(t, job, tb, setup{workers: 1, threads: 1}, Input{})
			if err != nil {
				t.Fatal(err)
			}
			w := map[string]float64{}
			for _, x := range described(res, "original_weights") {
				w[x[1].(string)] = x[2].(float64)
			}
			if math.Abs(w["x1"]-2) > 1e-6 || math.Abs(w["x2"]+0.25) > 1e-6 || math.Abs(w["k = q"]-w["k = p"]-10) > 1e-5 {
				t.Errorf("%s standardize=%v: %v after %d iterations (%s)", opt, std, w, res.Iterations, res.Stopped)
			}
			if m := res.Metrics; m[3].Name != "r2_score" || m[3].Value < 1-1e-9 {
				t.Errorf("%s: %v", opt, m)
			}
		}
	}
}

// TestPredictionsAreThoseOfTraining scores the training rows from Arrow columns, and compares with
// the metrics that training computed from blocks.
func TestPredictionsAreThoseOfTraining(t *testing.T) {
	tb := mixed(3000, 4, 8)
	job := mustJob(t, "logistic_regression", "y", tb, "l2_reg", 1e-3)
	res, err := trainTable(t, job, tb, setup{workers: 1, threads: 2}, Input{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Decode(res.Model.Encode())
	if err != nil {
		t.Fatal(err)
	}
	s, err := model.NewScorer(m)
	if err != nil {
		t.Fatal(err)
	}
	cols := tb.batch(tb.rows).Cols
	sc, err := s.Score(cols[:7], len(tb.rows), nil) // the label comes last
	if err != nil {
		t.Fatal(err)
	}
	pred := sc.Column(0).(*array.Int32)
	hits := 0
	for i, r := range tb.rows {
		if pred.Value(i) == r[7].(int32) {
			hits++
		}
		var sum float64
		for k := range sc.Probs {
			sum += sc.Prob(k, i)
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("row %d: probabilities add up to %v", i, sum)
		}
	}
	if acc := float64(hits) / float64(len(tb.rows)); acc != res.Metrics[0].Value || acc < 0.4 {
		t.Errorf("accuracy %v, in training %v", acc, res.Metrics)
	}
	if got := fmt.Sprint(m.Classes()); got != "[0 10 20 30]" {
		t.Errorf("classes %s", got)
	}
	if p := sc.Probabilities().(*array.List); p.Len() != 3000 {
		t.Errorf("%d rows of probabilities", p.Len())
	}
}

// described returns the rows of a relation about the model, such as ml.weights.
func described(res *Result, relation string) [][]types.Datum {
	rows, _ := res.Model.Predictor.(family.Describer).Describe(relation)
	return rows
}

// weights are the parameters of a linear model.
func weights(res *Result) (out []float64) {
	for _, w := range described(res, "weights") {
		out = append(out, w[2].(float64))
	}
	return out
}

func TestBadTrainingData(t *testing.T) {
	base := []record.Column{{Name: "x", Type: types.Float8}, {Name: "y", Type: types.Int4}}
	rows := func(v ...[]any) *table { return &table{cols: base, rows: v} }
	nan, inf := math.NaN(), math.Inf(1)
	good := [][]any{{1.0, int32(0)}, {2.0, int32(1)}}
	for _, c := range []struct {
		name string
		tb   *table
		code pgerr.Code
		text string
	}{
		{"no rows", rows(), "22023", "no rows"},
		{"one class", rows([]any{1.0, int32(1)}, []any{2.0, int32(1)}), "22023", "only one class"},
		{"NULL label", rows(append(good, []any{1.0, nil})...), "22004", `label column "y" contains NULL`},
		{"NaN", rows(append(good, []any{nan, int32(1)})...), "22023", `feature column "x" contains NaN`},
		{"infinity", rows(append(good, []any{inf, int32(1)})...), "22023", `feature column "x" contains NaN, infinity`},
		{"one row", &table{cols: []record.Column{base[0], {Name: "y", Type: types.Text}}, rows: [][]any{{1.0, "a"}}}, "22023", "only one class"},
		{"constant", rows([]any{4.0, int32(0)}, []any{4.0, int32(1)}), "22023", "no feature column of the training query varies"},
		{"all NULL", rows([]any{nil, int32(0)}, []any{nil, int32(1)}), "22004", `feature column "x" contains only NULLs`},
	} {
		job := mustJob(t, "logistic_regression", "y", c.tb)
		_, err := trainTable(t, job, c.tb, setup{workers: 2, threads: 2}, Input{})
		if !pgerr.Is(err, c.code) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// A constant column gets weight 0.
	reg := &table{cols: []record.Column{{Name: "c", Type: types.Float8}, {Name: "x", Type: types.Float8}, {Name: "y", Type: types.Float8}},
		rows: [][]any{{7.0, 1.0, 5.0}, {7.0, 2.0, 9.0}}}
	res, err := trainTable(t, mustJob(t, "linear_regression", "y", reg), reg, setup{workers: 1}, Input{})
	if err != nil || weights(res)[0] != 0 || math.Abs(weights(res)[2]-7) > 1e-12 {
		t.Errorf("a constant column: %v %+v", err, res)
	}
}

func TestOptionErrors(t *testing.T) {
	cols := []record.Column{{Name: "x", Type: types.Float8}, {Name: "y", Type: types.Int4}, {Name: "s", Type: types.Text}}
	for _, c := range []struct {
		algorithm, target string
		args              []any
		code              pgerr.Code
		text              string
	}{
		{"logistic_regression", "y", []any{"colour", "red"}, "22023", `unrecognized training option "colour"`},
		{"logistic_regression", "y", []any{"max_iter", int64(5), "max_iterations", int64(5)}, "22023", "given twice"},
		{"logistic_regression", "y", []any{"max_iter", int64(0)}, "22023", `invalid value for option "max_iter": 0`},
		{"logistic_regression", "y", []any{"optimizer", "magic"}, "22023", "invalid value"},
		{"logistic_regression", "y", []any{"c", 1.0, "l2_reg", 1.0}, "22023", "only one of"},
		{"linear_regression", "y", []any{"c", 1.0}, "22023", `option "c" is not one of linear_regression`},
		{"linear_regression", "s", nil, "42804", "must be of a numeric type"},
		{"linear_regression", "z", nil, "42703", `column "z" does not exist`},
		{"automl_regressor", "y", nil, "0A000", `algorithm "automl_regressor"`},
		{"magic", "y", nil, "22023", "unrecognized algorithm"},
		{"", "y", nil, "22023", "names no algorithm"},
		{"logistic_regression", "y", []any{"l1_reg", 0.5, "c", 1.0}, "22023", "only one of"},
		{"elastic_net", "y", []any{"l1_reg", 0.5, "l1_ratio", 0.5}, "22023", "only one of"},
		{"lasso", "y", []any{"l1_ratio", 0.5}, "22023", `option "l1_ratio" is not one of lasso`},
		{"elastic_net", "y", []any{"l1_ratio", 1.5}, "22023", "invalid value"},
		{"quantile_regression", "y", []any{"quantile", 1.0}, "22023", "invalid value"},
		{"tweedie_regression", "y", []any{"power", 0.5}, "22023", "invalid value"},
		{"tweedie_regression", "y", []any{"link", "identity"}, "22023", "invalid value"},
		{"huber_regression", "y", []any{"epsilon", 0.9}, "22023", "invalid value"},
		{"huber_regression", "y", []any{"calculate_p_values", true}, "22023", "is not one of huber_regression"},
		{"poisson_regression", "y", []any{"offset", "z"}, "42703", `column "z" does not exist`},
		{"poisson_regression", "y", []any{"offset", "y"}, "42703", "is no feature"},
		{"poisson_regression", "y", []any{"offset", "s"}, "42804", "must be of a numeric type"},
		{"logistic_regression", "", nil, "22023", "no target column"},
		{"gradient_boosted_trees", "y", []any{"n_iter_no_change", int64(3)}, "22023", `option "early_stopping_rounds" needs rows that are held out`},
		{"gradient_boosted_trees", "y", []any{"monotone_constraints", `{"x": 2}`}, "22023", "invalid value"},
	} {
		var predict []string
		if c.target != "" {
			predict = []string{c.target}
		}
		_, err := NewJob(c.algorithm, predict, pairs(c.args...), nil, cols)
		if !pgerr.Is(err, c.code) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s %v: %v", c.algorithm, c.args, err)
		}
	}
	j, err := NewJob("", nil, pairs("model_type", "LOGISTIC_REG", "input_label_cols", types.Array{Elem: types.Text, Elems: []types.Datum{"y"}}), nil, cols)
	if err != nil || j.Target().Name != "y" || j.Family.Info().Name != "logistic_regression" {
		t.Errorf("BigQuery's spelling: %v", err)
	}
	back, err := DecodeJob(j.Encode())
	if err != nil || !bytes.Equal(back.Encode(), j.Encode()) {
		t.Errorf("a job does not decode to itself: %v", err)
	}
}

func TestTransforms(t *testing.T) {
	tb := mixed(2000, 2, 11)
	tr := []feature.Transform{
		{Column: "a", Func: "min_max_scaler"},
		{Column: "b", Func: "quantile_bucketize", Args: []types.Datum{int64(4)}},
		{Column: "city", Func: "one_hot_encoder", Args: []types.Datum{"none", int64(2)}},
		{Column: "w", Func: "bucketize", Args: []types.Datum{types.Array{Elems: []types.Datum{0.75, int64(1)}}}},
	}
	job, err := NewJob("logistic_regression", []string{"y"}, nil, tr, tb.cols)
	if err != nil {
		t.Fatal(err)
	}
	res, err := trainTable(t, job, tb, setup{workers: 2, threads: 1}, Input{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range described(res, "weights") {
		if name := w[1].(string); !strings.HasPrefix(name, "at ") && !strings.HasPrefix(name, "v[") {
			names = append(names, name)
		}
	}
	got := strings.Join(names, "|")
	for _, want := range []string{"a|a is null|", "b in [-inf, ", "city = ", "city is null", "w in [0.75, 1)", "flag = true", "(intercept)"} {
		if !strings.Contains(got, want) {
			t.Errorf("no weight %q in %s", want, got)
		}
	}
	if strings.Count(got, "b in ") != 4 || strings.Count(got, "city = ") != 4 || res.Metrics[0].Value < 0.7 {
		t.Errorf("%s %v", got, res.Metrics)
	}
	for code, bad := range map[pgerr.Code]feature.Transform{
		"0A000": {Column: "a", Func: "multi_hot_encoder"}, "42883": {Column: "a", Func: "magic"},
		"22023": {Column: "a", Func: "imputer", Args: []types.Datum{"magic"}}, "42703": {Column: "nope", Func: "imputer"}, "42804": {Column: "city", Func: "min_max_scaler"}} {
		if _, err := NewJob("logistic_regression", []string{"y"}, nil, []feature.Transform{bad}, tb.cols); !pgerr.Is(err, code) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
