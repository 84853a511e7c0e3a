package training

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func TestDecide(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const me, other = 1, 2
	cases := []struct {
		name string
		job  catalog.Job
		view jobView
		dead bool // the other node
		want jobAction
	}{
		{"a new job of mine", catalog.Job{Coordinator: me, Epoch: 1}, jobView{}, false, jobStart},
		{"one that runs", catalog.Job{Coordinator: me, Epoch: 1}, jobView{running: 1}, false, jobNothing},
		{"resumed here under a new epoch", catalog.Job{Coordinator: me, Epoch: 3}, jobView{running: 2}, false, jobStop},
		{"given away", catalog.Job{Coordinator: other, Epoch: 2}, jobView{running: 1}, false, jobStop},
		{"given away while it was cancelled", catalog.Job{Coordinator: other, Epoch: 2, CancelRequested: true}, jobView{running: 1}, false, jobStop},
		{"cancelled", catalog.Job{Coordinator: me, Epoch: 1, CancelRequested: true}, jobView{running: 1}, false, jobCancel},
		{"a session's, cancelled", catalog.Job{Coordinator: me, Epoch: 1, CancelRequested: true, Attached: true}, jobView{attached: true}, false, jobCancel},
		{"a session's", catalog.Job{Coordinator: me, Epoch: 1, Attached: true}, jobView{attached: true}, false, jobNothing},
		{"a session's before this node was started again", catalog.Job{Coordinator: me, Epoch: 1, Attached: true}, jobView{}, false, jobDrop},
		{"another's that drains", catalog.Job{Coordinator: other, Epoch: 1}, jobView{leads: true, draining: func(uint64) bool { return true }}, false, jobTake},
		{"a session's of one that drains", catalog.Job{Coordinator: other, Epoch: 1, Attached: true}, jobView{leads: true, draining: func(uint64) bool { return true }}, false, jobNothing},
		{"another's", catalog.Job{Coordinator: other, Epoch: 1}, jobView{leads: true}, false, jobNothing},
		{"a dead node's, and I lead", catalog.Job{Coordinator: other, Epoch: 1}, jobView{leads: true}, true, jobTake},
		{"a dead node's session's, and I lead", catalog.Job{Coordinator: other, Epoch: 1, Attached: true}, jobView{leads: true}, true, jobDrop},
		{"a dead node's, and another leads", catalog.Job{Coordinator: other, Epoch: 1}, jobView{}, true, jobNothing},
		{"done just now", catalog.Job{State: catalog.JobDone, UpdatedAt: now.Add(-time.Second)}, jobView{leads: true}, false, jobNothing},
		{"done, and nobody asked", catalog.Job{State: catalog.JobDone, UpdatedAt: now.Add(-2 * time.Hour)}, jobView{leads: true, over: time.Hour}, false, jobDrop},
		{"done a while ago", catalog.Job{State: catalog.JobDone, UpdatedAt: now.Add(-30 * time.Minute)}, jobView{leads: true, over: time.Hour}, false, jobNothing},
		{"failed a while ago", catalog.Job{State: catalog.JobFailed, UpdatedAt: now.Add(-30 * time.Minute)}, jobView{leads: true, over: time.Hour}, false, jobNothing},
		{"failed before many others", catalog.Job{State: catalog.JobFailed, UpdatedAt: now.Add(-30 * time.Minute)}, jobView{leads: true, over: time.Hour, many: true}, false, jobDrop},
		{"failed just now, before many others", catalog.Job{State: catalog.JobFailed, UpdatedAt: now.Add(-30 * time.Second)}, jobView{leads: true, many: true}, false, jobNothing},
		{"done just now, by the clock of another", catalog.Job{State: catalog.JobDone, UpdatedAt: now.Add(-30 * time.Hour)}, jobView{leads: true, over: time.Second}, false, jobNothing},
		{"failed just now, before the clock jumped", catalog.Job{State: catalog.JobFailed, Checkpoint: []byte{1}, UpdatedAt: now.Add(-30 * time.Hour)}, jobView{leads: true}, false, jobNothing},
		{"cancelled with a checkpoint", catalog.Job{State: catalog.JobCancelled, Checkpoint: []byte{1}, UpdatedAt: now.Add(-time.Hour)}, jobView{leads: true}, false, jobNothing},
		{"cancelled with nothing to resume", catalog.Job{State: catalog.JobCancelled, UpdatedAt: now.Add(-2 * time.Hour)}, jobView{leads: true, over: time.Hour}, false, jobDrop},
		{"failed long ago", catalog.Job{State: catalog.JobFailed, Checkpoint: []byte{1}, UpdatedAt: now.Add(-25 * time.Hour)}, jobView{leads: true, over: time.Hour}, false, jobDrop},
		{"failed long ago, and another leads", catalog.Job{State: catalog.JobFailed, UpdatedAt: now.Add(-25 * time.Hour)}, jobView{}, false, jobNothing},
	}
	for _, c := range cases {
		if c.job.State == "" {
			c.job.State = catalog.JobRunning
		}
		c.view.self, c.view.now = me, now
		c.view.alive = func(id uint64) bool { return id == me || !c.dead }
		if c.view.draining == nil {
			c.view.draining = func(uint64) bool { return false }
		}
		if got := decide(&c.job, c.view); got != c.want {
			t.Errorf("%s: %d, not %d", c.name, got, c.want)
		}
	}
}

// TestDecideSettles runs decide on two nodes that share a job: they never both drive it in the same
// epoch, and in the end the live node drives it.
func TestDecideSettles(t *testing.T) {
	job := catalog.Job{State: catalog.JobRunning, Coordinator: 1, Epoch: 1}
	running := map[uint64]uint64{}
	dead := map[uint64]bool{}
	step := func(self uint64) {
		if dead[self] {
			return
		}
		v := jobView{self: self, running: running[self], leads: self == 2, alive: func(id uint64) bool { return !dead[id] }, draining: func(uint64) bool { return false }}
		switch decide(&job, v) {
		case jobStart:
			running[self] = job.Epoch
		case jobStop:
			running[self] = 0
		case jobTake:
			job.Coordinator, job.Epoch = 2, job.Epoch+1
		}
		if running[1] != 0 && running[1] == running[2] {
			t.Fatalf("both nodes drive epoch %d", running[1])
		}
	}
	step(1)
	step(2)
	if running[1] != 1 || running[2] != 0 {
		t.Fatal(running)
	}
	dead[1] = true // node 2 wrongly believes that node 1 is dead
	step(2)
	step(2)
	if running[2] != 2 {
		t.Fatal(running)
	}
	dead[1] = false // it was only slow to answer
	step(1)
	if running[1] != 0 {
		t.Fatal("the node that lost the job goes on with it")
	}
}

func TestAfter(t *testing.T) {
	for _, c := range []struct {
		id   uint64
		ids  []uint64
		want uint64
	}{{5, nil, 5}, {5, []uint64{5}, 5}, {5, []uint64{9, 5, 7}, 7}, {9, []uint64{5, 9, 7}, 5}, {6, []uint64{5, 7}, 7}} {
		if got := after(c.id, c.ids); got != c.want {
			t.Errorf("after(%d, %v) = %d, not %d", c.id, c.ids, got, c.want)
		}
	}
}

// TestStatementIsReadOnce: a node that has parsed a job's statement does not parse it a second time;
// another node does.
func TestStatementIsReadOnce(t *testing.T) {
	j := New(Config{})
	const text = "train model m using ridge predict y as select 1 as x, 2 as y"
	list, err := parse.Parse(text, parse.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	given := Statement{Text: list[0], TrainModel: list[0].Extension.(*parse.TrainModel)}
	job := &catalog.Job{OID: 7, Statement: text}
	forget := j.keep(7, given)
	if got, err := j.statementOf(job, parse.Postgres); err != nil || got != given {
		t.Errorf("%+v, %v", got, err)
	}
	forget()
	if got, err := j.statementOf(job, parse.Postgres); err != nil || got.Text == given.Text || got.Algorithm != "ridge" {
		t.Errorf("%+v, %v", got, err)
	}
	job.Statement = "select 1"
	if _, err := j.statementOf(job, parse.Postgres); pgerr.CodeOf(err) != pgerr.DataCorrupted {
		t.Error(err)
	}
}

// ending is a catalog in which a session's job ends, and is let go of, right after it was read for the first time.
type ending struct {
	Catalog
	states  [2]*catalog.State
	read    int
	changes []catalog.Change
}

func (c *ending) Current() *catalog.State {
	c.read++
	if c.read == 1 {
		return c.states[0]
	}
	return c.states[1]
}

func (c *ending) Commit(_ context.Context, changes []catalog.Change) error {
	c.changes = append(c.changes, changes...)
	return nil
}

// alone is a cluster of this node.
type alone struct{ Members }

func (alone) Leads() bool       { return true }
func (alone) Alive(uint64) bool { return true }

// TestRecordOfASessionsJobStays: a supervisor that has read a state in which the job still ran does not drop the record
// that it has left since.
func TestRecordOfASessionsJobStays(t *testing.T) {
	commit := func(s *catalog.State, c ...catalog.Change) *catalog.State {
		t.Helper()
		n, _, err := s.Commit(s.Version()+1, c)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	c := &ending{}
	now := time.Now()
	c.states[0] = commit(catalog.New(), &catalog.PutNode{Node: &catalog.Node{ID: 1}}, &catalog.PutJob{Job: &catalog.Job{OID: 20000, Schema: catalog.PublicOID, Model: "m", Owner: catalog.BootstrapRoleOID,
		State: catalog.JobRunning, Attached: true, Coordinator: 1, Epoch: 1, UpdatedAt: now}})
	c.states[1] = commit(c.states[0], &catalog.EndJob{OID: 20000, ExpectEpoch: 1, State: catalog.JobFailed, UpdatedMicros: now.UnixMicro()})
	j := New(Config{Self: 1, Catalog: c, Members: alone{}, Log: slog.New(slog.DiscardHandler)})
	j.superviseOnce(t.Context(), map[types.OID]time.Time{})
	if len(c.changes) != 0 {
		t.Errorf("the supervisor changed %T", c.changes[0])
	}
}
