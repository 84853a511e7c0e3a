package sched

import (
	"math"
	"slices"
)

// DefaultSaturation is how many portions of splits a task has at a time for each thread.
const DefaultSaturation = 1.1

// Config is a statement's work.
type Config struct {
	// Saturation is how many portions a task gets for each thread; 0 is the
	// default, +Inf distributes everything out at once.
	Saturation float64
	Nodes      []Node // the gateway first
	Leaves     []Leaf
}

// Event is something that happened: Ready, Done, Left, Lost or Repaired.
type Event interface{ event() }

type (
	// Ready says that the tasks of a node take splits.
	Ready struct{ Node uint64 }
	// Done says that a node has read a portion, by its first split.
	Done struct {
		Node        uint64
		Leaf, Split int
	}
	// Left says that an effect of the statement is visible outside: a row of the result,
	// or a write. It cannot be restarted any more.
	Left struct{}
	// Lost says that a node does not answer any more.
	Lost struct{ Node uint64 }
	// Repaired says that a task met damage on its node, which has been repaired. After Left
	// it has no effect: the statement has failed.
	Repaired struct{}
)

func (Ready) event()    {}
func (Done) event()     {}
func (Left) event()     {}
func (Lost) event()     {}
func (Repaired) event() {}

// Action is something to do: Assign, End, Restart or Fail.
type Action interface{ action() }

type (
	// Assign hands portions of a leaf's splits to a node.
	Assign struct {
		Node     uint64
		Leaf     int
		Portions [][]int
	}
	// End notifies a node that it gets no more splits of a leaf.
	End struct {
		Node uint64
		Leaf int
	}
	// Restart stops all tasks and starts them again on Nodes; Ready is awaited
	// of each.
	Restart struct{ Nodes []uint64 }
	// Fail ends the statement because a node was lost.
	Fail struct{ Node uint64 }
)

func (Assign) action()  {}
func (End) action()     {}
func (Restart) action() {}
func (Fail) action()    {}

// Scheduler is the state of one statement. It is for one goroutine at a time.
type Scheduler struct {
	sat    float64
	nodes  []Node
	leaves []*leaf
	left   bool
	failed bool
}

// leaf is the state of a leaf; slices by node go by its number in nodes.
type leaf struct {
	Leaf
	home    [][]int // by node: the splits still to be read, in order
	slots   []int   // by node: how many portions it may have
	busy    []int   // by node: how many it has
	ready   []bool
	ended   []bool
	owner   []uint64 // by a portion's first split: the node that has or had it, 0 for none
	done    []bool   // by a portion's first split
	wait    int      // splits in home queues
	rows    int64    // of these
	threads int64    // of all tasks
}

// New makes the scheduler of a statement.
func New(c Config) *Scheduler {
	s := &Scheduler{sat: c.Saturation, nodes: slices.Clone(c.Nodes)}
	if !(s.sat > 0) {
		s.sat = DefaultSaturation
	}
	for _, l := range c.Leaves {
		s.leaves = append(s.leaves, &leaf{Leaf: l})
	}
	s.begin()
	return s
}

// Nodes returns the nodes that take part now.
func (s *Scheduler) Nodes() []uint64 {
	out := make([]uint64, len(s.nodes))
	for i, n := range s.nodes {
		out[i] = n.ID
	}
	return out
}

// begin puts every split into a home queue.
func (s *Scheduler) begin() {
	for _, l := range s.leaves {
		n := len(s.nodes)
		l.slots, l.busy, l.ready, l.ended = make([]int, n), make([]int, n), make([]bool, n), make([]bool, n)
		l.owner, l.done = make([]uint64, len(l.Splits)), make([]bool, len(l.Splits))
		l.wait, l.rows, l.threads = len(l.Splits), 0, 0
		for _, sp := range l.Splits {
			l.rows += sp.Rows + 1
		}
		for i, node := range s.nodes {
			if l.slots[i] = slotsOf(node.Threads, l.Single, s.sat); l.Stays {
				l.slots[i] = math.MaxInt32
			}
			if !l.Gateway || i == 0 {
				l.threads += int64(tasks(node.Threads, l.Single))
			}
		}
		l.home = homes(l.Leaf, s.nodes)
	}
}

// tasks returns how many threads of a node read a leaf.
func tasks(threads int, single bool) int {
	if single {
		return 1
	}
	return max(threads, 1)
}

// slotsOf returns how many portions a task may have at a time.
func slotsOf(threads int, single bool, saturation float64) int {
	f := math.Ceil(float64(tasks(threads, single))*saturation - 1e-9)
	if f > math.MaxInt32 {
		return math.MaxInt32
	}
	return max(int(f), 1)
}

func (s *Scheduler) number(node uint64) int {
	return slices.IndexFunc(s.nodes, func(n Node) bool { return n.ID == node })
}

// Step handles an event and returns the actions to carry out, in order.
func (s *Scheduler) Step(ev Event) []Action {
	if s.failed {
		return nil
	}
	switch ev := ev.(type) {
	case Left:
		s.left = true
	case Lost:
		return s.lost(ev.Node)
	case Repaired:
		if s.left {
			return nil
		}
		s.begin()
		return []Action{Restart{Nodes: s.Nodes()}}
	case Ready:
		at := s.number(ev.Node)
		if at < 0 {
			return nil
		}
		var out []Action
		for i, l := range s.leaves {
			if l.Gateway && at > 0 || l.ready[at] {
				continue
			}
			l.ready[at] = true
			out = s.feed(out, i)
		}
		return out
	case Done:
		at := s.number(ev.Node)
		if at < 0 || ev.Leaf < 0 || ev.Leaf >= len(s.leaves) {
			return nil
		}
		l := s.leaves[ev.Leaf]
		if ev.Split < 0 || ev.Split >= len(l.Splits) || l.owner[ev.Split] != ev.Node || l.done[ev.Split] {
			return nil // of an earlier attempt
		}
		l.done[ev.Split] = true
		l.busy[at]--
		return s.feed(nil, ev.Leaf)
	}
	return nil
}

// lost goes on without a node.
func (s *Scheduler) lost(node uint64) []Action {
	at := s.number(node)
	if at < 0 {
		return nil
	}
	if s.left || at == 0 {
		s.failed = true
		return []Action{Fail{Node: node}}
	}
	s.nodes = slices.Delete(s.nodes, at, at+1)
	s.begin()
	return []Action{Restart{Nodes: s.Nodes()}}
}

// feed fills the free slots of a leaf's tasks, one portion per node in turn.
func (s *Scheduler) feed(out []Action, num int) []Action {
	l := s.leaves[num]
	given := make([][][]int, len(s.nodes))
	for _, from := range []func(*leaf, int) []int{s.takeOwn, s.steal} {
		for more := true; more && l.wait > 0; {
			more = false
			for at := range s.nodes {
				if !l.ready[at] || l.busy[at] >= l.slots[at] {
					continue
				}
				p := from(l, at)
				if len(p) == 0 {
					continue
				}
				l.owner[p[0]] = s.nodes[at].ID
				l.busy[at]++
				given[at] = append(given[at], p)
				more = true
			}
		}
	}
	for at, g := range given {
		if len(g) > 0 {
			out = append(out, Assign{Node: s.nodes[at].ID, Leaf: num, Portions: g})
		}
	}
	if l.wait > 0 {
		return out
	}
	for at, n := range s.nodes {
		if l.ready[at] && !l.ended[at] {
			l.ended[at] = true
			out = append(out, End{Node: n.ID, Leaf: num})
		}
	}
	return out
}

// share bounds a portion near the end of a leaf to 1/share of each thread's part of the
// rest: otherwise all would wait for the node that got the last portion.
const share = 4

// size returns how many rows the next portion for a node has, to the nearest split.
func (l *leaf) size(at int) int64 {
	if l.slots[at] == math.MaxInt32 {
		return math.MaxInt64 // it gets all of them anyway
	}
	return min(l.Portion, l.rows/(share*l.threads))
}

// take takes a portion for a node out of a queue: the first splits of its own, or the
// last that it may read of another's; nil if there are none.
func (s *Scheduler) take(l *leaf, from, at int) []int {
	var out []int
	q, size, rows := l.home[from], l.size(at), int64(0)
	for i := range q {
		if from != at {
			i = len(q) - 1 - i
		}
		n := l.Splits[q[i]].Rows + 1
		if len(out) > 0 && n/2 > size-rows {
			break
		}
		if from == at || s.mayRead(l.Splits[q[i]], at) {
			out = append(out, q[i])
			rows += n
		}
	}
	if from == at {
		l.home[at] = q[len(out):]
	} else {
		slices.Reverse(out)
		next := 0 // of out, whose splits follow each other as in q
		l.home[from] = slices.DeleteFunc(q, func(sp int) bool {
			taken := next < len(out) && out[next] == sp
			if taken {
				next++
			}
			return taken
		})
	}
	l.wait -= len(out)
	l.rows -= rows
	return out
}

// takeOwn takes a portion out of a node's own queue.
func (s *Scheduler) takeOwn(l *leaf, at int) []int { return s.take(l, at, at) }

// steal takes a portion for a node out of the queue of another one that has begun.
func (s *Scheduler) steal(l *leaf, at int) []int {
	if math.IsInf(s.sat, 1) || l.Stays {
		return nil // others get their own
	}
	// The fullest queue first; within it from the back, so that its owner keeps
	// the family it is reading.
	from := -1
	var most int64
	for v, q := range l.home {
		if v == at || !l.ready[v] || !slices.ContainsFunc(q, func(sp int) bool { return s.mayRead(l.Splits[sp], at) }) {
			continue
		}
		var rows int64
		for _, sp := range q {
			rows += l.Splits[sp].Rows + 1
		}
		if rows /= int64(max(s.nodes[v].Threads, 1)); rows > most {
			from, most = v, rows
		}
	}
	if from < 0 {
		return nil
	}
	return s.take(l, from, at)
}

// mayRead reports whether a node holds a split, or nobody does.
func (s *Scheduler) mayRead(sp Split, at int) bool {
	return holds(sp, s.nodes[at].ID) || !heldByAny(sp, s.nodes)
}

func heldByAny(sp Split, nodes []Node) bool {
	return slices.ContainsFunc(nodes, func(n Node) bool { return holds(sp, n.ID) })
}
