package repl_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cluster/repl"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

var ctx = context.Background()

// trust is the cluster secret that the nodes of these tests share.
var trust = rpc.Trust{Secret: rpc.Secret{1}}

type node struct {
	*raftnode.Node
	t         *testing.T
	addr, dir string
	data      *raftnode.Dir
	srv       *rpc.Server
	store     *store.Store
	repl      *repl.Repl
}

func start(t *testing.T, dir, addr, name string, compact bool, join ...string) *node {
	t.Helper()
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, addr: ln.Addr().String(), dir: dir}
	if n.data, err = raftnode.OpenDir(dir, len(join) > 0); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	n.srv = rpc.Listen(ln, trust, n.data.Identity, log)
	so := store.Options{Dir: filepath.Join(dir, "segments"), Node: n.data.ID}
	if f := disks[dir]; f != nil {
		so.FS = f
	}
	if n.store, err = store.Open(so); err != nil {
		t.Fatal(err)
	}
	o := repl.Options{Store: n.store, Server: n.srv, Log: log, Grace: 300 * time.Millisecond, Tick: 30 * time.Millisecond,
		Sweep: 50 * time.Millisecond, NoCompaction: !compact}
	if tune != nil {
		tune(&o)
	}
	n.repl = repl.New(o)
	n.Node, err = raftnode.Start(raftnode.Options{Dir: n.data, Self: catalog.Node{Name: name, Addr: n.addr}, Join: join, Server: n.srv,
		Dialer: &rpc.Dialer{Trust: trust, Self: n.data.Identity}, Log: log, Heartbeat: time.Second, Ping: 40 * time.Millisecond, DeadAfter: 2 * time.Second,
		OnLead: []func(context.Context){n.repl.Lead}})
	if err != nil {
		t.Fatal(err)
	}
	n.repl.Attach(n.Node)
	n.srv.Serve()
	c, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := n.WaitReady(c); err != nil {
		t.Fatal(err)
	}
	n.repl.StartMaintenance()
	return n
}

func (n *node) stop() {
	n.srv.Close()
	n.repl.Close()
	if err := n.Node.Close(); err != nil {
		n.t.Error(err)
	}
	if err := n.store.Close(); err != nil {
		n.t.Error(err)
	}
	n.data.Close()
}

func startCluster(t *testing.T, count int, compact bool) []*node {
	var nodes []*node
	for i := range count {
		var join []string
		if i > 0 {
			join = []string{nodes[0].addr}
		}
		nodes = append(nodes, start(t, t.TempDir(), "", fmt.Sprint("n", i), compact, join...))
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			if n.srv != nil {
				n.stop()
			}
		}
	})
	return nodes
}

const table = 20000

// longest is how long what must come is waited for, on the busiest of machines.
const longest = time.Minute

// tune changes the options with which a test's nodes are started; nil changes none.
var tune func(*repl.Options)

// disks are the file systems of nodes by directory; a node that is not in it uses the machine's.
var disks = map[string]disk.FS{}

func (n *node) propose(changes ...catalog.Change) {
	n.t.Helper()
	c, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if _, err := n.Propose(c, changes); err != nil {
		n.t.Fatal(err)
	}
}

// meets waits until the node takes others for alive and reaches them, so that what it writes goes to them.
func (n *node) meets(others ...*node) {
	n.t.Helper()
	for _, x := range others {
		eventually(n.t, x.addr+" is reached", func() bool {
			alive, _ := n.Liveness(x.ID())
			_, err := n.Peers().Action(ctx, x.ID(), "raft.ping", nil)
			return alive && !rpc.Unreachable(err) // it may answer that this is no ping
		})
	}
}

func (n *node) createTable() {
	n.t.Helper()
	n.propose(&catalog.PutRelation{Rel: &catalog.Relation{OID: table, Schema: catalog.PublicOID, Name: "t", Kind: catalog.KindTable, Partitions: 1,
		Columns: []catalog.Column{{Num: 1, Name: "a", Type: types.Int8}}}})
}

// write makes a segment of the numbers [from, to), sends it to its replicas and commits it.
func (n *node) write(from, to int64, inline bool) *catalog.Segment {
	n.t.Helper()
	defer n.repl.Hold()()
	o := store.WriterOptions{Columns: []store.WriterColumn{{Num: 1, Type: types.Int8}}, Done: n.repl.Push}
	if !inline {
		o.InlineBytes = -1
	}
	w := n.store.NewWriter(o)
	var v []int64
	for i := from; i < to; i++ {
		v = append(v, i)
	}
	if err := w.Write(ctx, batch.New([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, v, nil)}, len(v))); err != nil {
		n.t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		n.t.Fatal(err)
	}
	n.propose(&catalog.AppendSegments{Table: table, Segments: segs})
	return segs[0]
}

// read returns the table's numbers as read on this node.
func (n *node) read() ([]int64, error) {
	if err := n.ReadIndex(ctx); err != nil {
		return nil, err
	}
	pin := n.store.Pin(0)
	defer pin.Close()
	var out []int64
	for _, sp := range store.Splits(n.Current().Manifest(table), 0, 0, nil) {
		r, err := pin.Open(ctx, &plan.Scan{Cols: []plan.Column{{ID: 1, Num: 1, Type: types.Int8}}}, &sp, &function.Env{}, nil)
		if err != nil {
			return nil, err
		}
		for {
			b, err := r.Next(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, err
			}
			out = append(out, b.Cols[0].(*array.Int64).Int64Values()...)
		}
		r.Close()
	}
	return out, nil
}

func (n *node) mustRead(upTo int64) {
	n.t.Helper()
	got, err := n.read()
	if err != nil {
		n.t.Fatal(err)
	}
	if len(got) != int(upTo) {
		n.t.Fatalf("%d rows, want %d", len(got), upTo)
	}
	for i, x := range got {
		if x != int64(i) {
			n.t.Fatalf("row %d is %d", i, x)
		}
	}
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(longest); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatal("not reached: " + what)
}

func (n *node) holders() (out [][]uint64) {
	for _, s := range n.Current().Manifest(table).Partitions[0] {
		if s.Inline == nil {
			out = append(out, s.Nodes)
		}
	}
	return out
}

func TestPushFetchMend(t *testing.T) {
	n := startCluster(t, 3, false)
	n[0].createTable()
	s := n[0].write(0, 1000, false)
	if len(s.Nodes) != 3 {
		t.Fatal(s.Nodes)
	}
	for _, x := range n {
		if !x.store.Has(s.ID) {
			t.Fatal("a replica has not got the file")
		}
		x.mustRead(1000)
	}
	// One replica's file is removed and another's is damaged.
	path := func(x *node) string { return filepath.Join(x.dir, "segments", s.ID.String()+".seg") }
	os.Remove(path(n[1]))
	n[1].store.Discard(s.ID)
	n[1].mustRead(1000)
	b, _ := os.ReadFile(path(n[2]))
	n[2].store.Discard(s.ID)
	b[100] ^= 1
	os.WriteFile(path(n[2]), b, 0o644)
	n[2].mustRead(1000)
	if err := n[2].store.Verify(ctx, s); err != nil {
		t.Fatal("not mended", err)
	}
	// No intact replica is left: the error names the segment.
	for _, x := range n {
		x.store.Discard(s.ID)
	}
	if _, err := n[0].read(); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Fatal(err)
	}
	// A file that was never committed is removed on all nodes, a committed one on none.
	n[0].propose(&catalog.Truncate{Table: table})
	kept := n[0].write(0, 10, false)
	defer n[0].repl.Hold()()
	blob, err := putBlob(n[0].store, "model")
	if err != nil {
		t.Fatal(err)
	}
	if err := n[0].repl.Push(ctx, blob); err != nil {
		t.Fatal(err)
	}
	if b, err := readBlob(n[2].store, blob); err != nil || string(b) != "model" {
		t.Fatal(err)
	}
	n[1].repl.Discard(ctx, []*catalog.Segment{blob})
	for _, x := range n[1:] {
		if x.store.Has(blob.ID) || !x.store.Has(kept.ID) {
			t.Fatal("wrong file discarded")
		}
	}
}

func TestNodesComeAndGo(t *testing.T) {
	n := startCluster(t, 1, false)
	n[0].createTable()
	for i := range int64(6) {
		n[0].write(i*100, i*100+100, false)
	}
	release := n[0].repl.Hold()
	n[0].propose(&catalog.PutModel{Model: &catalog.Model{OID: 21000, Schema: catalog.PublicOID, Name: "m", Default: 1,
		Versions: []catalog.ModelVersion{func() catalog.ModelVersion {
			b, err := putBlob(n[0].store, "weights")
			if err != nil {
				t.Fatal(err)
			}
			return catalog.ModelVersion{Number: 1, File: b.ID, FileBytes: b.Bytes, SHA256: b.SHA256, FileNodes: b.Nodes}
		}()}}})
	release()
	all := func(want int, not uint64) func() bool {
		return func() bool {
			for _, h := range append(n[0].holders(), n[0].Current().ModelByOID(21000).Versions[0].FileNodes) {
				if len(h) != want || slices.Contains(h, not) {
					return false
				}
			}
			return true
		}
	}
	for i := 1; i < 4; i++ {
		n = append(n, start(t, t.TempDir(), "", fmt.Sprint("n", i), false, n[0].addr))
		t.Cleanup(n[i].stopOnce())
		eventually(t, "copies for the new node", all(min(i+1, 3), 0))
		n[i].mustRead(600)
	}
	// A node dies.
	dead := n[2]
	dead.stop()
	dead.srv = nil
	eventually(t, "copies instead of the dead node's", all(3, dead.ID()))
	n[3].mustRead(600)
	if b, err := readBlob(n[3].store, n[3].Current().ModelByOID(21000).Versions[0].Blob()); err != nil || string(b) != "weights" {
		t.Fatal(err)
	}
	// Another is drained and removed.
	d := catalog.DrainNode{ID: n[3].ID(), Draining: true}
	c, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := n[0].Remove(c, dead.ID()); err != nil {
		t.Fatal(err)
	}
	n[0].propose(&d)
	eventually(t, "drained", func() bool { return n[0].repl.Replicas(d.ID) == 0 })
	if err := n[0].Remove(c, d.ID); err != nil {
		t.Fatal(err)
	}
	n[1].mustRead(600)
	// Files of dropped objects are removed, where no past is kept.
	n[0].propose(&catalog.PutSetting{Name: catalog.SettingRetention, Value: "0"}, &catalog.DropRelation{OID: table}, &catalog.DropModel{OID: 21000})
	eventually(t, "files removed", func() bool {
		a, _ := n[0].store.Usage()
		b, _ := n[1].store.Usage()
		return a == 0 && b == 0
	})
}

func (n *node) stopOnce() func() {
	return func() {
		if n.srv != nil {
			n.stop()
			n.srv = nil
		}
	}
}

func TestWriteWithADeadReplica(t *testing.T) {
	n := startCluster(t, 3, false)
	n[0].createTable()
	n[2].stop()
	n[2].srv = nil
	s := n[0].write(0, 100, false)
	if len(s.Nodes) != 2 {
		t.Fatal(s.Nodes)
	}
	n[1].mustRead(100)
}

func TestCompaction(t *testing.T) {
	n := startCluster(t, 3, true)
	n[0].createTable()
	for i := range int64(40) {
		n[i%3].write(i*3, i*3+3, true)
	}
	for i := int64(40); i < 60; i++ {
		n[i%3].write(i*3, i*3+3, false)
	}
	// On a slow machine, up to seven segments of the smallest size and seven of the next may be left
	// unmerged.
	eventually(t, "merged", func() bool { return len(n[0].Current().Manifest(table).Partitions[0]) <= 14 })
	for _, x := range n {
		x.mustRead(180)
	}
}

// putBlob stores bytes as a file, readBlob reads them.
func putBlob(s *store.Store, data string) (*catalog.Segment, error) {
	return s.PutBlob(0, func(w io.Writer) error { _, err := io.WriteString(w, data); return err })
}

func readBlob(s *store.Store, ref *catalog.Segment) (b []byte, err error) {
	err = s.ReadBlob(ctx, ref, func(data []byte) error { b = bytes.Clone(data); return nil })
	return b, err
}
