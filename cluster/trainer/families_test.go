package trainer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/cluster/trainer"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// proof is a training whose model must have the same bytes however it is run.
type proof struct {
	family      string
	cols        string // columns of the query
	target      string
	rows        int
	distributed bool // whether its rows are distributed
	args        []any
}

// The numbers of rows. Where rows are distributed there are enough for several leaves; families that
// train on windows have series of 50 rows.
const (
	some = 20000
	many = 70000
)

// proofs are trainings of every family, in each variant whose steps run differently on several nodes.
var proofs = []proof{
	{"linear_regression", "a b k w", "y", some, false, []any{"calculate_p_values", true, "offset", "w"}},
	{"linear_regression", "a b k", "y", some, false, []any{"optimizer", "gd", "max_iterations", 10, "fit_intercept", false}},
	{"ridge", "a b", "y", some, false, []any{"eval_fraction", 0.2}},
	{"lasso", "a b k", "y", some, false, []any{"alpha", 0.1}},
	{"elastic_net", "a b k", "y", some, false, []any{"alpha", 0.1, "precision", "float32"}},
	{"huber_regression", "a b", "y", some, false, []any{"max_iterations", 20}},
	{"quantile_regression", "a b", "y", some, false, []any{"quantile", 0.9, "max_iterations", 20}},
	{"poisson_regression", "a b w", "n", some, false, []any{"offset", "w"}},
	{"gamma_regression", "a b", "pos", some, false, []any{"l1_reg", 0.01, "max_iterations", 20}},
	{"tweedie_regression", "a b", "pos", some, false, []any{"eval_fraction", 0.2, "early_stop", true}},
	{"tweedie_regression", "a w", "pos", some, false, []any{"weight", "w"}},
	{"logistic_regression", "a b k", "c", some, false, []any{"eval_fraction", 0.2, "max_iterations", 20}},
	{"logistic_regression", "a b k w", "c", some, false, []any{"optimizer", "irls", "l2_reg", 1e-4, "class_weights", "balanced", "eval_fraction", 0.2, "weight", "w"}},
	{"logistic_regression", "a b", "c4", some, false, []any{"l1_reg", 0.01, "max_iterations", 8}},
	{"logistic_regression", "a b", "c", many, true, []any{"optimizer", "adam", "max_iterations", 2, "batch_size", 8192}},
	{"logistic_regression", "a b k", "c", some, false, []any{"optimizer", "newton_cg", "c", 1.0}},
	{"linear_svm", "a b", "c", some, false, []any{"c", 0.01, "max_iterations", 20}},
	{"gradient_boosted_trees", "a b k", "c", some, false, []any{"n_estimators", 4, "max_depth", 4, "eval_fraction", 0.2}},
	{"gradient_boosted_trees", "a b k", "y", some, false, []any{"n_estimators", 3, "subsample", 0.7, "max_leaves", 12}},
	{"gradient_boosted_trees", "a k w", "c4", some, false, []any{"n_estimators", 2, "max_depth", 3, "weight", "w"}},
	{"gradient_boosted_trees", "a b k id w", "n", many, true, []any{"objective", "lambdarank", "query_id", "id", "n_estimators", 3, "max_depth", 4, "eval_fraction", 0.2, "weight", "w"}},
	{"gradient_boosted_trees", "a k id", "n", many, true, []any{"objective", "lambdarank", "query_id", "id", "n_estimators", 2, "max_depth", 3, "subsample", 0.6, "lambdarank_norm", false}},
	{"gradient_boosted_trees", "a b k", "y", some, false, []any{"booster_type", "dart", "skip_drop", 0.0, "drop_rate", 0.6, "n_estimators", 5, "max_depth", 3, "eval_fraction", 0.2}},
	{"gradient_boosted_trees", "a k", "y", some, false, []any{"booster_type", "dart", "skip_drop", 0.0, "drop_rate", 0.7, "objective", "absolute_error", "n_estimators", 4, "max_depth", 3}},
	{"logistic_regression", "a b", "c4 c", some, false, []any{"max_iterations", 5, "eval_fraction", 0.2}},
	{"gradient_boosted_trees", "a b k", "c4 y", some, false, []any{"n_estimators", 2, "max_depth", 3}},
	{"mlp", "a k", "c y", many, true, []any{"epochs", 1, "batch_size", 16384, "hidden_units", 3}},
	{"random_forest", "a b k", "c4", some, false, []any{"n_estimators", 3, "max_depth", 5}},
	{"kmeans", "a b", "", some, false, []any{"n_clusters", 4, "max_iterations", 6}},
	{"kmeans", "a b", "", some, false, []any{"n_clusters", 3, "init", "k-means++", "max_iterations", 4}},
	{"kmeans", "a b", "", many, true, []any{"n_clusters", 4, "batch_size", 8192, "max_iterations", 3}},
	{"pca", "a b k", "", some, false, []any{"n_components", 2}},
	{"pca", "a b w", "", some, false, []any{"n_components", 2, "solver", "randomized"}},
	{"pca", "a b w", "", many, true, []any{"n_components", 2, "solver", "tsqr"}},
	{"svd", "a b", "", some, false, []any{"n_components", 1}},
	{"mlp", "a k w", "c4", many, true, []any{"epochs", 1, "batch_size", 8192, "hidden_units", 6, "dropout", 0.1, "weight", "w", "eval_fraction", 0.2}},
	{"autoencoder", "a b w", "", many, true, []any{"epochs", 1, "batch_size", 16384, "hidden_units", 2}},
	{"lstm", "x id at", "y", many, true, []any{"units", 5, "window", 10, "stride", 40, "order_by", "at", "partition_by", "id", "epochs", 2, "batch_size", 256, "eval_fraction", 0.2}},
	{"lstm_autoencoder", "x a id at", "", many, true, []any{"units", 4, "window", 8, "stride", 42, "order_by", "at", "partition_by", "id", "epochs", 2, "batch_size", 128}},
	{"lstm_autoencoder", "x a w y id at", "", many, true, []any{"units", 3, "window", 10, "stride", 10, "order_by", "at", "partition_by", "id", "epochs", 1, "batch_size", 512}},
	{"time_to_event", "a b died", "days", many, true, []any{"event", "died", "max_iterations", 5, "eval_fraction", 0.2}},
	{"time_to_event", "a b died", "days", many, true, []any{"event", "died", "method", "hazard", "hidden_units", 4, "intervals", 6, "max_iterations", 3}},
	{"cox_regression", "a b died", "days", many, true, []any{"event", "died", "max_iterations", 4}},
	{"cox_regression", "a k w died", "days", many, true, []any{"event", "died", "strata", "k", "weight", "w", "max_iterations", 3}},
	{"aft", "a k w died", "days", many, true, []any{"event", "died", "distribution", "lognormal", "weight", "w", "max_iterations", 3, "eval_fraction", 0.2}},
	{"naive_bayes", "a b k", "c4", some, false, []any{"eval_fraction", 0.2}},
	{"naive_bayes", "a k w", "c", some, false, []any{"model", "bernoulli", "weight", "w", "class_weights", "balanced"}},
	{"gaussian_mixture", "a b w", "", some, false, []any{"n_components", 3, "max_iterations", 4, "eval_fraction", 0.2}},
	{"gaussian_mixture", "a b k", "", some, false, []any{"n_components", 2, "covariance_type", "tied", "init", "random", "max_iterations", 3}},
	{"gaussian_mixture", "a b w", "", some, false, []any{"n_components", 2, "covariance_type", "diagonal", "init", "k-means++", "max_iterations", 3, "weight", "w"}},
	{"isolation_forest", "a b k", "", some, false, []any{"n_estimators", 5}},
	{"isolation_forest", "a b w", "", some, false, []any{"n_estimators", 4, "max_samples", 300, "contamination", 0.05, "weight", "w"}},
	{"nearest_neighbors", "a b k", "c4", 4000, false, []any{"n_neighbors", 3, "eval_fraction", 0.02}},
	{"nearest_neighbors", "a b w", "y", 4000, false, []any{"weights", "distance", "metric", "manhattan", "weight", "w"}},
	{"matrix_factorization", "b id", "y", some, false, []any{"user_col", "b", "item_col", "id", "num_factors", 3, "max_iterations", 3, "tolerance", 0.0, "eval_fraction", 0.1}},
	{"matrix_factorization", "id w b", "n", some, false, []any{"user_col", "b", "item_col", "id", "num_factors", 2, "max_iterations", 2, "feedback_type", "implicit", "weight", "w"}},
	{"exponential_smoothing", "t", "pos", some, false, []any{"order_by", "t", "model", "ZZN"}},
	{"arima", "t w k", "y", 2000, false, []any{"order_by", "t", "non_seasonal_order", "(1,0,0)"}},
	{"seasonal_naive", "t", "y", some, false, []any{"order_by", "t", "seasonal_periods", 7}},
}

// typesOf are the types of the columns that are not float8.
var typesOf = map[string]types.Type{"b": types.Int4, "k": types.Text, "n": types.Int4, "c": types.Int4, "c4": types.Int4, "died": types.Bool, "id": types.Int8, "t": types.Int8}

// columns returns the columns of the training query.
func (p *proof) columns() (cols []record.Column) {
	for _, name := range strings.Fields(p.cols + " " + p.target) {
		c := record.Column{Name: name, Type: types.Float8}
		if t, ok := typesOf[name]; ok {
			c.Type = t
		}
		cols = append(cols, c)
	}
	return cols
}

// step is the unit of the slice lengths that are tried; it is larger for trees, whose partials are so
// long that short slices would take too many messages.
func (p *proof) step() int {
	if p.family == "gradient_boosted_trees" || p.family == "random_forest" {
		return 1000
	}
	return 1
}

func (p *proof) job(t testing.TB, more ...any) *train.Job {
	t.Helper()
	var args []family.Arg
	for list := append(slices.Clone(p.args), more...); len(list) > 0; list = list[2:] {
		v := list[1]
		if n, ok := v.(int); ok {
			v = int64(n)
		}
		args = append(args, family.Arg{Name: list[0].(string), Value: v, Pos: 1})
	}
	var predict []string
	if p.target != "" {
		predict = strings.Fields(p.target)
	}
	j, err := train.NewJob(p.family, predict, args, nil, p.columns())
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// world is the data of all columns: values of the column's type, or nil for NULL.
var world = sync.OnceValue(func() map[string][]any {
	r := rand.New(rand.NewPCG(3, 9))
	out := map[string][]any{}
	put := func(name string, v any) { out[name] = append(out[name], v) }
	for i := range many {
		a, b, k, w := r.NormFloat64(), r.IntN(60), r.IntN(4), 0.5+r.Float64()
		z := a - float64(b)/30 + []float64{0.5, -0.5, 0, 1}[k] + r.NormFloat64()
		days, until := math.Ceil(20*r.ExpFloat64()*math.Exp(-a/2)), float64(1+r.IntN(60))
		class := int32(0)
		if z > 0.3 {
			class = 1
		}
		put("a", a)
		put("b", int32(b))
		put("k", string(rune('p'+k)))
		put("x", r.NormFloat64())
		put("w", w)
		put("y", z)
		put("n", int32(max(0, 2*z)))
		put("pos", math.Exp(z/3))
		put("c", class)
		put("c4", int32(min(max(int(z)+2, 0), 3))*10)
		put("days", min(days, until))
		put("died", days <= until)
		put("id", int64(i/50))
		put("at", float64(i%50))
		put("t", int64(i))
		for _, name := range []string{"a", "k"} {
			if r.IntN(20) == 0 {
				out[name][i] = nil
			}
		}
	}
	return out
})

// data returns the same rows each time, in batches whose order depends on the seed.
func (p *proof) data(seed uint64) (out []*batch.Batch) {
	o := rand.New(rand.NewPCG(seed, 3))
	rows := o.Perm(p.rows)
	for len(rows) > 0 {
		n := min(len(rows), 1+o.IntN(2000))
		var arrs []arrow.Array
		for _, col := range p.columns() {
			b := array.NewBuilder(memory.DefaultAllocator, col.Type.Arrow())
			from := world()[col.Name]
			for _, i := range rows[:n] {
				switch v := from[i].(type) {
				case nil:
					b.AppendNull()
				case float64:
					b.(*array.Float64Builder).Append(v)
				case int32:
					b.(*array.Int32Builder).Append(v)
				case int64:
					b.(*array.Int64Builder).Append(v)
				case bool:
					b.(*array.BooleanBuilder).Append(v)
				case string:
					b.(*array.StringBuilder).Append(v)
				}
			}
			arrs = append(arrs, b.NewArray())
		}
		out = append(out, batch.New(arrs, n))
		rows = rows[n:]
	}
	return out
}

// checkpoints collects all checkpoints of a training.
type checkpoints [][]byte

func (c *checkpoints) Save(_ context.Context, _ int, write func(io.Writer) error) error {
	var b bytes.Buffer
	err := write(&b)
	*c = append(*c, b.Bytes())
	return err
}

// attempt is one run of a training on a cluster.
type attempt struct {
	driver int // index of the driver's node
	again  bool
	seed   uint64
	slice  int
	resume []byte
	gather bool
	before func(task int) // called before each task
	saved  *checkpoints
}

// counted calls a function before each task.
type counted struct {
	*trainer.Group
	n      int
	before func(int)
}

func (r *counted) Reduce(ctx context.Context, t train.Task) (family.Message, error) {
	if r.n++; r.before != nil {
		r.before(r.n)
	}
	return r.Group.Reduce(ctx, t)
}

// run trains. Its clock advances so far at each reading that a checkpoint is due after each step.
func (p *proof) run(t *testing.T, c *cluster, a attempt) (res *train.Result, again bool, err error) {
	t.Helper()
	ctx := context.Background()
	var more []any
	if a.gather {
		more = []any{"reduction", "gather"}
	}
	job := p.job(t, more...)
	var others []uint64
	for id := range c.addr {
		others = append(others, id)
	}
	slices.Sort(others)
	c.groups++
	g, err := c.nodes[a.driver].tr.Open(ctx, fmt.Sprint("proof.", c.groups), job, others, a.again, 0)
	if err != nil {
		return nil, false, err
	}
	defer g.Close()
	spread := func(context.Context) error {
		err := c.add(g, p.data(a.seed), a.seed)
		for _, r := range c.remote {
			r.spread(t, g, p, a.seed)
		}
		return err
	}
	if err := spread(ctx); err != nil {
		return nil, false, err
	}
	rows, err := g.Distribute(ctx)
	if err != nil {
		return nil, false, err
	}
	if rows != int64(p.rows) {
		t.Fatalf("%d rows came", rows)
	}
	now := time.Unix(0, 0)
	in := train.Input{Job: job, Rows: rows, Resume: a.resume, SliceElements: a.slice, Now: func() time.Time { now = now.Add(20 * time.Second); return now }}
	if a.saved != nil {
		in.Save = a.saved
	}
	if again = g.Rescan(); again {
		in.Rescan = func(ctx context.Context) error { return errors.Join(spread(ctx), g.DistributeRescan(ctx)) }
	}
	res, err = train.Run(ctx, in, &counted{g, 0, a.before})
	if pgerr.Is(err, pgerr.RowsNotHeld) && again { // the rows do not fit in memory, and a node spills them
		a.again = false
		g.Close()
		return p.run(t, c, a)
	}
	return res, again, err
}

// least trains on one node with little more than the least memory that suffices.
func (p *proof) least(t *testing.T, again bool) (res *train.Result, read bool, err error) {
	memory := int64(1 << 20)
	if p.distributed {
		memory *= 3
	}
	for ; memory < 64<<20; memory += memory / 5 {
		res, read, err = p.run(t, start(t, 1, memory), attempt{seed: 9, again: again})
		if pgerr.CodeOf(err) != pgerr.OutOfMemory {
			t.Logf("little memory, again %v: %d bytes", again, memory)
			break
		}
	}
	return res, read, err
}

// TestEveryFamilyEverywhere trains every family on any number of nodes, with the rows in other orders,
// with little memory, with nodes that use other kernels, and with nodes that die: all models have the
// same bytes.
func TestEveryFamilyEverywhere(t *testing.T) {
	for _, f := range families.All {
		if name := f.Info().Name; !slices.ContainsFunc(proofs, func(p proof) bool { return p.family == name }) {
			t.Errorf("say how %s is trained here", name)
		}
	}
	mixed := startMixed(t)
	for i := range proofs {
		p := &proofs[i]
		if testing.Short() && i%5 != 0 {
			continue
		}
		t.Run(fmt.Sprint(p.family, " ", p.args), func(t *testing.T) {
			if distributed := !p.job(t).InPlace(); distributed != p.distributed {
				t.Fatalf("rows are distributed: %v", distributed)
			}
			var want *train.Result
			same := func(how string, got *train.Result, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%s: %v", how, err)
					return
				}
				said := func(r *train.Result) string {
					return fmt.Sprint(r.Metrics, r.TrainLoss, r.Rows, r.Held, r.Iterations, r.Evals, r.Stopped, len(r.History))
				}
				if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || said(got) != said(want) {
					t.Errorf("%s: another model: %s, not %s", how, said(got), said(want))
				}
			}
			var states checkpoints
			tasks := 0
			want, _, err := p.run(t, start(t, 1, 0), attempt{saved: &states, before: func(n int) { tasks = n }})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{2, 3, 5} {
				got, _, err := p.run(t, start(t, n, 0), attempt{seed: uint64(n), slice: n * p.step()})
				same(fmt.Sprint(n, " nodes"), got, err)
			}
			got, _, err := p.run(t, start(t, 3, 0), attempt{seed: 7, gather: true})
			same("gathered", got, err)
			got, _, err = p.run(t, mixed, attempt{seed: 8, slice: 4 * p.step()})
			same("other kernels", got, err)
			for _, again := range []bool{false, true} {
				got, read, err := p.least(t, again)
				same(fmt.Sprint("little memory, again ", again), got, err)
				if err == nil && !read && train.Total(got.Usage).Written == 0 && p.family != "arima" { // a fit of which takes more than its rows
					t.Errorf("little memory, again %v: all fits", again)
				}
			}
			for lost := range 3 {
				c := start(t, 3, 0)
				var saved checkpoints
				_, _, err := p.run(t, c, attempt{seed: 5, saved: &saved, before: func(n int) {
					if n == 1+tasks*(lost+1)/4 {
						c.kill(lost)
					}
				}})
				if pgerr.CodeOf(err) != pgerr.ConnectionFailure && pgerr.CodeOf(err) != pgerr.CannotConnectNow {
					t.Fatalf("node %d was lost: %v", lost, err)
				}
				var last []byte
				if len(saved) > 0 {
					last = saved[len(saved)-1]
				}
				got, _, err := p.run(t, c, attempt{driver: (lost + 1) % 3, seed: 6, resume: last})
				same(fmt.Sprint("node ", lost, " lost"), got, err)
			}
			for _, at := range []int{0, len(states) / 2, len(states) - 1} {
				if at < 0 || at > 0 && at < len(states)/2 {
					continue
				}
				var state []byte
				if len(states) > 0 {
					state = states[at]
				}
				got, _, err := p.run(t, start(t, 2, 0), attempt{seed: 4, resume: state})
				same(fmt.Sprint("resumed from checkpoint ", at, " of ", len(states)), got, err)
			}
		})
	}
}
