package node

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
)

// figure returns the number that a pattern finds in a training's EXPLAIN ANALYZE.
func figure(t testing.TB, plan, pattern string) (n int64) {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(plan)
	if m == nil {
		t.Fatalf("no %q in\n%s", pattern, plan)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTrainingUsage: EXPLAIN ANALYZE shows how many bytes a training sent, read and wrote. Algorithms
// that train where the rows are send no rows; those with mini-batches distribute them.
func TestTrainingUsage(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			nodes := start(t, n)
			c := connect(t, nodes[0], spread, "tributary.keep_datasets = off") // each training reads its rows
			c.must("create table f as select random()::float4 a, random()::float4 b, (i % 3 + 1)::float4 y from generate_series(1, 80000) i")
			statements := []string{"mlp predict y with (epochs = 1, hidden_units = [4])"}
			for _, f := range families.All {
				if f.Info().Task == family.Forecasting { // which takes a series
					continue
				}
				switch name := f.Info().Name; name {
				case "mlp", "autoencoder", "lstm", "lstm_autoencoder", "time_to_event", "cox_regression", "aft": // are distributed
				case "kmeans":
					statements = append(statements, "kmeans with (n_clusters = 3, max_iterations = 2)")
				case "gaussian_mixture":
					statements = append(statements, name+" with (n_components = 2, max_iterations = 2)")
				case "isolation_forest":
					statements = append(statements, name+" with (n_estimators = 2)")
				case "naive_bayes", "nearest_neighbors":
					statements = append(statements, name+" predict y")
				case "matrix_factorization":
					statements = append(statements, name+" predict y with (user_col = a, item_col = b, num_factors = 2, max_iterations = 2)")
				case "pca", "svd":
					statements = append(statements, name+" with (n_components = 2)")
				case "gradient_boosted_trees", "random_forest":
					statements = append(statements, name+" predict y with (n_estimators = 2, max_depth = 3)")
				default:
					statements = append(statements, name+" predict y with (max_iterations = 2)")
				}
			}
			for _, train := range statements {
				plan := strings.Join(c.must("explain analyze train model m using "+train+" as select * from f"), "\n")
				moved := figure(t, plan, `Rows moved between nodes: (\d+) bytes`)
				distributed := strings.HasPrefix(train, "mlp") && n > 1
				if (moved > 0) != distributed {
					t.Errorf("%s moved %d bytes of rows", train, moved)
				}
				// Three float4: only the query's columns are read.
				if got := figure(t, plan, `Source read: (\d+) bytes`); got != 80000*12 {
					t.Errorf("%s read %d bytes", train, got)
				}
				if got := figure(t, plan, `Encoded rows: (\d+) bytes`); got < 80000*8 {
					t.Errorf("%s encoded %d bytes", train, got)
				}
				if got := figure(t, plan, `Temporary files: \d+ bytes before the first iteration, (\d+) bytes in all`); got != 0 {
					t.Errorf("%s wrote %d bytes", train, got)
				}
				if got := figure(t, plan, `Peak memory: (\d+) bytes`); got < 80000*8 {
					t.Errorf("%s held %d bytes", train, got)
				}
				var read int64
				for i := range n {
					read += figure(t, plan, fmt.Sprintf(`Node n%d: moved \d+, read (\d+),`, i+1))
				}
				if read != 80000*12 {
					t.Errorf("%s: the nodes read %d bytes", train, read)
				}
			}
		})
	}
}

// TestTrainingOfOneSegment: each node that stores a replica of a segment trains on a part of it, even
// if there are so few rows that a query would run on one node. No row is sent, and the model is the
// same as on one node.
func TestTrainingOfOneSegment(t *testing.T) {
	const rows, cols = 12000, 20
	models, trips := map[string]bool{}, map[int64]bool{}
	for _, n := range oneAndThree() {
		nodes := start(t, n)
		c := connect(t, nodes[0], "tributary.keep_datasets = off")
		var list strings.Builder
		for i := range cols {
			fmt.Fprintf(&list, "(i * %d %% 1009)::float8 x%d, ", 2*i+3, i)
		}
		c.must(fmt.Sprintf("create table f as select %s (i %% 7 < 3)::int y from generate_series(1, %d) i", list.String(), rows))
		plan := strings.Join(c.must("explain analyze train model m using logistic_regression predict y with (max_iterations = 3) as select * from f"), "\n")
		if got := figure(t, plan, `Rows moved between nodes: (\d+) bytes`); got != 0 {
			t.Errorf("%d nodes: %d bytes of rows moved", n, got)
		}
		got := figure(t, plan, `Round trips: (\d+) to all nodes, `)
		if trips[got] = true; got < 4 { // statistics, and three iterations
			t.Errorf("%d nodes: %d round trips", n, got)
		}
		if got := figure(t, plan, `; (\d+) commits of the job`); got < 2 || got > 8 { // its record comes and goes, and has a few phases
			t.Errorf("%d nodes: %d commits", n, got)
		}
		for i := range n {
			read := figure(t, plan, fmt.Sprintf(`Node n%d: moved \d+, read (\d+),`, i+1))
			if share := int64(rows * (8*cols + 4) / n); read < share*3/4 || read > share*5/4 {
				t.Errorf("node %d of %d read %d bytes", i+1, n, read)
			}
		}
		c.must("train model m using logistic_regression predict y with (max_iterations = 3) as select * from f")
		models[strings.Join(c.must("select sha256 from ml.models where name = 'm'"), "")] = true
		tree := strings.Join(c.must("select level, count(*), min(place), max(place), count(distinct node) from ml.training_reductions group by level order by level"), "; ")
		if want := map[int]string{1: "0|1|0|0|1", 3: "0|3|0|2|3; 1|2|0|1|2; 2|1|0|0|1"}[n]; tree != want {
			t.Errorf("%d nodes merge their sums by %q", n, tree)
		}
	}
	if len(trips) != 1 {
		t.Errorf("round trips of one node and three: %v", trips)
	}
	if len(models) != 1 {
		t.Errorf("%d different models", len(models))
	}
}

// TestTrainingBeyondMemory: rows that do not fit in memory are read twice, so that only their encoded
// blocks are written to disk. The rows of a query that does not return the same rows again are read
// once and kept.
func TestTrainingBeyondMemory(t *testing.T) {
	n := startSmall(t)
	c := connect(t, n, "tributary.keep_datasets = off")
	c.must("create table f as select random() a, random() b, random() c, random() d, random() e, random() f, random() g, random() y from generate_series(1, 500000) i")
	c.must("create table s as select i, i / 100 k, random() a, random() b, random() c, random() d, random() e, random() f, random() g, random() h from generate_series(1, 500000) i")
	for _, train := range []string{"linear_regression predict y", "kmeans with (n_clusters = 3, max_iterations = 2)",
		"mlp predict y with (epochs = 1, hidden_units = [4])", // mini-batches, so rows are distributed
		"lstm_autoencoder with (epochs = 1, units = 1, window = 4, order_by = i, partition_by = k)"} {
		rows := "select * from f"
		if strings.Contains(train, "window") {
			rows = "select * from s"
		}
		plan := strings.Join(c.must("explain analyze train model m using "+train+" as "+rows), "\n")
		if got := figure(t, plan, `Source read: \d+ bytes, read (\d+) times`); got != 2 {
			t.Errorf("%s read its source %d times", train, got)
		}
		block := figure(t, plan, `Encoded rows: (\d+) bytes`)
		if got := figure(t, plan, `Temporary files: \d+ bytes before the first iteration, (\d+) bytes in all`); got == 0 || got > 2*block {
			t.Errorf("%s wrote %d bytes of %d", train, got, block)
		}
	}
	plan := strings.Join(c.must("explain analyze train model m using linear_regression predict y as select y, a, random() r, b, c, d, e, g from f"), "\n")
	if !strings.Contains(plan, "bytes, read 1 times") {
		t.Errorf("rows that come but once:\n%s", plan)
	}
	if n.pool.Peak() > n.pool.Limit() || n.left() != 0 {
		t.Errorf("the pool of %d bytes held %d, and holds %d", n.pool.Limit(), n.pool.Peak(), n.pool.Used())
	}
}

// TestOtherRowsAreHeld: a training that reads its query twice starts again if the second reading
// returns other rows; it then reads the query once and keeps its rows, on one node and on three. If
// the rows are the same, so are the models.
func TestOtherRowsAreHeld(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	models := map[string]bool{}
	for _, n := range oneAndThree() {
		nodes := start(t, n, func(o *Options) { o.Memory = 40 << 20 })
		debug.SetMemoryLimit(was) // the limit is of one node, and this process has all
		c := connect(t, nodes[0], "tributary.keep_datasets = off", spread)
		c.must("create table s as select i, i / 100 k, sin(i) a, sin(i * 3) b, sin(i * 5) c, sin(i * 7) d, sin(i * 11) e, sin(i * 13) f, sin(i * 17) g, sin(i * 19) h from generate_series(0, 199999) i")
		for rows, reads := range map[string]int64{"select * from s": 2, "select i, k, a, b, c, d, e, f, g, random() h from s": 1} {
			train := "train model m using lstm_autoencoder with (epochs = 1, units = 1, window = 4, order_by = i, partition_by = k) as " + rows
			plan := strings.Join(c.must("explain analyze "+train), "\n")
			if got := figure(t, plan, `Source read: \d+ bytes, read (\d+) times`); got != reads {
				t.Errorf("%d nodes read their source %d times:\n%s", n, got, plan)
			}
			if reads == 2 {
				c.must(train)
				models[c.one("select sha256 from ml.models where name = 'm'")] = true
			}
		}
	}
	if len(models) != 1 {
		t.Errorf("%d different models", len(models))
	}
}

// TestLeastMemory: a node with 40 MiB of memory, of which the pool has 10, trains on rows of nearly 40
// MB, whether they are read twice or read once and kept. All memory is released at the end.
func TestLeastMemory(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	n := start(t, 1, func(o *Options) { o.Memory = 40 << 20 })[0]
	debug.SetMemoryLimit(was) // the limit is for a node, without the garbage of a test
	c := connect(t, n, "tributary.keep_datasets = off")
	c.must("create table f as select i / 1000 p, i t, random() a, random() b, random() c, random() d, random() e, random() f, random() g, random() h, random() x, random() y from generate_series(0, 399999) i")
	const windows = "lstm predict y with (units = 2, window = 20, stride = 20, order_by = t, partition_by = p, epochs = 1"
	for train, reads := range map[string]int64{
		windows + ")":                      2,
		windows + ", eval_fraction = 0.1)": 1,
		"ridge predict y":                  2,
		"mlp predict y with (hidden_units = 4, epochs = 1)": 2,
	} {
		// Whether windows are read twice is decided by a sample of the rows that come first: of partitions that
		// have not come whole it expects remainders, and holds the rows. Which these are is up to the threads.
		var got int64
		for try := 0; got != reads && try < 4; try++ {
			plan := strings.Join(c.must("explain analyze train or replace model m using "+train+" as select * from f"), "\n")
			got = figure(t, plan, `Source read: \d+ bytes, read (\d+) times`)
		}
		if got != reads {
			t.Errorf("%s read its source %d times", train, got)
		}
	}
	if n.pool.Peak() > n.pool.Limit() || n.left() != 0 {
		t.Errorf("the pool of %d bytes held %d, and holds %d", n.pool.Limit(), n.pool.Peak(), n.pool.Used())
	}
}
