package op

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/turn"
	"github.com/tributarydb/tributary/planner/plan"
)

// Stats counts what one plan node does in a task, over all threads. It may be
// read while the task runs.
type Stats struct {
	Node  plan.Node
	ID    int // the node's number in its stage, depth first
	Depth int

	Rows    atomic.Int64
	Batches atomic.Int64
	Nanos   atomic.Int64 // in Open and Next, inputs included, summed over threads
	Memory  atomic.Int64 // the most bytes held at once, summed over threads
	Spilled atomic.Int64 // bytes written to disk
	Splits  atomic.Int64 // splits read, for leaves
	Done    atomic.Int32 // threads at their end
	Threads int          // set by Count
}

// AddPeak records what an account held at most when its thread is done with it.
func (s *Stats) AddPeak(a *mem.Account) {
	if s != nil && a != nil {
		s.Memory.Add(a.Peak())
	}
}

// AddSpilled counts n bytes written to disk. Like AddPeak it does nothing where s is nil.
func (s *Stats) AddSpilled(n int64) {
	if s != nil {
		s.Spilled.Add(n)
	}
}

// Count wraps the threads of a node so that s counts what they return. below are the threads of the nodes
// that it reads.
func Count(s *Stats, in []Operator, below [][]Operator) []Operator {
	out := make([]Operator, len(in))
	s.Threads = len(in)
	for i, o := range in {
		out[i] = &counted{in: o, s: s, thread: i, below: below}
	}
	return out
}

type counted struct {
	in     Operator
	s      *Stats
	thread int
	below  [][]Operator
	done   bool
	failed bool      // its Close has
	last   time.Time // when its thread last let others go first
}

func (c *counted) Open(ctx context.Context) error {
	t := time.Now()
	err := c.in.Open(ctx)
	c.s.Nanos.Add(int64(time.Since(t)))
	return err
}

func (c *counted) Next(ctx context.Context) (*batch.Batch, error) {
	t := time.Now()
	switch {
	case c.last.IsZero():
		c.last = t
	case t.Sub(c.last) >= turn.Length:
		turn.Give()
		t = time.Now()
		c.last = t
	}
	b, err := c.in.Next(ctx)
	c.s.Nanos.Add(int64(time.Since(t)))
	if err == nil {
		c.s.Rows.Add(int64(b.Rows()))
		c.s.Batches.Add(1)
	} else if err == io.EOF && !c.done {
		c.done = true
		c.s.Done.Add(1)
	}
	return b, err
}

// AllowReuse implements Reuser.
func (c *counted) AllowReuse() { AllowReuse(c.in) }

// Close closes the operator, and if it panics the ones below nevertheless: threads wait for each other, and
// readers hold files until the last is closed.
func (c *counted) Close() error {
	if c.failed {
		return nil // what could be closed is
	}
	err := Guard("close", c.in.Close)
	if err != nil {
		c.failed = true
		_ = Guard("close", c.in.Close)
		for _, list := range c.below {
			if c.thread < len(list) {
				_ = Guard("close", list[c.thread].Close)
			}
		}
	}
	return err
}
