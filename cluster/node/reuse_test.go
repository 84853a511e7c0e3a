package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/exec/mem"
)

// trained trains twice: by EXPLAIN ANALYZE, which discards the model, and by TRAIN MODEL. It returns
// whether the first used a kept dataset, and the hash of the second model.
func (c *client) trained(train string) (reused bool, sha string) {
	c.t.Helper()
	plan := strings.Join(c.must("explain analyze train model tried "+train), "\n")
	reused = strings.Contains(plan, "Dataset reused: yes")
	if read := figure(c.t, plan, `Source read: (\d+) bytes`); (read == 0) != reused {
		c.t.Errorf("%d bytes were read, reused %v:\n%s", read, reused, plan)
	}
	if moved := figure(c.t, plan, `Rows moved between nodes: (\d+) bytes`); moved > 0 && reused {
		c.t.Errorf("%d bytes were moved", moved)
	}
	c.must("train or replace model m " + train)
	return reused, c.must("select sha256 from ml.models where name = 'm'")[0]
}

// still is an option of start by which nothing is compacted during the test.
func still(o *Options) { o.Pace.Tick = time.Hour }

// TestDatasetReused: another training on the same rows uses the encoded dataset that the first one kept,
// and its model is the same as without. It is not used for other rows, another encoding of them, or a
// volatile query.
func TestDatasetReused(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			nodes := start(t, n, still)
			c, fresh := connect(t, nodes[0], spread), connect(t, nodes[0], spread, "tributary.keep_datasets = off")
			c.must("create table f as select i, (i * 7919 % 1000)::float4 / 100 a, sin(i)::float4 b, 'c' || i % 5 c, i * 7919 % 1000 + sin(i) * 300 > 500 y from generate_series(1, 20000) i")
			c.must("create table z as select 1 one")
			check := func(want bool, train string) {
				t.Helper()
				_, sha := fresh.trained(train)
				reused, got := c.trained(train)
				if reused != want || got != sha {
					t.Errorf("%s: reused %v, model %s, not %s", train, reused, got, sha)
				}
			}
			const of = " as select a, b, c, y from f"
			check(false, "using logistic_regression predict y"+of)
			check(true, "using logistic_regression predict y with (l2 = 0.1)"+of)
			check(true, "using linear_svm predict y"+of)
			check(true, "using logistic_regression predict y as /* the same */ select a, b, c, y from public.f")
			check(false, "using logistic_regression predict y as select a, b, c, y from f where i > 100")
			check(false, "using logistic_regression predict y with (seed = 3, eval_fraction = 0.2)"+of)
			check(true, "using logistic_regression predict y with (seed = 3, eval_fraction = 0.2, l1 = 0.01)"+of)
			check(false, "using logistic_regression predict y transform (ml.robust_scaler(a) over () as a, c, y)"+of)
			check(true, "using logistic_regression predict y with (max_iterations = 3) transform (ml.robust_scaler(a) over () as a, c, y)"+of)
			check(false, "using mlp predict y with (epochs = 1, hidden_units = [4])"+of)
			check(true, "using mlp predict y with (epochs = 2, hidden_units = [3])"+of)
			check(false, "using gradient_boosted_trees predict y with (n_estimators = 3)"+of)
			check(true, "using random_forest predict y with (n_estimators = 3)"+of)
			const sums = " as select a, b, i from f"
			check(false, "using pca with (n_components = 2)"+sums) // trains where the rows are: the next one needs them distributed
			check(false, "using svd with (n_components = 2, solver = 'tsqr')"+sums)
			check(true, "using svd with (n_components = 1, solver = 'tsqr')"+sums)
			check(false, "using logistic_regression predict y as select x0, x1, y from make_classification(n_samples => 5000, n_features => 5)")
			check(true, "using logistic_regression predict y with (l2 = 1) as select x0, x1, y from make_classification(n_samples => 5000, n_features => 5)")
			check(false, "using ridge predict a with (cross_validation = 3) as select a, b, c from f")
			check(false, "using ridge predict a with (cross_validation = 3) as select a, b, c from f")
			check(true, "using ridge predict a with (alpha = 3) as select a, b, c from f")
			c.must("train model again using logistic_regression predict y" + of)
			before := c.must("select sha256 from ml.models where name = 'again'")
			if c.must("retrain model again"); c.must("select sha256 from ml.models where name = 'again'")[0] != before[0] {
				t.Error("RETRAIN gives another model")
			}

			last := "using logistic_regression predict y" + of
			for _, change := range []string{
				"insert into f values (0, 1, 2, 'c1', true)",
				"delete from f where i % 100 = 7",
				"update f set a = a + 1 where i < 1000",
				"alter table f alter column b type float8",
				"truncate f; insert into f select i, i, i * i, 'c' || i % 3, i % 7 < 3 from generate_series(1, 9000) i",
			} {
				c.must("insert into z values (2)") // another table changes
				check(true, last)
				c.must(change)
				check(false, last)
			}
			for _, query := range []string{"select a, random() r, y from f", "select a, y from f, pg_namespace n where nspname = 'public'"} {
				for range 2 {
					if reused, _ := c.trained("using logistic_regression predict y as " + query); reused {
						t.Errorf("%s reads nothing", query)
					}
				}
			}
			c.must("begin; insert into f values (-1, 50, 60, 'c2', false)")
			if reused, sha := c.trained(last); reused {
				t.Errorf("in a transaction that changed the table: model %s", sha)
			}
			c.must("rollback")
			check(true, last)
			c.must("drop table f cascade; drop model again; drop model m")
		})
	}
}

// TestDatasetGivesWay: a kept dataset counts as idle memory, and is dropped when a statement needs the
// memory or its table is dropped.
func TestDatasetGivesWay(t *testing.T) {
	n := start(t, 1, still)[0]
	c := connect(t, n)
	c.must("create table f as select i::float4 a, sin(i)::float4 b, i % 3 y from generate_series(1, 200000) i")
	const train = "using linear_regression predict y as select a, b, y from f"
	before := n.pool.Used()
	c.trained(train)
	kept := n.pool.Used() - before
	if kept < 200000*(4+4+8) || kept > 16<<20 {
		t.Fatalf("%d bytes are kept", kept)
	}
	if idle := n.pool.Idle(); idle < kept-256<<10 || n.ownReport().Idle != idle {
		t.Errorf("%d of the kept bytes are idle, %d told of", idle, n.ownReport().Idle)
	}
	if reused, _ := c.trained(train); !reused {
		t.Error("the second training reads its rows")
	}
	statement := n.pool.Child("statement", 0)
	a := statement.Account("rows", true)
	for a.Grow(int64(mem.FailShare*float64(n.pool.Limit()))-before-1<<20) != nil {
		c.must("select pg_sleep(0.01)") // until the training has returned what it held
	}
	statement.Close()
	if reused, _ := c.trained(train); reused {
		t.Error("the dataset has not given way")
	}
	if n.pool.Used()-before < kept {
		t.Error("the dataset is not kept")
	}
	c.must("drop table f cascade")
	for n.pool.Used() > before+1<<20 {
		c.must("select pg_sleep(0.01)") // until the node has noticed the change of the catalog
	}
}
