package repl_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/internal/errfs"
	"github.com/tributarydb/tributary/sql/catalog"
)

// replicaOn starts a cluster whose last node has its files on a file system with injected faults.
func replicaOn(t *testing.T) (n []*node, fs *errfs.FS) {
	n = startCluster(t, 2, false)
	n[0].createTable()
	dir := t.TempDir()
	fs = errfs.New()
	disks[dir] = fs
	n = append(n, start(t, dir, "", "n2", false, n[0].addr))
	t.Cleanup(func() {
		if n[2].srv != nil {
			n[2].stop()
		}
		delete(disks, dir)
	})
	return n, fs
}

// whole checks that a segment's file is intact on every node that its commit names as a replica.
func whole(t *testing.T, what string, n []*node, s *catalog.Segment) {
	t.Helper()
	for _, x := range n {
		if slices.Contains(s.Nodes, x.ID()) {
			if err := x.store.Verify(ctx, s); err != nil {
				t.Errorf("%s: a node that said it has the file: %v", what, err)
			}
		}
	}
	if len(s.Nodes) < 2 {
		t.Errorf("%s: a commit with the files on %d nodes of three", what, len(s.Nodes))
	}
}

// TestReplicaDiskFails fails each operation of a replica's disk in turn while it receives a file: the
// write is committed with the other replicas, the commit names only nodes that have the whole file,
// and all nodes have it once the disk works.
func TestReplicaDiskFails(t *testing.T) {
	n, fs := replicaOn(t)
	rows := int64(0)
	for _, lasts := range []bool{false, true} {
		for k := 1; ; k++ {
			what := fmt.Sprintf("step %d, for good %v", k, lasts)
			n[0].meets(n[1], n[2])
			at := fs.Steps() + k
			fs.FailAt(at, syscall.ENOSPC, lasts)
			s := n[0].write(rows, rows+10, false)
			rows += 10
			whole(t, what, n, s)
			reached := fs.Steps() >= at
			fs.Heal()
			if !reached {
				if k < 4 {
					t.Fatal("a file takes more steps than", k)
				}
				break
			}
		}
	}
	eventually(t, "all files on all nodes", func() bool {
		for _, h := range n[0].holders() {
			if len(h) < 3 {
				return false
			}
		}
		return true
	})
	for _, x := range n {
		x.mustRead(rows)
	}
}

// TestReplicaLosesPower simulates a power failure of a replica at each operation of its disk while it
// receives a file: the files that it confirmed are intact after the reboot, even before a repair.
func TestReplicaLosesPower(t *testing.T) {
	n, fs := replicaOn(t)
	rows := int64(0)
	for k := 1; ; k++ {
		what := fmt.Sprintf("power off at step %d", k)
		n[0].meets(n[1], n[2])
		at := fs.Steps() + k
		fs.CrashAt(at)
		s := n[0].write(rows, rows+10, false)
		rows += 10
		reached := fs.Steps() >= at
		dir, addr, id := n[2].dir, n[2].addr, n[2].ID()
		n[2].stop()
		n[2].srv = nil
		fs = fs.Reboot(rand.New(rand.NewPCG(uint64(k), 1)))
		disks[dir] = fs
		if slices.Contains(s.Nodes, id) {
			found, err := store.Open(store.Options{Dir: filepath.Join(dir, "segments"), Node: id, FS: fs})
			if err != nil {
				t.Fatal(what, err)
			}
			if err := found.Verify(ctx, s); err != nil {
				t.Errorf("%s: the node said it has the file: %v", what, err)
			}
			if err := found.Close(); err != nil {
				t.Fatal(err)
			}
		}
		n[2] = start(t, dir, addr, "n2", false)
		whole(t, what, n[:2], s)
		n[2].mustRead(rows)
		if !reached {
			if k < 4 {
				t.Fatal("a file takes more steps than", k)
			}
			break
		}
	}
}
