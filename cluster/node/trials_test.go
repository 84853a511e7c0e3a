package node

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestTrialIsCancelled: CANCEL TRAINING … TRIAL ends a trial that would never end, where another node drives the
// search, which goes on.
func TestTrialIsCancelled(t *testing.T) {
	nodes := start(t, 3)
	c, other := connect(t, nodes[0]), connect(t, nodes[1])
	c.must("create table tc as select (i * 37 % 101)::float8 as x, (i * 53 % 97)::float8 as z, i * 37 % 101 > 50 as y from generate_series(1, 300) i")
	ended := make(chan error, 1)
	go func() {
		_, err := c.do(`train model endless using mlp predict y with (hidden_units = 2,
			epochs = hparam_candidates([1000000, 1]), hparam_tuning_algorithm = 'grid', checkpoint_every = 0) as select * from tc`)
		ended <- err
	}()
	const running = "select count(*) from ml.trials where model = 'endless' and trial = 1 and state = 'running'"
	for other.must(running)[0] == "0" {
		select {
		case err := <-ended:
			t.Fatal("it has ended", err)
		default:
		}
	}
	if _, err := other.do("cancel training endless trial 3"); !pgerr.Is(err, pgerr.UndefinedObject) {
		t.Errorf("a trial that there is not: %v", err)
	}
	other.must("cancel training endless trial 1")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	got := other.must("select trial, state, error_code, best from ml.trials('endless') order by trial")
	if want := []string{"1|cancelled|57014|f", "2|succeeded|NULL|t"}; !slices.Equal(got, want) {
		t.Errorf("the trials are\n%s", strings.Join(got, "\n"))
	}
	if _, err := other.do("cancel training endless trial 2"); !pgerr.Is(err, pgerr.UndefinedObject) {
		t.Errorf("a search that has ended: %v", err)
	}
}

// TestTrialsOnOtherNodes: trials of few rows run on all nodes, for which the query is read again, and are those of one
// node.
func TestTrialsOnOtherNodes(t *testing.T) {
	var want []string
	for _, n := range []int{1, 3} {
		nodes := start(t, n)
		c := connect(t, nodes[0])
		c.must("create table tn as select (i * 37 % 101)::float8 as x, (i * 53 % 97)::float8 as z, i * 37 % 101 > 50 as y from generate_series(1, 900) i")
		var reads sync.Map
		build.Hooked.Store(&build.Hook{Node: func(n plan.Node, threads []op.Operator) []op.Operator {
			if c, ok := n.(*plan.Collect); ok {
				reads.Store(c.Name, true)
			}
			return threads
		}})
		c.must("train model other using mlp predict y with (hidden_units = 3, epochs = 3, learning_rate = hparam_range(0.001, 0.1, log => true), num_trials = 5, max_parallel_trials = 3) as select * from tn")
		build.Hooked.Store(nil)
		got := append(c.must("select sha256 from ml.models where name = 'other'"), c.must("select trial, parameters, objective, metrics, state, iterations, best from ml.trials('other') order by trial")...)
		times := 0
		reads.Range(func(any, any) bool { times++; return true })
		if times != n {
			t.Errorf("on %d nodes the rows were read %d times", n, times)
		}
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("on %d nodes the search gives\n%s\nnot\n%s", n, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
