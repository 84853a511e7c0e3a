package train

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// twice has a second target after the label of mixed.
func twice(n int, seed uint64) *table {
	tb := mixed(n, 0, seed)
	tb.cols = append(tb.cols, record.Column{Name: "y2", Type: types.Float8})
	for i, r := range tb.rows {
		b := float64(r[1].(int32))
		tb.rows[i] = append(r[:len(r):len(r)], 3*b-20*r[6].(float64)+r[7].(float64))
	}
	return tb
}

// mood has a second target, of classes, after the label of mixed, which has k classes.
func mood(n, k int, seed uint64) *table {
	tb := mixed(n, k, seed)
	tb.cols = append(tb.cols, record.Column{Name: "mood", Type: types.Text})
	for i, r := range tb.rows {
		b := 3*float64(r[1].(int32)) - 20*r[6].(float64)
		tb.rows[i] = append(r[:len(r):len(r)], []string{"sad", "calm", "merry"}[min(2, max(0, int(b/40)+1))])
	}
	return tb
}

func twoNumbers() *table { return twice(3000, 5) }

func twoClasses() *table { return mood(3000, 2, 5) }

func classAndNumber() *table { return mood(3000, 0, 5) }

// without removes a column.
func (t *table) without(name string) *table {
	at := find(t.cols, name)
	out := &table{cols: append(append([]record.Column{}, t.cols[:at]...), t.cols[at+1:]...)}
	for _, r := range t.rows {
		out.rows = append(out.rows, append(append([]any{}, r[:at]...), r[at+1:]...))
	}
	return out
}

// TestSeveralTargets: each target gets the model that training it alone gives, where that does not
// depend on the order of rows; and all models are the same on any setup and resumed from every
// checkpoint.
func TestSeveralTargets(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		data      func() *table
		predict   []string // not in the columns' order
		alone     bool
		args      []any
	}{
		{"linear_regression", twoNumbers, []string{"y2", "y"}, true, nil},
		{"ridge", twoNumbers, []string{"y2", "y"}, false, []any{"alpha", 2.0, "weight", "w", "eval_fraction", 0.2}},
		{"lasso", twoNumbers, []string{"y2", "y"}, true, []any{"alpha", 0.05}},
		{"huber_regression", twoNumbers, []string{"y2", "y"}, true, []any{"max_iterations", int64(6)}},
		{"gradient_boosted_trees", twoNumbers, []string{"y2", "y"}, true, []any{"n_estimators", int64(3), "max_depth", int64(3)}},
		{"random_forest", twoNumbers, []string{"y2", "y"}, false, []any{"n_estimators", int64(3), "max_depth", int64(3)}},
		{"mlp", twoNumbers, []string{"y2", "y"}, false, []any{"epochs", int64(2), "hidden_units", int64(4), "eval_fraction", 0.2}},
		{"logistic_regression", twoClasses, []string{"mood", "y"}, true, []any{"max_iterations", int64(8), "l2_reg", 0.1}},
		{"logistic_regression", twoClasses, []string{"y", "mood"}, false, []any{"max_iterations", int64(5), "weight", "w", "eval_fraction", 0.2}},
		{"logistic_regression", twoClasses, []string{"y", "flag", "mood"}, false, []any{"optimizer", "sgd", "max_iterations", int64(2)}},
		{"logistic_regression", twoClasses, []string{"mood", "y"}, true, []any{"max_iterations", int64(8), "l2_reg", 0.1, "class_weights", "balanced"}},
		{"logistic_regression", twoClasses, []string{"y", "mood"}, true, []any{"max_iterations", int64(5), "l2_reg", 0.1, "weight", "w", "class_weights", "balanced"}},
		{"gradient_boosted_trees", twoClasses, []string{"y", "mood"}, true, []any{"n_estimators", int64(3), "max_depth", int64(3), "class_weights", "balanced"}},
		{"random_forest", twoClasses, []string{"y", "mood"}, false, []any{"n_estimators", int64(3), "max_depth", int64(3), "class_weights", "balanced", "eval_fraction", 0.2}},
		{"mlp", twoClasses, []string{"y", "mood"}, false, []any{"epochs", int64(2), "hidden_units", int64(4), "class_weights", "balanced"}},
		{"linear_svm", twoClasses, []string{"mood", "y"}, true, []any{"max_iterations", int64(8)}},
		{"gradient_boosted_trees", twoClasses, []string{"mood", "y"}, true, []any{"n_estimators", int64(3), "max_depth", int64(3)}},
		{"gradient_boosted_trees", classAndNumber, []string{"y", "mood"}, true, []any{"n_estimators", int64(3), "max_depth", int64(3)}},
		{"random_forest", classAndNumber, []string{"mood", "y"}, false, []any{"n_estimators", int64(3), "max_depth", int64(3), "eval_fraction", 0.2}},
		{"mlp", classAndNumber, []string{"mood", "y"}, false, []any{"epochs", int64(2), "hidden_units", int64(4), "eval_fraction", 0.2}},
	} {
		t.Run(fmt.Sprint(c.algorithm, c.predict), func(t *testing.T) {
			t.Parallel()
			tb := c.data()
			train := func(tb *table, predict []string, s setup, in Input) (*Result, error) {
				job, err := NewJob(c.algorithm, predict, pairs(append(c.args, "checkpoint_every", int64(1))...), nil, tb.cols)
				if err != nil {
					t.Fatal(err)
				}
				if job, err = DecodeJob(job.Encode()); err != nil {
					t.Fatal(err)
				}
				return trainTable(t, job, tb, s, in)
			}
			var s saver
			want, err := train(tb, c.predict, setup{workers: 1, threads: 2}, Input{Save: &s})
			if err != nil {
				t.Fatal(err)
			}
			got, err := train(tb, c.predict, setup{workers: 3, threads: 1, shuffle: 7}, Input{})
			if err != nil || !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || fmt.Sprint(got.Metrics, got.TrainLoss) != fmt.Sprint(want.Metrics, want.TrainLoss) {
				t.Errorf("another model on three workers: %v", err)
			}
			if len(s.states) == 0 {
				t.Error("no checkpoints")
			}
			for i, state := range s.states {
				got, err := train(tb, c.predict, setup{workers: 2, threads: 1, shuffle: uint64(i)}, Input{Resume: state})
				if err != nil || !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || got.Iterations != want.Iterations || len(got.History) != len(want.History) {
					t.Errorf("another model after checkpoint %d: %v", i, err)
				}
			}
			m, err := model.Decode(want.Model.Encode())
			if err != nil || !bytes.Equal(m.Encode(), want.Model.Encode()) {
				t.Fatalf("the model does not decode to itself: %v", err)
			}
			metrics := want.Metrics
			for _, name := range c.predict {
				others := tb
				for _, o := range c.predict {
					if o != name {
						others = others.without(o)
					}
				}
				one, err := train(others, []string{name}, setup{workers: 1, threads: 2}, Input{})
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range one.Metrics {
					if len(metrics) == 0 || metrics[0].Name != name+"."+x.Name || c.alone && fmt.Sprint(metrics[0].Value) != fmt.Sprint(x.Value) {
						t.Fatalf("%s alone has %v, else %v", name, x, metrics)
					}
					metrics = metrics[1:]
				}
				var all, alone canon.E
				want.Model.Predictor.Encode(&all)
				one.Model.Predictor.Encode(&alone)
				if c.alone && !bytes.Contains(all.B, alone.B) {
					t.Errorf("%s alone is another model", name)
				}
			}
			if len(metrics) > 0 {
				t.Errorf("metrics of no target: %v", metrics)
			}
		})
	}
}

// TestClassWeightsByTarget: class weights given by target apply as if that target were trained
// alone, and to no other target.
func TestClassWeightsByTarget(t *testing.T) {
	of := map[string]string{"y": `{"1": 7}`, "mood": `{"merry": 3, "calm": 0.25}`, "flag": `{}`}
	both := `{"Y": {"1": 7}, "mood": {"merry": 3, "calm": 0.25}}` // column names are folded as in SQL
	for _, algorithm := range []string{"logistic_regression", "gradient_boosted_trees"} {
		tb := twoClasses()
		train := func(tb *table, workers int, predict []string, weights any) *Result {
			args := []any{"max_iterations", int64(4)}
			if weights != nil {
				args = append(args, "class_weights", weights)
			}
			job, err := NewJob(algorithm, predict, pairs(args...), nil, tb.cols)
			if err != nil {
				t.Fatal(err)
			}
			res, err := trainTable(t, job, tb, setup{workers: workers, threads: 2}, Input{})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		targets := []string{"mood", "flag", "y"}
		want := train(tb, 1, targets, both)
		if got := train(tb, 3, targets, both); !bytes.Equal(got.Model.Encode(), want.Model.Encode()) {
			t.Errorf("%s: another model on three workers", algorithm)
		}
		if plain := train(tb, 1, targets, nil); bytes.Equal(plain.Model.Encode(), want.Model.Encode()) {
			t.Errorf("%s: weights change nothing", algorithm)
		}
		for _, name := range targets {
			others := tb
			for _, o := range targets {
				if o != name {
					others = others.without(o)
				}
			}
			var weights any
			if of[name] != `{}` {
				weights = of[name]
			}
			var all, alone canon.E
			want.Model.Predictor.Encode(&all)
			train(others, 1, []string{name}, weights).Model.Predictor.Encode(&alone)
			if !bytes.Contains(all.B, alone.B) {
				t.Errorf("%s: %s alone is another model", algorithm, name)
			}
		}
	}
	for weights, want := range map[string]string{
		`{"1": 7}`:                   "class weights of several targets are named by target",
		`{"a": {"1": 7}}`:            `class_weights names "a", which is no target`,
		`{"y": {"1": 7}, "b": 2}`:    "class weights of several targets are named by target",
		`{"y": {"1": 7, "1": 8}}`:    "",
		`{"y": {"1": {"x": 2}}}`:     "",
		`{"y": {}}`:                  "",
		`{"y": "even"}`:              "",
		`{"y": {"1": 7}} {"y": 2}`:   "",
		`{"y": "balanced", "y": {}}`: "",
	} {
		if want == "" {
			want = "invalid value for option \"class_weights\""
		}
		tb := twoClasses()
		if _, err := NewJob("logistic_regression", []string{"y", "mood"}, pairs("class_weights", weights), nil, tb.cols); !pgerr.Is(err, pgerr.InvalidParameterValue) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", weights, err)
		}
	}
	tb := classAndNumber()
	for weights, want := range map[string]string{`{"y": {"1": 7}}`: "class_weights names \"y\", which is a number: class weights need classes", `{"mood": "balanced"}`: "", "balanced": ""} {
		if _, err := NewJob("gradient_boosted_trees", []string{"y", "mood"}, pairs("class_weights", weights), nil, tb.cols); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", weights, err)
		}
	}
}

// TestSeveralTargetsHeldNull: a row that is held out must have all targets, too.
func TestSeveralTargetsHeldNull(t *testing.T) {
	tb := twice(400, 5)
	tb.cols = append(tb.cols, record.Column{Name: "held", Type: types.Bool})
	for i, r := range tb.rows {
		if tb.rows[i] = append(r, i%4 == 0); i == 8 {
			tb.rows[i][8] = nil
		}
	}
	for _, predict := range [][]string{{"y", "y2"}, {"y2", "y"}} {
		job, err := NewJob("ridge", predict, pairs("data_split_col", "held"), nil, tb.cols)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trainTable(t, job, tb, setup{workers: 1, threads: 1}, Input{}); !pgerr.Is(err, pgerr.NullValueNotAllowed) {
			t.Errorf("%v: %v", predict, err)
		}
	}
}

// TestSeveralTargetsOfWindows: the targets of a window are those of its last row, and each is
// learnt as if trained alone, where the order of windows is unique.
func TestSeveralTargetsOfWindows(t *testing.T) {
	tb := series(1500, 8)
	distinctTimes(tb)
	tb.cols = append(tb.cols, record.Column{Name: "y2", Type: types.Float8})
	for i, r := range tb.rows { // numbers exact in float32, in which nets keep the second target
		r[6] = float64(float32(r[6].(float64)))
		tb.rows[i] = append(r, float64(float32(3*r[6].(float64)-r[0].(float64))))
	}
	both := []string{"y2", "y"} // not in the columns' order
	train := func(tb *table, predict []string, s setup, in Input) *Result {
		job, err := NewJob("lstm", predict, pairs("window", int64(5), "stride", int64(3), "order_by", arrayOf("at", "seq"), "partition_by", arrayOf("id", "site"),
			"units", int64(4), "epochs", int64(2), "batch_size", int64(64), "eval_fraction", 0.2, "checkpoint_every", int64(1)), nil, tb.cols)
		if err != nil {
			t.Fatal(err)
		}
		if job, err = DecodeJob(job.Encode()); err != nil {
			t.Fatal(err)
		}
		res, err := trainTable(t, job, tb, s, in)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	var s saver
	want := train(tb, both, setup{workers: 1, threads: 2}, Input{Save: &s})
	same := func(how string, got *Result) {
		t.Helper()
		if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || fmt.Sprint(got.Metrics, got.TrainLoss) != fmt.Sprint(want.Metrics, want.TrainLoss) {
			t.Errorf("%s: another model, %v, not %v", how, got.Metrics, want.Metrics)
		}
	}
	same("three workers", train(tb, both, setup{workers: 3, threads: 1, shuffle: 7}, Input{}))
	for i, state := range s.states {
		same(fmt.Sprint("checkpoint ", i), train(tb, both, setup{workers: 2, threads: 1, shuffle: uint64(i)}, Input{Resume: state}))
	}
	m, err := model.Decode(want.Model.Encode())
	if err != nil || !bytes.Equal(m.Encode(), want.Model.Encode()) || m.Windows == nil || len(m.Targets) != 2 {
		t.Fatalf("the model does not decode to itself: %v", err)
	}
	for k, name := range both {
		one := train(tb.without(both[1-k]), []string{name}, setup{workers: 1, threads: 2}, Input{})
		var all, alone canon.E
		want.Model.Predictor.Encode(&all)
		one.Model.Predictor.Encode(&alone)
		if !bytes.Contains(all.B, alone.B) {
			t.Errorf("%s alone is another model", name)
		}
		for i, x := range one.Metrics {
			if got := want.Metrics[4*k+i]; got.Name != name+"."+x.Name || got.Value != x.Value {
				t.Errorf("%s is %v, alone %v", got.Name, got.Value, x.Value)
			}
		}
	}
}

// TestReadsUntypedTargets: models with several targets written by versions that did not store the
// types of further targets are read.
func TestReadsUntypedTargets(t *testing.T) {
	tb := twice(300, 5)
	job, err := NewJob("ridge", []string{"y2", "y"}, nil, nil, tb.cols)
	if err != nil {
		t.Fatal(err)
	}
	res, err := trainTable(t, job, tb, setup{workers: 1, threads: 1}, Input{})
	if err != nil {
		t.Fatal(err)
	}
	now := res.Model.Encode()
	var head, was canon.E
	head.U32(1)
	head.Str("y")
	head.Type(types.Float8)
	head.Strs(nil)
	head.Bool(false)
	was.B = append(was.B, "TRIBMODL\x04"...)
	was.Strs([]string{"y2", "y"})
	old, err := model.Decode(append(was.B, now[len("TRIBMODL")+1+len(head.B):]...))
	if err != nil || !bytes.Equal(old.Encode(), now) {
		t.Errorf("another model: %v", err)
	}
}
