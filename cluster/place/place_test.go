package place_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/place"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/catalog"
)

func up(ids ...uint64) (out []place.Node) {
	for _, id := range ids {
		out = append(out, place.Node{ID: id, Alive: true})
	}
	return out
}

func file(n int, nodes ...uint64) place.File {
	return place.File{ID: catalog.SegmentID{byte(n), byte(n >> 8), 3}, Bytes: 100 << 20, Nodes: nodes}
}

func TestTargets(t *testing.T) {
	id := catalog.SegmentID{1}
	for _, c := range []struct {
		nodes    []place.Node
		to       int
		majority int
	}{
		{up(1), 0, 1},
		{up(1, 2), 1, 2},
		{up(1, 2, 3), 2, 2},
		{up(1, 2, 3, 4, 5), 2, 2},
		{[]place.Node{{ID: 1, Alive: true}, {ID: 2}, {ID: 3, Alive: true}}, 1, 2},
		{[]place.Node{{ID: 1, Alive: true}, {ID: 2, Alive: true, Draining: true}}, 0, 1},
	} {
		to, m := place.Targets(place.File{ID: id}, 1, c.nodes, 0)
		if len(to) != c.to || m != c.majority || slices.Contains(to, 1) {
			t.Errorf("%+v: %v %d", c.nodes, to, m)
		}
	}
	// Files are spread evenly.
	count := map[uint64]int{}
	for i := range 3000 {
		to, _ := place.Targets(place.File{ID: catalog.SegmentID{byte(i), byte(i >> 8)}}, 0, up(1, 2, 3, 4, 5, 6), 3)
		for _, n := range to {
			count[n]++
		}
	}
	for n, k := range count {
		if k < 800 || k > 1200 {
			t.Errorf("node %d has %d of 6000", n, k)
		}
	}
}

// run applies plans until a plan has no actions; it returns the number of copies made.
func run(t *testing.T, nodes []place.Node, files []place.File) (copies int) {
	t.Helper()
	for range 1000 {
		plan := place.Plan(nodes, files, place.Options{})
		if again := place.Plan(nodes, files, place.Options{}); !reflect.DeepEqual(plan, again) {
			t.Fatal("not deterministic")
		}
		if len(plan) == 0 {
			return copies
		}
		for _, a := range plan {
			f := &files[a.File]
			if a.To != 0 {
				copies++
				if len(a.From) == 0 || slices.Contains(f.Nodes, a.To) || !slices.Contains(a.Nodes, a.To) {
					t.Fatalf("%+v for %+v", a, *f)
				}
			}
			f.Nodes = a.Nodes
		}
	}
	t.Fatal("never ends")
	return 0
}

func TestPlan(t *testing.T) {
	var files []place.File
	for i := range 100 {
		files = append(files, file(i, 1))
	}
	if n := run(t, up(1), files); n != 0 {
		t.Fatal(n)
	}
	if n := run(t, up(1, 2), files); n != 100 { // a second node joins
		t.Fatal(n)
	}
	if n := run(t, up(1, 2, 3), files); n != 100 {
		t.Fatal(n)
	}
	if n := run(t, up(1, 2, 3, 4), files); n > 90 { // a fourth node gets its share, 75 of the 300 copies; few others are moved
		t.Fatal(n)
	}
	load := map[uint64]int{}
	for _, f := range files {
		if len(f.Nodes) != 3 {
			t.Fatal(f)
		}
		for _, n := range f.Nodes {
			load[n]++
		}
	}
	for n := uint64(1); n <= 4; n++ {
		if load[n] < 60 || load[n] > 90 {
			t.Fatal(load)
		}
	}
	// A node that is down for a short time keeps its files; later it counts as dead.
	away := up(1, 2, 3, 4)
	away[1] = place.Node{ID: 2, DeadFor: time.Second}
	if plan := place.Plan(away, files, place.Options{}); len(plan) != 0 {
		t.Fatal(plan)
	}
	away[1].DeadFor = time.Minute
	run(t, away, files)
	for _, f := range files {
		if len(f.Nodes) != 3 || slices.Contains(f.Nodes, 2) {
			t.Fatal(f)
		}
	}
	// It returns, and another node is drained.
	back := up(1, 2, 3, 4)
	back[0].Draining = true
	run(t, back, files)
	if n := copies(files); n[1] != 0 || n[2] == 0 {
		t.Fatal("not drained")
	}
}

// TestNeverLose adds, kills and drains nodes at random: no plan removes the last copy of a file.
func TestNeverLose(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	nodes := up(1, 2, 3, 4, 5)
	var files []place.File
	for i := range 60 {
		files = append(files, file(i, uint64(1+i%5), uint64(1+(i+1)%5), uint64(1+(i+2)%5)))
	}
	for step := range 400 {
		down := 0
		for _, n := range nodes {
			if !n.Alive {
				down++
			}
		}
		i := r.IntN(5)
		switch {
		case nodes[i].Alive && down == 0:
			nodes[i] = place.Node{ID: nodes[i].ID, DeadFor: time.Duration(r.IntN(30)) * time.Second}
		case !nodes[i].Alive:
			nodes[i].Alive = true
		}
		for _, a := range place.Plan(nodes, files, place.Options{Limit: 1 + r.IntN(20)}) {
			files[a.File].Nodes = a.Nodes
		}
		for _, f := range files {
			live := 0
			for _, n := range f.Nodes {
				if nodes[n-1].Alive {
					live++
				}
			}
			if live == 0 || len(f.Nodes) > 5 {
				t.Fatalf("step %d: %+v %+v", step, f, nodes)
			}
		}
	}
}

// small is a file of a few rows.
func small(n int, nodes ...uint64) place.File {
	f := file(n, nodes...)
	f.Bytes = 700
	return f
}

func copies(files []place.File) map[uint64]int {
	n := map[uint64]int{}
	for _, f := range files {
		for _, id := range f.Nodes {
			n[id]++
		}
	}
	return n
}

// TestThreeToSixToThree doubles a cluster and removes the new nodes: files of small tables are spread
// as evenly as those of large ones.
func TestThreeToSixToThree(t *testing.T) {
	var files []place.File
	for i := range 6 {
		files = append(files, small(i, 1, 2, 3))
	}
	run(t, up(1, 2, 3, 4, 5, 6), files)
	for n, k := range copies(files) {
		if k != 3 {
			t.Errorf("node %d has %d copies, not 3: %v", n, k, copies(files))
		}
	}
	for i := range 3 {
		nodes := up(1, 2, 3, 4, 5, 6)[:6-i]
		nodes[len(nodes)-1].Draining = true
		run(t, nodes, files)
		if n := copies(files)[nodes[len(nodes)-1].ID]; n != 0 {
			t.Fatalf("%d copies are left on node %d", n, nodes[len(nodes)-1].ID)
		}
	}
	for n, k := range copies(files) {
		if n > 3 || k != 6 {
			t.Fatal(copies(files))
		}
	}
}

func TestZones(t *testing.T) {
	nodes := up(1, 2, 3, 4, 5, 6)
	for i, z := range []string{"a", "a", "a", "b", "b", "c"} {
		nodes[i].Zone = z
	}
	spread := func(f place.File) int {
		seen := map[string]bool{}
		for _, n := range f.Nodes {
			seen[nodes[n-1].Zone] = true
		}
		return len(seen)
	}
	for i := range 100 {
		f := file(i, 1)
		to, _ := place.Targets(f, 1, nodes, 3)
		f.Nodes = append(f.Nodes, to...)
		if spread(f) != 3 {
			t.Fatal(f)
		}
	}
	// Files that were placed before the nodes had zones are spread over the zones, and balancing the
	// nodes keeps them so.
	var files []place.File
	for i := range 60 {
		files = append(files, file(i, 1, 2, 3))
	}
	run(t, nodes, files)
	for _, f := range files {
		if spread(f) != 3 || len(f.Nodes) != 3 {
			t.Fatal(f)
		}
	}
	// A zone is lost: the other zones get the copies.
	nodes[5].Alive, nodes[5].DeadFor = false, time.Hour
	run(t, nodes, files)
	for _, f := range files {
		if spread(f) != 2 || len(f.Nodes) != 3 {
			t.Fatal(f)
		}
	}
}

func TestShortOfSpaceAndHeirs(t *testing.T) {
	nodes := up(1, 2, 3, 4, 5)
	nodes[3].Short = true
	var files []place.File
	for i := range 40 {
		to, _ := place.Targets(file(i), 1, nodes, 3)
		if slices.Contains(to, 4) {
			t.Fatal("written to a node without space", to)
		}
		files = append(files, file(i, 1, 2, 3))
	}
	run(t, nodes, files)
	if copies(files)[4] != 0 || copies(files)[5] == 0 {
		t.Fatal(copies(files))
	}
	// Without another zone the copy is placed in the same one.
	if to, _ := place.Targets(file(1), 1, []place.Node{nodes[0], nodes[3]}, 3); !slices.Equal(to, []uint64{4}) {
		t.Fatal(to)
	}
	// Named as a replacement, a new node gets the files of the node that it replaces.
	var mine []place.File
	for i := range 40 {
		mine = append(mine, file(i, 1, 2, 3))
	}
	nodes = up(1, 2, 3, 4, 5)
	nodes[0].Draining, nodes[0].Heir = true, 5
	for range 10 {
		for _, a := range place.Plan(nodes, mine, place.Options{}) {
			if slices.Contains(mine[a.File].Nodes, 1) && a.To != 5 {
				t.Fatal("its copy goes elsewhere", a)
			}
			mine[a.File].Nodes = a.Nodes
		}
	}
	if n := copies(mine); n[1] != 0 || n[5] == 0 {
		t.Fatal(n)
	}
}

// TestHomes: the first copy of a file of a distributed table is on the home node of its partition. It
// moves when the members change, and does not otherwise.
func TestHomes(t *testing.T) {
	const of = 8
	nodes := up(1, 2, 3, 4, 5)
	var files []place.File
	for i := range 64 {
		f := file(i)
		f.Part, f.Of = i%of, of
		to, need := place.Targets(f, uint64(i%5)+1, nodes, 3)
		if need != 2 {
			t.Fatalf("%d needed", need)
		}
		f.Nodes = append(to, uint64(i%5)+1)
		slices.Sort(f.Nodes)
		files = append(files, f)
	}
	athome := func(ids ...uint64) {
		t.Helper()
		for i, f := range files {
			first, last := kernel.Dests(f.Part, f.Of, len(ids))
			for _, id := range ids[first : last+1] {
				if !slices.Contains(f.Nodes, id) {
					t.Fatalf("file %d, part %d, is on %v, not at its home %d", i, f.Part, f.Nodes, id)
				}
			}
			if len(f.Nodes) != 3 {
				t.Fatalf("file %d has %v", i, f.Nodes)
			}
		}
	}
	settle := func(nodes []place.Node) {
		t.Helper()
		for range 100 {
			plan := place.Plan(nodes, files, place.Options{})
			if len(plan) == 0 {
				return
			}
			for _, a := range plan {
				files[a.File].Nodes = a.Nodes
			}
		}
		t.Fatal("no end of moves")
	}
	athome(1, 2, 3, 4, 5)
	settle(nodes)
	athome(1, 2, 3, 4, 5)
	settle(up(1, 2, 3, 4, 5, 6))
	athome(1, 2, 3, 4, 5, 6)
	// A node that is down for a short time stays home of its partitions.
	nodes = up(1, 2, 3, 4, 5, 6)
	nodes[2].Alive, nodes[2].DeadFor = false, time.Second
	if plan := place.Plan(nodes, files, place.Options{}); len(plan) > 0 {
		t.Fatalf("%d moves for a node that may come back", len(plan))
	}
	nodes[2].DeadFor = time.Hour
	settle(nodes)
	athome(1, 2, 4, 5, 6)
	// A node without free disk space is home of no partition.
	nodes = up(1, 2, 4, 5, 6, 7)
	nodes[5].Short = true
	settle(nodes)
	for i, f := range files {
		if slices.Contains(f.Nodes, 7) {
			t.Fatalf("file %d went to a node without space", i)
		}
	}
}

// TestStored: files in the cluster's storage are given to as many nodes as others are, also where none that is alive has them, and
// from nodes that are full to those that join.
func TestStored(t *testing.T) {
	stored := func(n int, nodes ...uint64) place.File {
		f := file(n, nodes...)
		f.Stored = true
		return f
	}
	dead := append(up(1, 2), place.Node{ID: 3, DeadFor: time.Hour})
	for _, c := range []struct {
		nodes []place.Node
		file  place.File
		want  []uint64 // nil: nothing is to be done
	}{
		{up(1, 2, 3), stored(1), []uint64{1, 2, 3}},
		{up(1, 2, 3), stored(1, 1, 2, 3), nil},
		{dead, stored(1, 3), []uint64{1, 2}},
		{dead, stored(1, 1, 2, 3), []uint64{1, 2}},
		{dead, file(1, 3), nil},
	} {
		var got []uint64
		for _, a := range place.Plan(c.nodes, []place.File{c.file}, place.Options{}) {
			got = slices.Sorted(slices.Values(a.Nodes))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, not %v", c.file, got, c.want)
		}
	}
	files := make([]place.File, 60)
	for i := range files {
		files[i] = stored(i, 1, 2, 3)
	}
	run(t, up(1, 2, 3, 4), files)
	if n := copies(files)[4]; n < 30 {
		t.Errorf("a node that joins reads %d of 60 files", n)
	}
}
