package worker

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// feed hands a task the splits that the gateway assigns to it, and reports portions
// that have been read. It is the task's op.Splits, op.Tables and op.Sources.
type feed struct {
	stage   plan.StageID
	tables  op.Tables
	sources op.Sources
	done    func(leaf leafID, portion int)
	source  map[*plan.Source]int // their leaves

	mu       sync.Mutex
	leaves   []leafFeed
	at       map[reading]int // the portions of splits handed to threads
	assigned int
	read     int
	wake     chan struct{}
}

type leafFeed struct {
	q      []numbered
	unread map[int]int // by portion, how many of its splits are still to be read
	ended  bool
}

type numbered struct {
	split   *op.Split
	portion int
}

// reading identifies a split that is being read, by what Open is called with: for a
// table the split itself, for a source its leaf and its part.
type reading struct {
	split      *op.Split
	leaf, part int
}

func readingOf(sp *op.Split) reading {
	if sp.Segment != nil {
		return reading{split: sp}
	}
	return reading{leaf: sp.Scan, part: sp.Part}
}

func newFeed(s *plan.Stage, tables op.Tables, sources op.Sources, done func(leafID, int)) *feed {
	f := &feed{stage: s.ID, tables: tables, sources: sources, done: done, source: map[*plan.Source]int{},
		at: map[reading]int{}, wake: make(chan struct{})}
	for i, n := range build.Leaves(s.Root) {
		if src, ok := n.(*plan.Source); ok {
			f.source[src] = i
		}
		f.leaves = append(f.leaves, leafFeed{unread: map[int]int{}})
	}
	return f
}

// add adds splits of a leaf, in whole portions.
func (f *feed) add(leaf int, list ...numbered) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if leaf < len(f.leaves) {
		l := &f.leaves[leaf]
		l.q = append(l.q, list...)
		for _, n := range list {
			l.unread[n.portion]++
		}
		f.assigned += len(list)
		f.changed()
	}
}

// end records that a leaf gets no more splits.
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
func (f *feed) Next(ctx context.Context, leaf int, _ *op.Split) (*op.Split, error) {
	for {
		f.mu.Lock()
		l := &f.leaves[leaf]
		if len(l.q) > 0 {
			it := l.q[0]
			l.q = l.q[1:]
			f.at[readingOf(it.split)] = it.portion
			next := ahead(it.split, l.q)
			f.mu.Unlock()
			if p, ok := f.tables.(prefetcher); ok && len(next) > 0 {
				p.Prefetch(next)
			}
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

// prefetcher begins to get files that are not on this node.
type prefetcher interface{ Prefetch(segs []*catalog.Segment) }

// lookAhead is how many files are got ahead of the one that is read.
const lookAhead = 4

// ahead lists the files that are read after a split, where they may be in the storage alone.
func ahead(now *op.Split, q []numbered) (out []*catalog.Segment) {
	last := now.Segment
	if last == nil || !last.InBucket() {
		return nil
	}
	for _, n := range q {
		if g := n.split.Segment; g != last {
			if out = append(out, g); len(out) == lookAhead {
				break
			}
			last = g
		}
	}
	return out
}

// finished records that a split has been read; with the last one of a portion it
// reports the portion as read, for which another may be assigned.
func (f *feed) finished(leaf int, r reading) {
	f.mu.Lock()
	portion, ok := f.at[r]
	delete(f.at, r)
	l := &f.leaves[leaf]
	if ok {
		f.read++
		l.unread[portion]--
	}
	done := ok && l.unread[portion] == 0
	if done {
		delete(l.unread, portion)
	}
	done = done && !l.ended
	f.mu.Unlock()
	if done {
		f.done(leafID{f.stage, leaf}, portion)
	}
}

// progress returns how many splits have been read and how many were assigned.
func (f *feed) progress() (read, assigned int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read, f.assigned
}

// Open implements op.Tables.
func (f *feed) Open(ctx context.Context, s *plan.Scan, sp *op.Split, env *function.Env, keys []op.ScanKeys) (op.BatchReader, error) {
	r, err := f.tables.Open(ctx, s, sp, env, keys)
	if err != nil {
		return nil, err
	}
	return &closeNotifier{r, func() { f.finished(sp.Scan, readingOf(sp)) }}, nil
}

// Intact implements op.Tables.
func (f *feed) Intact() error {
	if f.tables == nil {
		return nil
	}
	return f.tables.Intact()
}

// feedSources is the feed as op.Sources. A source's splits are its parts.
type feedSources struct{ *feed }

// Open implements op.Sources.
func (f feedSources) Open(ctx context.Context, s *plan.Source, part, of int, pool *mem.Pool) (op.BatchReader, error) {
	r, err := f.sources.Open(ctx, s, part, of, pool)
	if err != nil {
		return nil, err
	}
	return &closeNotifier{r, func() { f.finished(f.source[s], reading{leaf: f.source[s], part: part}) }}, nil
}

// closeNotifier calls then once after a reader is closed.
type closeNotifier struct {
	in   op.BatchReader
	then func()
}

func (t *closeNotifier) Next(ctx context.Context) (*batch.Batch, error) { return t.in.Next(ctx) }

// AllowReuse implements op.Reuser.
func (t *closeNotifier) AllowReuse() { op.AllowReuse(t.in) }

func (t *closeNotifier) Close() error {
	err := t.in.Close()
	if t.then != nil {
		t.then()
		t.then = nil
	}
	return err
}
