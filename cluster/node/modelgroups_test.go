package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestGroupsAreTrainedAlike: the file of a model's groups is the same on one node and on three, for small batches
// and for a sort that spills, and each model in it is that of a training of its group's rows.
func TestGroupsAreTrainedAlike(t *testing.T) {
	const query = "select g, x0, x1, k, y from grouped_rows"
	files := map[string]string{}
	for _, n := range oneAndThree() {
		nodes := start(t, n)
		c := connect(t, nodes[n-1])
		c.must(`create table grouped_rows as select i * 7919::int8 % 20 as g, sin(i) as x0, cos(i % 1000) as x1, 'c' || i % 3 as k,
			sin(i) * (i * 7919::int8 % 20) + i % 5 as y from generate_series(1, 120000) i`)
		for _, family := range []struct{ name, options string }{{"ridge", ""}, {"gradient_boosted_trees", "n_estimators = 2, max_depth = 2"}, {"mlp", "hidden_units = [2], epochs = 1"}} {
			for _, form := range []string{"", "set batch_size = 50", "set work_mem = '10MB'", "set tributary.distribute_rows = 0", "set tributary.group_rows = 100"} {
				if form != "" {
					c.must(form)
				}
				name := fmt.Sprintf("%s %s", family.name, form)
				got := c.must(fmt.Sprintf("train or replace model of_groups using %s predict y group by g with (seed = 1%s) as %s", family.name, strings.TrimSuffix(", "+family.options, ", "), query))
				if len(got) == 0 || !strings.Contains(strings.Join(got, " "), "120000") {
					t.Fatalf("%s: %v", name, got)
				}
				sha := strings.Join(c.must("select sha256 from ml.models where name = 'of_groups'"), "")
				if first := files[family.name]; first == "" {
					files[family.name] = sha
				} else if first != sha {
					t.Errorf("%s on %d nodes gives another file", name, n)
				}
				for _, s := range []string{"batch_size", "work_mem", "tributary.distribute_rows", "tributary.group_rows"} {
					c.must("reset " + s)
				}
			}
			for _, g := range []int{0, 7, 19} {
				c.must(fmt.Sprintf("train or replace model of_one using %s predict y with (seed = 1%s) as select x0, x1, k, y from grouped_rows where g = %d", family.name, strings.TrimSuffix(", "+family.options, ", "), g))
				one := c.must("select sha256 from ml.models where name = 'of_one'")
				if got := c.must(fmt.Sprintf("select sha256 from ml.model_groups('of_groups') where g = %d", g)); !slices.Equal(got, one) {
					t.Errorf("%s: the model of group %d is not that of a training of its rows", family.name, g)
				}
			}
		}
	}
}

// TestGroupsWithoutANode: a training of groups begins again without a node that is lost, and its file is the same.
func TestGroupsWithoutANode(t *testing.T) {
	nodes := start(t, 3)
	c := connect(t, nodes[0], spread)
	c.must("create table gn as select i % 50 as g, (i % 13)::float8 as x, (i % 13 * (i % 50))::float8 as y from generate_series(1, 5000) i")
	train := "train or replace model without using ridge predict y group by g as select * from gn"
	c.must(train)
	want := c.must("select sha256 from ml.models where name = 'without'")
	if err := nodes[2].Close(); err != nil {
		t.Fatal(err)
	}
	c.must(train)
	if got := c.must("select sha256 from ml.models where name = 'without'"); !slices.Equal(got, want) {
		t.Errorf("%v is not %v", got, want)
	}
}

// TestLongGroupsAreTrainedAlone: groups with more rows than one thread is to have are trained by all of the nodes'
// threads, and have the same models; one that cannot be trained is a row as others are.
func TestLongGroupsAreTrainedAlone(t *testing.T) {
	for _, n := range oneAndThree() {
		nodes := start(t, n)
		c := connect(t, nodes[0])
		c.must("create table gl as select case when i % 10 < 8 then i % 2 else 2 + i % 50 end as g, (i % 13)::float8 as x, (i % 13 * (i % 50))::float8 as y, i % 2 as c from generate_series(1, 20000) i")
		for _, train := range []string{"ridge predict y group by g as select g, x, y from gl", "kmeans group by g with (n_clusters = 2, seed = 1) as select g, x, y from gl",
			"logistic_regression predict c group by g with (unknown_group = 'pooled') as select case when g < 2 then g end as g, x, c from gl"} {
			var want []string
			for _, most := range []string{"1000000", "1000", "1"} {
				c.must("set tributary.group_rows = " + most)
				asked := 0
				build.Hooked.Store(&build.Hook{Node: func(n plan.Node, threads []op.Operator) []op.Operator {
					if _, ok := n.(*plan.Collect); ok {
						asked++
					}
					return threads
				}})
				c.must("train or replace model long using " + train)
				build.Hooked.Store(nil)
				if alone := strings.Contains(train, "ridge") && most == "1000"; alone && asked < 2 {
					t.Errorf("%d groups were trained by all threads", asked)
				}
				got := c.must("select sha256, rows, train_loss, groups_failed from (select *, (select count(*) from ml.model_groups('long') where state = 'failed') as groups_failed from ml.models) m where name = 'long'")
				if want == nil {
					want = got
				} else if !slices.Equal(got, want) {
					t.Errorf("%d nodes, %s, most %s: %v is not %v", n, train, most, got, want)
				}
			}
		}
	}
}

// holding is an operator that waits for the end of its statement once it is asked for rows.
type holding struct {
	op.Operator
	asked func()
}

func (o *holding) Next(ctx context.Context) (*batch.Batch, error) {
	o.asked()
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestGroupsAreCancelled: CANCEL TRAINING ends a training of groups in the middle of its plan, and nothing is left of it.
func TestGroupsAreCancelled(t *testing.T) {
	nodes := start(t, 1)
	c, other := connect(t, nodes[0]), connect(t, nodes[0])
	c.must("create table gc as select i % 50 as g, (i % 13)::float8 as x, (i % 13 * (i % 50))::float8 as y from generate_series(1, 5000) i")
	asked := make(chan struct{})
	once := sync.OnceFunc(func() { close(asked) })
	build.Hooked.Store(&build.Hook{Node: func(n plan.Node, threads []op.Operator) []op.Operator {
		if _, ok := n.(*plan.TrainGroups); !ok {
			return threads
		}
		out := make([]op.Operator, len(threads))
		for i := range threads {
			out[i] = &holding{threads[i], once}
		}
		return out
	}})
	defer build.Hooked.Store(nil)
	failed := make(chan error, 1)
	go func() {
		_, err := c.do("train model cancelled using ridge predict y group by g as select * from gc")
		failed <- err
	}()
	<-asked
	other.must("cancel training cancelled")
	if err := <-failed; !pgerr.Is(err, pgerr.QueryCanceled) {
		t.Errorf("the training ended with %v", err)
	}
	build.Hooked.Store(nil)
	if got := other.must("select count(*) from ml.models where name = 'cancelled'"); got[0] != "0" {
		t.Errorf("there is a model")
	}
	other.must("train model cancelled using ridge predict y group by g as select * from gc")
}

// TestOneTrialForAllGroups: a search of one trial for all groups has the same trials, but their seconds, and the same
// file on one node, on two and on three, where long groups are trained alone too, and where its driver is lost in the
// middle of it.
func TestOneTrialForAllGroups(t *testing.T) {
	const query = "select g, x, z, y from gt"
	want := map[string]string{}
	for _, n := range []int{1, 2, 3} {
		nodes := start(t, n)
		c := connect(t, nodes[0], spread)
		c.must("create table gt as select i % 6 as g, (i % 13)::float8 as x, sin(i) as z, (i % 13 * (i % 6))::float8 + cos(i % 17) as y from generate_series(1, 3000) i")
		trained := func(name, options string) string {
			c.must(fmt.Sprintf("train or replace model %s group by g with (hparam_tuning_scope = 'all', %s) as %s", name, options, query))
			model := strings.Fields(name)[0]
			return strings.Join(slices.Concat(c.must("select sha256 from ml.models where name = '"+model+"'"),
				c.must("select trial, parameters, objective, metrics, state, rung, iterations, best, error from ml.trials('"+model+"') order by trial")), "\n")
		}
		for name, options := range map[string]string{
			"halved using gradient_boosted_trees predict y": "learning_rate = hparam_range(0.03, 0.5, log => true), n_estimators = 9, num_trials = 9, max_depth = 3, hparam_tuning_algorithm = 'halving', checkpoint_every = 1",
			"gridded using ridge predict y":                 "alpha = hparam_candidates([0.1, 10, 1000]), standardize = hparam_candidates([true, false]), hparam_tuning_algorithm = 'grid', unknown_group = 'pooled'",
		} {
			for _, most := range []string{"1000000", "100"} {
				c.must("set tributary.group_rows = " + most)
				if got := trained(name, options); want[name] == "" {
					want[name] = got
				} else if got != want[name] {
					t.Errorf("%s on %d nodes, %s rows alone:\n%s\nnot\n%s", name, n, most, got, want[name])
				}
			}
			c.must("reset tributary.group_rows")
			if n < 3 || !strings.Contains(name, "halved") {
				continue
			}
			// The driver is the next node; it is lost when the plan of the second batch is under way.
			plans, lost, asked := 0, false, make(chan struct{})
			once := sync.OnceFunc(func() { close(asked) })
			var mu sync.Mutex
			build.Hooked.Store(&build.Hook{Node: func(n plan.Node, threads []op.Operator) []op.Operator {
				if _, ok := n.(*plan.TrainGroups); !ok {
					return threads
				}
				mu.Lock()
				defer mu.Unlock()
				if plans++; plans <= 3 || lost { // the first batch on three nodes, and what comes after the loss
					return threads
				}
				out := make([]op.Operator, len(threads))
				for i := range threads {
					out[i] = &holding{threads[i], once}
				}
				return out
			}})
			done := make(chan string, 1)
			go func() { done <- trained(name, options) }()
			<-asked
			mu.Lock()
			lost = true
			mu.Unlock()
			if err := nodes[1].Close(); err != nil {
				t.Fatal(err)
			}
			if got := <-done; got != want[name] {
				t.Errorf("%s after its driver was lost:\n%s\nnot\n%s", name, got, want[name])
			}
			build.Hooked.Store(nil)
		}
	}
}
