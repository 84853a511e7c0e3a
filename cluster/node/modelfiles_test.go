package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
)

// fewInline has models larger than 64 bytes stored in files instead of in the catalog.
func fewInline(o *Options) {
	o.InlineBlob = 64
	o.Pace.Sweep, o.Pace.Audit = 50*time.Millisecond, time.Hour
}

// modelFile returns the blob of a model's version in the node's catalog.
func (n *Node) modelFile(name string, number int) *catalog.Segment {
	m := n.Catalog().Model(catalog.PublicOID, name)
	if m == nil || m.Find(number) == nil {
		return nil
	}
	return m.Find(number).Blob()
}

func (n *Node) segmentPath(ref *catalog.Segment) string {
	return filepath.Join(n.o.Data, "segments", ref.ID.String()+".seg")
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain for " + what)
		}
	}
}

// TestModelsAreFiles: a large model is a file on three nodes. Each node predicts with it, also if its
// own copy is damaged or missing, and after the node with the first copy is lost. The file is removed
// when no version refers to it.
func TestModelsAreFiles(t *testing.T) {
	nodes := start(t, 3, fewInline)
	c := connect(t, nodes[0])
	c.must(flowers)
	c.must("train model m using logistic_regression predict kind with (l2_reg = 0.1) as select kind, a, b, colour from flowers")
	const predictions = "select md5(string_agg(predict('m', f)::text, '' order by a, b, colour)) from flowers f"
	want := c.one(predictions)
	first := nodes[0].modelFile("m", 1)
	if first.Inline != nil || first.Bytes == 0 || len(first.Nodes) != 3 {
		t.Fatalf("the model is not a file on three nodes: %+v", first)
	}
	if got := c.one("select bytes from ml.models"); got != fmt.Sprint(first.Bytes) {
		t.Errorf("ml.models has %s bytes, the file has %d", got, first.Bytes)
	}
	for range 6 {
		c.must("retrain model m")
	}
	if got := c.one("select count(*) || ' ' || count(distinct sha256) || ' ' || count(distinct bytes) from ml.model_versions"); got != "7 1 1" {
		t.Errorf("versions, models and sizes: %s", got)
	}

	// The file of one node is damaged and that of another missing; both are repaired.
	v := nodes[0].modelFile("m", 0)
	path := nodes[1].segmentPath(v)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 0xff
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(nodes[2].segmentPath(v)); err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes[1:] {
		n.models.shed(1 << 40)
		if got := connect(t, n).one(predictions); got != want {
			t.Errorf("node %d predicts otherwise", i+2)
		}
		if d := n.store.Damage(); d.Found != 1 || d.Repaired != 1 {
			t.Errorf("node %d found %d damaged files and repaired %d", i+2, d.Found, d.Repaired)
		}
		if err := n.store.Verify(context.Background(), v); err != nil {
			t.Errorf("node %d: %v", i+2, err)
		}
	}

	// The files of dropped versions and of a model that is rolled back are removed, where no past is kept.
	c.must("alter system set tributary.retention = '0'")
	third := nodes[0].modelFile("m", 3)
	c.must("drop model m version 1, 3")
	gone := func(ref *catalog.Segment) func() bool {
		return func() bool {
			return !slices.ContainsFunc(nodes, func(n *Node) bool { return n.store.Has(ref.ID) })
		}
	}
	eventually(t, "the file of a dropped version to go", gone(first))
	eventually(t, "the file of the other dropped version to go", gone(third))
	files, _ := nodes[0].store.Usage()
	c.must("begin")
	c.must("train model other using ridge predict a as select a, b, colour from flowers")
	if got := c.one("select count(predict('other', f)) from flowers f"); got != "3000" {
		t.Errorf("%s predictions in the transaction", got)
	}
	c.must("rollback")
	eventually(t, "the file of a model that was rolled back to go", func() bool { n, _ := nodes[0].store.Usage(); return n == files })
	c.must("begin")
	c.must("train model other using ridge predict a as select a, b, colour from flowers")
	c.must("commit")
	other := nodes[0].modelFile("other", 0)
	if other.Inline != nil {
		t.Fatal("a model of a transaction is no file")
	}
	c.must("drop model other")
	eventually(t, "the file of a dropped model to go", gone(other))

	// The node with the first copy of the last version is lost: the others still predict with it.
	trained := 0
	for i, n := range nodes {
		if n.self.ID == v.Nodes[0] {
			trained = i
		}
	}
	if err := nodes[trained].Close(); err != nil {
		t.Fatal(err)
	}
	left := nodes[(trained+1)%3]
	left.models.shed(1 << 40)
	eventually(t, "predictions of the nodes that are left", func() bool {
		got, err := connect(t, left).do(predictions)
		return err == nil && got[0] == want
	})
}

// TestManyVersionsOfALargeModel: the log has the versions of a model without the model's bytes, so that
// it stays small after many RETRAINs of a large one.
func TestManyVersionsOfALargeModel(t *testing.T) {
	n := start(t, 1)[0]
	c := connect(t, n)
	c.must("create table few as select i::float8 as x, (i * i)::float8 as y from generate_series(1, 64) i")
	c.must("train model big using mlp predict y with (hidden_units = [1400, 1430], epochs = 1, optimizer = 'sgd', learning_rate = 0.0001) as select x, y from few")
	for range 10 {
		c.must("retrain model big")
	}
	if got := c.one("select count(*) || ' ' || count(distinct sha256) || ' ' || (min(bytes) > 8000000) from ml.model_versions"); got != "11 1 true" {
		t.Errorf("versions, models, large: %s", got)
	}
	var log int64
	err := filepath.WalkDir(n.o.Data, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, "raft") {
			if st, err := d.Info(); err == nil {
				log += st.Size()
			}
		}
		return err
	})
	if err != nil || log == 0 || log > 8<<20 {
		t.Errorf("the log has %d bytes: %v", log, err)
	}
	want := c.one("select sum(predict('big', f)) from few f")
	if got := c.one("select sum(predict('big@1', f)) from few f"); got != want {
		t.Errorf("version 1 predicts %s, the last one %s", got, want)
	}
}

// TestPredictionsKeepOneModel: a repeated prediction does not load the model again; the memory kept is
// that of one model, and counts as idle.
func TestPredictionsKeepOneModel(t *testing.T) {
	n := start(t, 1)[0]
	c := connect(t, n)
	c.must("create table few as select i::float8 as x, (i * i)::float8 as y from generate_series(1, 64) i")
	c.must("train model big using mlp predict y with (hidden_units = [600, 600], epochs = 1, optimizer = 'sgd', learning_rate = 0.0001) as select x, y from few")
	var used []int64
	for range 3 {
		c.must("select sum(predict('big', f)) from few f")
		got := n.Members()[0].Models
		if size := n.modelFile("big", 0).Bytes; got.Bytes != got.Idle || got.Bytes < size || got.Bytes > 2*size || got.Loads != 1 {
			t.Errorf("%+v of a file of %d bytes", got, size)
		}
		used = append(used, n.pool.Used())
	}
	if used[1] != used[0] || used[2] != used[0] {
		t.Errorf("memory after each prediction: %v", used)
	}
	n.models.shed(1)
	if got := n.models.cached(); got.Bytes != 0 || got.Idle != 0 || n.pool.Used() >= used[0]-1<<20 {
		t.Errorf("%+v are left; the node has %d bytes, had %d", got, n.pool.Used(), used[0])
	}
}

// TestCheckpointsGo: the file of a checkpoint is removed when a newer one or the trained model replaces
// it, inside and outside of a transaction block. It does not wait for the sweep, which runs each hour.
func TestCheckpointsGo(t *testing.T) {
	for _, how := range []string{"", "begin"} {
		nodes := start(t, 3, fewInline, func(o *Options) { o.Pace.Sweep = time.Hour })
		c := connect(t, nodes[0])
		c.must("create table few as select i::float8 as x, (i % 2 = 0) as y from generate_series(1, 500) i") // few rows, so that they have no file
		if how != "" {
			c.must(how)
		}
		c.must("train model m using logistic_regression predict y with (optimizer = 'adam', epochs = 20000, batch_size = 250, checkpoint_every = 1) as select x, y from few")
		if how != "" {
			c.must("commit")
		}
		for i, n := range nodes {
			eventually(t, "the files of checkpoints to go", func() bool {
				files, _ := n.store.Usage()
				return files == len(n.Catalog().BlobFiles()) && files == 1
			})
			if jobs := n.Catalog().Jobs(); i == 0 && slices.ContainsFunc(jobs, func(j *catalog.Job) bool { return j.State == catalog.JobRunning }) {
				t.Errorf("jobs are left: %v", jobs)
			}
		}
	}
}

// TestReplaceAtOnce: of two TRAIN OR REPLACE of one new model the one that ends later makes its second
// version.
func TestReplaceAtOnce(t *testing.T) {
	n := start(t, 1)[0]
	c, other := connect(t, n), connect(t, n)
	c.must("create table few as select i::float8 as x, (i % 2 = 0) as y from generate_series(1, 500) i")
	const train = "train or replace model twice using logistic_regression predict y with (optimizer = 'adam', batch_size = 250, epochs = %d) as select x, y from few"
	ended := make(chan error, 1)
	go func() {
		_, err := other.do(fmt.Sprintf(train, 20000))
		ended <- err
	}()
	eventually(t, "the long training to run", func() bool {
		return c.one("select count(*)::text from ml.training_jobs where state = 'running' or state = 'done'") == "1"
	})
	c.must(fmt.Sprintf(train, 1))
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := c.one("select count(*)::text from ml.model_versions"); got != "2" {
		t.Errorf("there are %s versions", got)
	}
}
