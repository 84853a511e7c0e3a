package worker

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
)

// feed gives a task the splits that the gateway assigns to it, and tells of
// those that are read. It is the task's op.Splits, op.Tables and op.Sources.
type feed struct {
	stage   plan.StageID
	tables  op.Tables
	sources op.Sources
	done    func(leaf leafID, split int)
	source  map[*plan.Source]int // their leaves

	mu     sync.Mutex
	leaves []leafFeed
	number map[*op.Split]int // of splits handed to threads
	given  int
	read   int
	wake   chan struct{}
}

type leafFeed struct {
	q     []numbered
	ended bool
}

type numbered struct {
	split *op.Split
	num   int
}

func newFeed(s *plan.Stage, tables op.Tables, sources op.Sources, done func(leafID, int)) *feed {
	f := &feed{stage: s.ID, tables: tables, sources: sources, done: done, source: map[*plan.Source]int{},
		number: map[*op.Split]int{}, wake: make(chan struct{})}
	for i, n := range build.Leaves(s.Root) {
		if src, ok := n.(*plan.Source); ok {
			f.source[src] = i
		}
		f.leaves = append(f.leaves, leafFeed{})
	}
	return f
}

// give adds splits of a leaf.
func (f *feed) give(leaf int, list ...numbered) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if leaf < len(f.leaves) {
		f.leaves[leaf].q = append(f.leaves[leaf].q, list...)
		f.given += len(list)
		f.changed()
	}
}

// end tells that a leaf gets no more splits.
func (f *feed) end(leaf int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if leaf < len(f.leaves) {
		f.leaves[leaf].ended = true
		f.changed()
	}
}

func (f *feed) changed() {
	close(f.wake)
	f.wake = make(chan struct{})
}

// Next implements op.Splits.
func (f *feed) Next(ctx context.Context, leaf int) (*op.Split, error) {
	for {
		f.mu.Lock()
		l := &f.leaves[leaf]
		if len(l.q) > 0 {
			it := l.q[0]
			l.q = l.q[1:]
			if it.split.Segment != nil {
				f.number[it.split] = it.num
			}
			f.mu.Unlock()
			return it.split, nil
		}
		ended, wake := l.ended, f.wake
		f.mu.Unlock()
		if ended {
			return nil, io.EOF
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// finished tells that a split has been read, while another may come in its place.
func (f *feed) finished(leaf, num int) {
	f.mu.Lock()
	f.read++
	ended := f.leaves[leaf].ended
	f.mu.Unlock()
	if !ended {
		f.done(leafID{f.stage, leaf}, num)
	}
}

// progress counts the splits read and those given.
func (f *feed) progress() (read, given int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read, f.given
}

// Open implements op.Tables.
func (f *feed) Open(ctx context.Context, s *plan.Scan, sp *op.Split, env *function.Env, keys []op.ScanKeys) (op.BatchReader, error) {
	r, err := f.tables.Open(ctx, s, sp, env, keys)
	if err != nil {
		return nil, err
	}
	return &told{r, func() {
		f.mu.Lock()
		num, ok := f.number[sp]
		delete(f.number, sp)
		f.mu.Unlock()
		if ok {
			f.finished(sp.Scan, num)
		}
	}}, nil
}

// feedSources is the feed as op.Sources. A source's splits are its parts.
type feedSources struct{ *feed }

// Open implements op.Sources.
func (f feedSources) Open(ctx context.Context, s *plan.Source, part, of int) (op.BatchReader, error) {
	r, err := f.sources.Open(ctx, s, part, of)
	if err != nil {
		return nil, err
	}
	return &told{r, func() { f.finished(f.source[s], part) }}, nil
}

// told calls then once after a reader is closed.
type told struct {
	in   op.BatchReader
	then func()
}

func (t *told) Next(ctx context.Context) (*batch.Batch, error) { return t.in.Next(ctx) }

func (t *told) Close() error {
	err := t.in.Close()
	if t.then != nil {
		t.then()
		t.then = nil
	}
	return err
}
