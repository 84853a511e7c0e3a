package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// spreadTable has enough rows for several leaves, so that each node has some of a mini-batch.
	spreadTable  = "CREATE TABLE d AS SELECT * FROM make_classification(n_samples => 70000, n_features => 8, n_informative => 4, n_redundant => 2, random_state => 7)"
	longTrain    = "TRAIN MODEL m USING logistic_regression PREDICT y WITH (optimizer = 'adam', max_iterations = 60, batch_size = 500, checkpoint_every = 4) AS SELECT * FROM d"
	iterationsOf = "SELECT coalesce(max(iterations), 0) FROM ml.training_jobs WHERE state = 'running' AND phase = 'iterate'"
)

// waitFor polls until a query returns true.
func waitFor(t *testing.T, c *pgx.Conn, what, sql string) {
	t.Helper()
	deadline := time.Now().Add(longest)
	for !value[bool](t, c, sql) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond) // polls the state of another process
	}
}

// TestTrainingOutlivesNodes kills or stops a node halfway through a training: the other nodes finish
// it, and the model has the same bytes as from an undisturbed run on one node.
func TestTrainingOutlivesNodes(t *testing.T) {
	one := startProcess(t, t.TempDir(), "").connect()
	do(t, one, spreadTable)
	do(t, one, longTrain)
	want := value[string](t, one, madeHash)

	for _, who := range []string{"worker", "stopped worker", "driver", "leaving driver", "leader", "gateway"} {
		t.Run(who, func(t *testing.T) {
			nodes := threeProcesses(t)
			name := byName(t, nodes)
			watch := nodes[0].connect()
			do(t, watch, spreadTable)
			leader := name[value[string](t, watch, "SELECT name FROM cluster.nodes WHERE leader")]
			gateway := nodes[1]
			if who == "leader" && leader == gateway {
				gateway = nodes[2]
			}
			c := gateway.connect()
			result := inBackground(c, longTrain)
			waitFor(t, watch, "iterations", "SELECT ("+iterationsOf+") >= 8")
			driver := name[value[string](t, watch, "SELECT coordinator FROM ml.training_jobs WHERE state = 'running'")]
			if driver == gateway {
				t.Error("the gateway drives the training: gradients meet there")
			}
			victim := map[string]*process{"driver": driver, "leaving driver": driver, "leader": leader, "gateway": gateway}[who]
			for _, n := range nodes {
				if victim == nil && n != driver && n != gateway {
					victim = n
				}
			}
			switch who {
			case "stopped worker":
				victim.signal(syscall.SIGSTOP)
			case "leaving driver":
				victim.signal(syscall.SIGTERM)
				if err := victim.Err(); err != nil {
					t.Errorf("a node that was asked to leave ended with %v", err)
				}
			default:
				victim.Kill()
			}
			err := <-result
			switch {
			case who == "gateway" && err == nil:
				t.Fatal("the client's node was killed and the client did not notice")
			case who != "gateway" && err != nil:
				t.Fatal(err)
			}
			for _, c := range survivors(nodes, victim) {
				sameModel(t, c, want)
			}
			if who == "gateway" { // once the job is done no node drives it, so its record must be final already
				job := value[string](t, watch, "SELECT state || ' at ' || iterations FROM ml.training_jobs WHERE model = 'm' ORDER BY job DESC LIMIT 1")
				if want := "done at " + value[string](t, watch, "SELECT iterations::text FROM ml.models WHERE name = 'm'"); job != want {
					t.Errorf("the job's record is %q, not %q", job, want)
				}
			}
		})
	}
}

// byName returns the nodes by the names that they have in cluster.nodes.
func byName(t *testing.T, nodes []*process) map[string]*process {
	name := map[string]*process{}
	for _, n := range nodes {
		name[value[string](t, n.connect(), "SELECT name FROM cluster.nodes WHERE pg_address = $1", n.PG)] = n
	}
	return name
}

// inBackground runs a statement and sends its error.
func inBackground(c *pgx.Conn, sql string) <-chan error {
	result := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), longest)
		defer cancel()
		_, err := c.Exec(ctx, sql)
		result <- err
	}()
	return result
}

// survivors connects to the nodes that were not killed.
func survivors(nodes []*process, victim *process) (out []*pgx.Conn) {
	for _, n := range nodes {
		if n != victim {
			out = append(out, n.connect())
		}
	}
	return out
}

// sameModel waits for model m on a node, and compares its hash with that of an unbroken run.
func sameModel(t *testing.T, c *pgx.Conn, want string) {
	t.Helper()
	waitFor(t, c, "the model", "SELECT count(*) = 1 FROM ml.models WHERE name = 'm'")
	if got := value[string](t, c, madeHash); got != want {
		t.Errorf("the model is %s, that of an unbroken run is %s", got, want)
	}
}

// TestGroupsOutliveNodes kills a node in the middle of a training of groups: the others finish it, and do not train again what
// was trained. The model has the same bytes as from an undisturbed run on one node.
func TestGroupsOutliveNodes(t *testing.T) {
	const (
		table = "CREATE TABLE d AS SELECT i % 60 AS g, sin(i) AS x0, cos(i % 1000) AS x1, sin(i) * (i % 60) + i % 5 AS y FROM generate_series(1, 60000) i"
		train = "TRAIN MODEL m USING gradient_boosted_trees PREDICT y GROUP BY g WITH (n_estimators = 150, max_depth = 5, checkpoint_every = 1) AS SELECT * FROM d"
	)
	one := startProcess(t, t.TempDir(), "").connect()
	do(t, one, table)
	do(t, one, train)
	want := value[string](t, one, madeHash)
	for _, who := range []string{"worker", "driver"} {
		t.Run(who, func(t *testing.T) {
			nodes := threeProcesses(t)
			name := byName(t, nodes)
			watch := nodes[0].connect()
			do(t, watch, table)
			c := nodes[1].connect()
			do(t, c, "SET tributary.distribute_rows = 1; SET tributary.distribute_cost = 0; SET batch_size = 2")
			result := inBackground(c, train)
			waitFor(t, watch, "a checkpoint of groups", "SELECT count(*) > 0 FROM ml.training_events WHERE model = 'm' AND kind = 'checkpoint' AND iteration >= 4")
			driver := name[value[string](t, watch, "SELECT coordinator FROM ml.training_jobs WHERE state = 'running'")]
			victim := driver
			for _, n := range nodes {
				if who == "worker" && n != driver && n != nodes[1] {
					victim = n
				}
			}
			victim.Kill()
			if err := <-result; err != nil {
				t.Fatal(err)
			}
			for _, c := range survivors(nodes, victim) {
				sameModel(t, c, want)
				if who == "driver" && value[int64](t, c, "SELECT count(*) FROM ml.training_events WHERE model = 'm' AND kind = 'taken over' AND iteration >= 4") == 0 {
					t.Error("the groups that were trained were trained again")
				}
			}
		})
	}
}

// TestCancelAndResume cancels a training from another session and resumes it after its table has
// changed: it continues with the rows as they were when it began.
func TestCancelAndResume(t *testing.T) {
	n := startProcess(t, t.TempDir(), "")
	c, other := n.connect(), n.connect()
	longTrain := strings.Replace(longTrain, "max_iterations = 60", "max_iterations = 1200", 1)
	do(t, c, madeTable)
	do(t, c, longTrain)
	want := value[string](t, c, madeHash)
	do(t, c, "DROP MODEL m")
	result := inBackground(c, longTrain)
	waitFor(t, other, "iterations", "SELECT ("+iterationsOf+") >= 8")
	do(t, other, "CANCEL TRAINING m")
	var pe *pgconn.PgError
	if err := <-result; !errors.As(err, &pe) || pe.Code != "57014" {
		t.Fatalf("a cancelled training ended with %v", err)
	}
	do(t, other, "DELETE FROM d WHERE x0 > 0")
	do(t, other, "RESUME TRAINING m")
	if got := value[string](t, other, madeHash); got != want {
		t.Errorf("resumed: %s, unbroken: %s", got, want)
	}
	if n := value[int64](t, other, "SELECT count(*) FROM ml.training_jobs WHERE state <> 'done'"); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}

// TestTrainingGivesMemoryBack trains the same model three times: the process's peak memory does not
// grow after the first, and at the end its memory is small again.
func TestTrainingGivesMemoryBack(t *testing.T) {
	p := startProcess(t, t.TempDir(), "")
	c := p.connect()
	do(t, c, "create table t as select * from make_classification(n_samples => 300000, n_features => 20, n_informative => 10, random_state => 1)")
	do(t, c, "set tributary.keep_datasets = off") // kept datasets stay in memory until something else needs it, and would be counted below
	var peaks []int
	for range 3 {
		// Writing 5 resets the peak VmHWM (proc(5)).
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.Pid()), []byte("5"), 0); err != nil {
			t.Skip("no /proc to read the server's memory from")
		}
		do(t, c, "train or replace model m using logistic_regression predict y as select * from t")
		peaks = append(peaks, statusKiB(t, p.Pid(), "VmHWM"))
	}
	// This usually takes ten seconds; the Go runtime and the server may keep up to 64 MB for reuse.
	for statusKiB(t, p.Pid(), "RssAnon") > 160<<10 {
		time.Sleep(20 * time.Millisecond)
	}
	if most := max(peaks[1], peaks[2]); most > peaks[0]+peaks[0]/2 {
		t.Errorf("the first training took %d MB, the next %d and %d", peaks[0]>>10, peaks[1]>>10, peaks[2]>>10)
	}
}
