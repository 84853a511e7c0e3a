package sched_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tributarydb/tributary/cluster/sched"
)

// TestScenarios runs the files of testdata. "new" makes a scheduler:
//
//	node ID THREADS                    in order, the gateway first
//	leaf [gateway] [single] [portion]  portions of 100 rows; then its splits, a line a group:
//	split PARTITION COUNT ROWS [REPLICA,…]
//
// "step" takes an event a line and prints the actions.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var s *sched.Scheduler
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				c := parseConfig(t, d)
				s = sched.New(c)
				return ""
			case "step":
				var out strings.Builder
				for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
					for _, a := range s.Step(parseEvent(t, d, line)) {
						fmt.Fprintln(&out, show(a))
					}
				}
				if out.Len() == 0 {
					return "nothing\n"
				}
				return out.String()
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

func parseConfig(t *testing.T, d *datadriven.TestData) sched.Config {
	var c sched.Config
	for _, a := range d.CmdArgs {
		if a.Key == "saturation" {
			c.Saturation, _ = strconv.ParseFloat(a.Vals[0], 64)
		}
	}
	num := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		return n
	}
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		f := strings.Fields(line)
		switch f[0] {
		case "node":
			c.Nodes = append(c.Nodes, sched.Node{ID: uint64(num(f[1])), Threads: num(f[2])})
		case "leaf":
			l := sched.Leaf{Gateway: slices.Contains(f, "gateway"), Single: slices.Contains(f, "single")}
			if slices.Contains(f, "portion") {
				l.Portion = 100
			}
			c.Leaves = append(c.Leaves, l)
		case "split":
			l := &c.Leaves[len(c.Leaves)-1]
			sp := sched.Split{Partition: num(f[1]), Rows: int64(num(f[3]))}
			if len(f) > 4 {
				for _, r := range strings.Split(f[4], ",") {
					sp.Replicas = append(sp.Replicas, uint64(num(r)))
				}
			}
			for range num(f[2]) {
				l.Splits = append(l.Splits, sp)
			}
		}
	}
	return c
}

func parseEvent(t *testing.T, d *datadriven.TestData, line string) sched.Event {
	f := strings.Fields(line)
	var n [3]int
	for i, s := range f[1:] {
		n[i], _ = strconv.Atoi(s)
	}
	switch f[0] {
	case "ready":
		return sched.Ready{Node: uint64(n[0])}
	case "done":
		return sched.Done{Node: uint64(n[0]), Leaf: n[1], Split: n[2]}
	case "left":
		return sched.Left{}
	case "lost":
		return sched.Lost{Node: uint64(n[0])}
	case "mended":
		return sched.Repaired{}
	}
	d.Fatalf(t, "unknown event %q", line)
	return nil
}

func show(a sched.Action) string {
	switch a := a.(type) {
	case sched.Assign:
		return fmt.Sprintf("node %d leaf %d: portions %v", a.Node, a.Leaf, a.Portions)
	case sched.End:
		return fmt.Sprintf("node %d leaf %d: end", a.Node, a.Leaf)
	case sched.Restart:
		return fmt.Sprintf("restart on %v", a.Nodes)
	case sched.Fail:
		return fmt.Sprintf("fail: node %d is lost", a.Node)
	}
	return fmt.Sprintf("%T", a)
}

// TestRandom runs statements on nodes that read at random speeds and die: in the attempt that
// completes, every split is read exactly once and by a node that may read it. No node has more
// portions than threads, and no portion has more rows than the limit.
func TestRandom(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := randomConfig(r)
		play(t, seed, r, c)
	}
}

func randomConfig(r *rand.Rand) sched.Config {
	c := sched.Config{Saturation: []float64{0, 1, 1.1, 2.5, math.Inf(1)}[r.IntN(5)]}
	for i := range 1 + r.IntN(5) {
		c.Nodes = append(c.Nodes, sched.Node{ID: uint64(10 + i), Threads: 1 + r.IntN(4)})
	}
	for range 1 + r.IntN(3) {
		l := sched.Leaf{Gateway: r.IntN(5) == 0, Single: r.IntN(5) == 0, Portion: []int64{0, 0, 500, 2000, 1 << 20}[r.IntN(5)]}
		for p := range r.IntN(5) {
			for range r.IntN(20) {
				sp := sched.Split{Partition: p, Rows: int64(r.IntN(1000))}
				for i := range c.Nodes {
					if r.IntN(2) == 0 {
						sp.Replicas = append(sp.Replicas, uint64(10+i))
					}
				}
				l.Splits = append(l.Splits, sp)
			}
		}
		c.Leaves = append(c.Leaves, l)
	}
	return c
}

type held struct {
	node   uint64
	leaf   int
	splits []int
}

func play(t *testing.T, seed uint64, r *rand.Rand, c sched.Config) {
	t.Helper()
	s := sched.New(c)
	var nodes []uint64
	var flight []held
	var read map[[2]int]bool
	var ended map[[2]uint64]bool
	var toReady []uint64
	threads := map[uint64]int{}
	for _, n := range c.Nodes {
		threads[n.ID] = n.Threads
	}
	restart := func(on []uint64) {
		nodes, flight, read, ended = on, nil, map[[2]int]bool{}, map[[2]uint64]bool{}
		toReady = slices.Clone(on)
		r.Shuffle(len(toReady), func(i, j int) { toReady[i], toReady[j] = toReady[j], toReady[i] })
	}
	restart(s.Nodes())
	left, failed := false, false
	step := func(ev sched.Event) {
		for _, a := range s.Step(ev) {
			switch a := a.(type) {
			case sched.Assign:
				if ended[[2]uint64{a.Node, uint64(a.Leaf)}] {
					t.Fatalf("seed %d: split after the end", seed)
				}
				for _, p := range a.Portions {
					rows := int64(0)
					for _, sp := range p {
						if read[[2]int{a.Leaf, sp}] || slices.ContainsFunc(flight, func(h held) bool { return h.leaf == a.Leaf && slices.Contains(h.splits, sp) }) {
							t.Fatalf("seed %d: leaf %d split %d handed out twice", seed, a.Leaf, sp)
						}
						l := c.Leaves[a.Leaf]
						if l.Gateway && a.Node != nodes[0] {
							t.Fatalf("seed %d: a gateway's split goes to node %d", seed, a.Node)
						}
						reps := l.Splits[sp].Replicas
						if !l.Gateway && len(reps) > 0 && !slices.Contains(reps, a.Node) &&
							slices.ContainsFunc(reps, func(n uint64) bool { return slices.Contains(nodes, n) }) {
							t.Fatalf("seed %d: node %d reads from afar what others hold", seed, a.Node)
						}
						rows += l.Splits[sp].Rows
					}
					if l := c.Leaves[a.Leaf]; len(p) > 1 && !math.IsInf(c.Saturation, 1) && rows > l.Portion+500 {
						t.Fatalf("seed %d: a portion of %d rows", seed, rows) // a split has less than 1,000 rows: portions are rounded to whole splits
					}
					flight = append(flight, held{a.Node, a.Leaf, p})
				}
				have := 0
				for _, h := range flight {
					if h.node == a.Node && h.leaf == a.Leaf {
						have++
					}
				}
				th := threads[a.Node]
				if c.Leaves[a.Leaf].Single {
					th = 1
				}
				sat := c.Saturation
				if sat == 0 {
					sat = sched.DefaultSaturation
				}
				if float64(have) > math.Ceil(float64(th)*sat) {
					t.Fatalf("seed %d: node %d has %d portions of leaf %d", seed, a.Node, have, a.Leaf)
				}
			case sched.End:
				ended[[2]uint64{a.Node, uint64(a.Leaf)}] = true
			case sched.Restart:
				if left {
					t.Fatalf("seed %d: restart after rows have left", seed)
				}
				restart(a.Nodes)
			case sched.Fail:
				failed = true
			}
		}
	}
	for !failed && (len(toReady) > 0 || len(flight) > 0) {
		switch k := r.IntN(40); {
		case k == 0 && len(nodes) > 1:
			step(sched.Lost{Node: nodes[1+r.IntN(len(nodes)-1)]})
		case k == 1 && r.IntN(3) == 0:
			left = true
			step(sched.Left{})
		case k < 15 && len(toReady) > 0:
			n := toReady[0]
			toReady = toReady[1:]
			step(sched.Ready{Node: n})
		case len(flight) > 0:
			i := r.IntN(len(flight))
			h := flight[i]
			flight = slices.Delete(flight, i, i+1)
			for _, sp := range h.splits {
				read[[2]int{h.leaf, sp}] = true
			}
			step(sched.Done{Node: h.node, Leaf: h.leaf, Split: h.splits[0]})
		}
	}
	if failed {
		return
	}
	for i, l := range c.Leaves {
		for sp := range l.Splits {
			if !read[[2]int{i, sp}] {
				t.Fatalf("seed %d: leaf %d split %d was not read", seed, i, sp)
			}
		}
		for _, n := range nodes {
			if want := !l.Gateway || n == nodes[0]; ended[[2]uint64{n, uint64(i)}] != want {
				t.Fatalf("seed %d: node %d leaf %d ended: %v", seed, n, i, !want)
			}
		}
	}
}

// TestManySmallSplits assigns a thousand splits of equal size to nodes of which one is half as fast:
// a hundred portions at most are needed for them, and all nodes finish at about the same time.
func TestManySmallSplits(t *testing.T) {
	leaf := sched.Leaf{Portion: 200}
	for i := range 1000 {
		leaf.Splits = append(leaf.Splits, sched.Split{Partition: i, Rows: 9}) // counted as 10 rows, since opening a split has a cost too
	}
	s := sched.New(sched.Config{Nodes: []sched.Node{{ID: 1, Threads: 1}, {ID: 2, Threads: 1}, {ID: 3, Threads: 1}}, Leaves: []sched.Leaf{leaf}})
	cost := map[uint64]int{1: 1, 2: 1, 3: 2}
	queue := map[uint64][][]int{}
	var portions, read int
	take := func(list []sched.Action) {
		for _, a := range list {
			if a, ok := a.(sched.Assign); ok {
				queue[a.Node] = append(queue[a.Node], a.Portions...)
				portions += len(a.Portions)
			}
		}
	}
	free := map[uint64]int{} // by node: the time at which its current portion has been read
	begin := func(node uint64, now int) {
		if len(queue[node]) > 0 && free[node] == 0 {
			free[node] = now + cost[node]*len(queue[node][0])
		}
	}
	for node := range cost {
		take(s.Step(sched.Ready{Node: node}))
	}
	end := map[uint64]int{}
	for now := 0; len(queue[1])+len(queue[2])+len(queue[3]) > 0; now++ {
		for node := uint64(1); node <= 3; node++ {
			if free[node] == now && now > 0 {
				p := queue[node][0]
				queue[node], free[node] = queue[node][1:], 0
				read += len(p)
				end[node] = now
				take(s.Step(sched.Done{Node: node, Split: p[0]}))
			}
		}
		for node := range cost {
			begin(node, now)
		}
	}
	if read != 1000 || portions > 1000/10 {
		t.Errorf("%d splits in %d portions", read, portions)
	}
	// The nodes read 2.5 splits a tick together.
	for node, at := range end {
		if at < 400*95/100 || at > 400*105/100 {
			t.Errorf("node %d ends at %d", node, at)
		}
	}
}
