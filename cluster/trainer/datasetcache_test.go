package trainer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/trainer"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// all returns the ids of the nodes.
func (c *cluster) all() []uint64 { return append(c.others(), c.nodes[0].id) }

// last is the number of the last training of a test.
type last int

func (n *last) name() string {
	*n++
	return fmt.Sprint("t.", *n)
}

// train trains over the kept dataset of src if there is one, otherwise over the rows, whose order and
// placement on nodes differ each time; it keeps the dataset. If src is nil, no dataset is kept or
// reused.
func (c *cluster) train(t *testing.T, n *last, driver int, j *train.Job, src *train.Source) (sha [32]byte, reused bool) {
	t.Helper()
	res, reused := c.trainOn(t, n, driver, j, src, rows(30000, uint64(*n+1)))
	return sha256.Sum256(res.Model.Encode()), reused
}

func (c *cluster) trainOn(t *testing.T, n *last, driver int, j *train.Job, src *train.Source, list []*batch.Batch) (_ *train.Result, reused bool) {
	t.Helper()
	ctx, tr := context.Background(), c.nodes[driver].tr
	in := train.Input{Job: j}
	var g *trainer.Group
	var err error
	if src != nil {
		if g, in.Cached, err = tr.OpenCached(ctx, n.name(), j, c.all(), src, 0); err != nil {
			t.Fatal(err)
		}
	}
	if g == nil {
		if g, err = tr.Open(ctx, n.name(), j, c.all(), true, 0); err != nil {
			t.Fatal(err)
		}
		c.spread(t, g, list, uint64(*n))
		if in.Rows, err = g.Distribute(ctx); err != nil {
			t.Fatal(err)
		}
		if g.Rescan() {
			in.Rescan = func(ctx context.Context) error {
				c.spread(t, g, list, uint64(*n))
				return g.DistributeRescan(ctx)
			}
		}
	}
	defer g.Close()
	res, err := train.Run(ctx, in, g)
	if err != nil {
		t.Fatal(err)
	}
	if sum := train.Total(res.Usage); (in.Cached != nil) != (sum.Reads == 0 && sum.Read == 0 && sum.Moved == 0) || sum.Block == 0 || len(res.Usage) != len(c.nodes) {
		t.Errorf("over a kept dataset: %v; used %+v", in.Cached != nil, sum)
	}
	if src != nil {
		if err := g.Keep(ctx, src, res.Encoded); err != nil {
			t.Fatal(err)
		}
	}
	return res, in.Cached != nil
}

// TestAgainNoMoreMemory: the second and third training of each family charge no more memory than the
// first, over the rows and over the kept dataset, and leave no more charged at the end.
func TestAgainNoMoreMemory(t *testing.T) {
	for i := range proofs {
		p := &proofs[i]
		t.Run(fmt.Sprint(p.family, " ", p.args), func(t *testing.T) {
			c, job, list := start(t, 1, 0), p.job(t), p.data(1)
			c.nodes[0].threads = 1 // with two threads the peak varies from run to run
			var num last
			var want []byte
			for _, src := range []*train.Source{nil, {Key: [32]byte{1}}} {
				var first, used int64
				var heap uint64
				for try := range 3 {
					res, reused := c.trainOn(t, &num, 0, job, src, list)
					if reused != (src != nil && try > 0) {
						t.Errorf("training %d has a dataset: %v", try+1, reused)
					}
					got := res.Model.Encode()
					peak, now := train.Total(res.Usage).Peak, c.nodes[0].pool.Used()
					res = nil
					runtime.GC()
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					if want == nil {
						want = got
					}
					if try == 0 {
						first, used, heap = peak, now, m.HeapAlloc
					}
					if !bytes.Equal(got, want) {
						t.Errorf("training %d, kept %v: another model", try+1, src != nil)
					}
					if peak > first || now > used {
						t.Errorf("training %d, kept %v: %d bytes at most, %d after it; the first had %d and %d", try+1, src != nil, peak, now, first, used)
					}
					if m.HeapAlloc > heap+heap/20+512<<10 {
						t.Errorf("training %d, kept %v: the heap has %d bytes, after the first %d", try+1, src != nil, m.HeapAlloc, heap)
					}
				}
			}
		})
	}
}

func text(name string, v any) family.Arg { return family.Arg{Name: name, Value: v} }

// TestKept: a training over a kept dataset makes the same bytes as one over the rows, whichever node
// drives it and whichever family made the dataset.
func TestKept(t *testing.T) {
	for _, n := range []int{1, 3} {
		c := start(t, n, 0)
		var num last
		for i, args := range [][]family.Arg{
			nil,
			{text("data_split_method", "random"), text("data_split_eval_fraction", 0.2)},
			{text("optimizer", "sgd"), text("batch_size", int64(256)), text("data_split_method", "random")}, // its rows are distributed
			{text("class_weights", "balanced"), text("precision", "float32")},
		} {
			one, two := job(t, args...), job(t, append(args[:len(args):len(args)], text("l2", 0.5))...)
			src := &train.Source{Key: [32]byte{byte(i)}}
			first, reused := c.train(t, &num, 0, one, src)
			if reused {
				t.Error("the first training found a dataset")
			}
			if got, reused := c.train(t, &num, 0, one, src); !reused || got != first {
				t.Errorf("%d nodes, %v: reused %v, model %x, not %x", n, args, reused, got, first)
			}
			want, _ := c.train(t, &num, 0, two, nil)
			if want == first {
				t.Error("the penalty changes nothing")
			}
			for driver := range n {
				if got, reused := c.train(t, &num, driver, two, src); !reused || got != want {
					t.Errorf("%d nodes, %v, driven by %d: reused %v, model %x, not %x", n, args, driver, reused, got, want)
				}
			}
		}
	}
}

// TestKeptGoes: a kept dataset is dropped when memory is needed, when its table has changed, and when
// a member is lost or joins; the next training then reads the rows.
func TestKeptGoes(t *testing.T) {
	c := start(t, 3, 32<<20)
	var num last
	j, src := job(t), &train.Source{Key: [32]byte{1}, Tables: []train.Table{{OID: 7}}}
	want, _ := c.train(t, &num, 0, j, src)
	again := func(why string, reuses bool) {
		t.Helper()
		if got, reused := c.train(t, &num, 0, j, src); reused != reuses || got != want {
			t.Errorf("%s: reused %v, model %x, not %x", why, reused, got, want)
		}
	}
	again("as it was", true)
	pool := c.nodes[1].pool
	kept := pool.Used()
	if kept == 0 || pool.Paused() {
		t.Errorf("%d bytes are kept", kept)
	}
	s := pool.Child("statement", 0)
	a := s.Account("rows", true)
	if err := a.Grow(int64(mem.FailShare*float64(pool.Limit())) - 256<<10); err != nil {
		t.Error(err)
	}
	a.Close()
	s.Close()
	if pool.Used() >= kept {
		t.Errorf("%d bytes are in use, %d were", pool.Used(), kept)
	}
	again("a node had other use for the memory", false)
	again("as it was", true)
	for _, n := range c.nodes {
		n.tr.Prune(func(t train.Table) bool { return t.OID == 7 })
	}
	again("the table is the same", true)
	c.nodes[2].tr.Prune(func(t train.Table) bool { return false })
	again("the table has changed", false)
	for range 20 { // trainings over other rows
		src := &train.Source{Key: [32]byte{byte(num)}}
		c.train(t, &num, 0, j, src)
	}
	if used := c.nodes[0].pool.Used(); used > c.nodes[0].pool.Limit()/3 {
		t.Errorf("%d bytes are kept of %d", used, c.nodes[0].pool.Limit())
	}
	again("others were left later", false)
	c.nodes[2].kill()
	c.declareDead(3)
	c.nodes = c.nodes[:2]
	again("a node is lost", false)
	again("of the nodes left", true)
}

// TestKeptLost kills a member of a training over a kept dataset: the next attempt finds no complete
// dataset on the nodes left, reads the rows, and continues from the checkpoint to the same bytes.
func TestKeptLost(t *testing.T) {
	for lost := range 3 {
		c, ctx := start(t, 3, 0), context.Background()
		var num last
		j, src := job(t, text("checkpoint_every", int64(2))), &train.Source{Key: [32]byte{1}}
		want, _ := c.train(t, &num, 0, j, src)
		g, over, err := c.nodes[0].tr.OpenCached(ctx, num.name(), j, c.all(), src, 0)
		if err != nil || g == nil {
			t.Fatal("no dataset", err)
		}
		var saved checkpoints
		_, err = train.Run(ctx, train.Input{Job: j, Cached: over, Save: &saved}, &failing{g, 6, func() { c.kill(lost) }})
		if code := pgerr.CodeOf(err); code != pgerr.ConnectionFailure && code != pgerr.CannotConnectNow || len(saved) == 0 {
			t.Fatalf("node %d was lost after %d checkpoints: %v", lost, len(saved), err)
		}
		g.Close()
		driver := (lost + 1) % 3
		if g, _, err = c.nodes[driver].tr.OpenCached(ctx, num.name(), j, c.all(), src, 0); g != nil || err != nil {
			t.Fatal("a dataset of which a part is lost", err)
		}
		if g, err = c.nodes[driver].tr.Open(ctx, num.name(), j, c.all(), true, 0); err != nil || len(g.Members()) != 2 {
			t.Fatal(err)
		}
		c.spread(t, g, rows(30000, 7), 7)
		total, err := g.Distribute(ctx)
		if err != nil {
			t.Fatal(err)
		}
		res, err := train.Run(ctx, train.Input{Job: j, Rows: total, Resume: saved[len(saved)-1]}, g)
		if err != nil || sha256.Sum256(res.Model.Encode()) != want {
			t.Errorf("another model without node %d: %v", lost, err)
		}
		g.Close()
	}
}

// TestSpilledIsKept: spilled datasets are reused too, whether they consist of blocks, encoded rows or
// rows of windows; at the end all memory and disk space is released.
func TestSpilledIsKept(t *testing.T) {
	at := func(family string, distributed bool) *proof {
		return &proofs[slices.IndexFunc(proofs, func(p proof) bool { return p.family == family && p.distributed == distributed })]
	}
	for _, c := range []struct {
		p          *proof
		one, three int64 // memory of a node, for one node and for three; 0: not run
	}{{at("logistic_regression", true), 4 << 20, 7 << 20}, {at("lstm", true), 6 << 20, 3 << 20}, {at("mlp", true), 4 << 20, 7 << 20}, {at("kmeans", false), 1 << 20, 0}} {
		for nodes, limit := range map[int]int64{1: c.one, 3: c.three} {
			if limit == 0 {
				continue
			}
			t.Run(fmt.Sprint(c.p.family, nodes), func(t *testing.T) {
				src, list, job := &train.Source{Key: [32]byte{1}}, c.p.data(1), c.p.job(t)
				var num last
				ample, _ := start(t, 1, 0).trainOn(t, &num, 0, job, nil, list)
				want := ample.Model.Encode()
				cl := start(t, nodes, limit)
				for try := range 3 {
					res, reused := cl.trainOn(t, &num, try%nodes, job, src, list)
					if !bytes.Equal(res.Model.Encode(), want) {
						t.Errorf("training %d: another model", try+1)
					}
					if sum := train.Total(res.Usage); reused != (try > 0) || !reused && sum.Before == 0 || reused && sum.Before > 0 {
						t.Errorf("training %d: reused %v, used %+v", try+1, reused, sum)
					}
				}
				for _, n := range cl.nodes {
					if used := n.pool.Used(); used > n.pool.Limit() {
						t.Errorf("%d bytes are kept of %d", used, n.pool.Limit())
					}
					src.Tables = nil
					n.tr.Prune(func(train.Table) bool { return false })
				}
			})
		}
	}
}

// files returns the number of temporary files of trainings that this process has open, on systems that
// list them.
func files(t *testing.T) (n int) {
	t.Helper()
	list, _ := os.ReadDir("/proc/self/fd")
	for _, f := range list {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.Contains(to, "training-") {
			n++
		}
	}
	return n
}

// TestSpilledGoes: a spilled dataset is dropped when disk space is needed or when it was not used for
// long; otherwise it is kept.
func TestSpilledGoes(t *testing.T) {
	p := &proofs[slices.IndexFunc(proofs, func(p proof) bool { return p.distributed })]
	c := start(t, 1, 4<<20) // too little memory for the dataset
	now, room, tr := time.Now(), int64(1<<40), c.nodes[0].tr
	tr.Keep(func() time.Time { return now }, func() (int64, error) { return room, nil })
	var num last
	small, src := &train.Source{Key: [32]byte{1}}, &train.Source{Key: [32]byte{2}}
	job, list := p.job(t), p.data(1)
	tiny := p.job(t, "seed", 3)
	same := func(train.Table) bool { return true }
	again := func(why string, reuses bool) {
		t.Helper()
		if _, reused := c.trainOn(t, &num, 0, job, src, list); reused != reuses {
			t.Errorf("%s: reused %v", why, reused)
		}
	}
	again("there is none", false)
	again("as it was", true)
	now = now.Add(50 * time.Minute)
	tr.Prune(same)
	again("it is not old", true)
	now = now.Add(50 * time.Minute)
	tr.Prune(same)
	again("it was used meanwhile", true)
	now = now.Add(70 * time.Minute)
	tr.Prune(same)
	if n := files(t); n != 0 {
		t.Errorf("%d files are open", n)
	}
	again("nobody has asked for it", false)
	c.trainOn(t, &num, 0, tiny, small, list[:1])
	room = 1 << 20
	tr.Prune(same)
	if _, reused := c.trainOn(t, &num, 0, tiny, small, list[:1]); !reused {
		t.Error("what is in memory has gone too")
	}
	again("others want the disk", false)
	again("and still do", false)
	tr.Prune(func(train.Table) bool { return false })
	if n := files(t); n != 0 {
		t.Errorf("%d files are open", n)
	}
}
