package node

import (
	"slices"
	"strings"
	"testing"

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
			epochs = hparam_candidates([100000, 1]), hparam_tuning_algorithm = 'grid', checkpoint_every = 0) as select * from tc`)
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
