package worker

import (
	"context"
	"slices"
	"sync"

	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/task"
	"github.com/tributarydb/tributary/exec/turn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
)

// part is the part of a plan that runs on one node: a task for each stage that runs
// here.
type part struct {
	stages []*plan.Stage // in the plan's order
	feeds  map[plan.StageID]*feed
	begin  func(conf build.Config) (*task.Task, error)
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	tasks []*task.Task // of the stages, in reverse order; the root's is the last
	wg    sync.WaitGroup
	rest  func() // when its threads no longer work
}

// partConfig is the configuration shared by the tasks of a part.
type partConfig struct {
	runtime  *op.Runtime
	env      *function.Env
	tables   op.Tables
	sources  op.Sources
	virtuals op.Virtuals
	writers  op.Writers
	collects op.Collectors
	groups   op.GroupTrainers
	exchange op.Exchange
	buffers  map[int]*op.Buffer
	noted    func(*plan.Stage, *task.Task)  // of each task that is done; may be nil
	done     func(leaf leafID, portion int) // from any thread
	failed   func(err error)                // from a goroutine of the part
}

// newPart makes a part with its feeds; start starts its tasks, which end with ctx at
// the latest. It must be stopped in the end.
func newPart(ctx context.Context, all []plan.Stage, gateway bool, c *partConfig) *part {
	p := &part{feeds: map[plan.StageID]*feed{}}
	ctx, p.cancel = context.WithCancelCause(ctx)
	p.begin = func(conf build.Config) (*task.Task, error) { return task.Start(ctx, conf) }
	for i := range all {
		s := &all[i]
		if s.Root == nil || s.Where != plan.OnAll && !gateway {
			continue
		}
		p.stages = append(p.stages, s)
		p.feeds[s.ID] = newFeed(s, c.tables, c.sources, c.done)
	}
	threads := 0
	if slices.ContainsFunc(p.stages, func(s *plan.Stage) bool { return !s.Short }) {
		threads = c.runtime.Threads
	}
	p.rest = turn.Work(threads)
	return p
}

// start starts the tasks, senders first. The caller stops the part also after
// an error.
func (p *part) start(c *partConfig) error {
	for i := len(p.stages) - 1; i >= 0; i-- {
		s := p.stages[i]
		f := p.feeds[s.ID]
		conf := build.Config{Stage: s, Runtime: c.runtime, Env: c.env, Splits: f, Tables: f, Virtuals: c.virtuals,
			Writers: c.writers, Collects: c.collects, Groups: c.groups, Exchange: c.exchange, Buffers: c.buffers}
		if c.sources != nil {
			conf.Sources = feedSources{f}
		}
		t, err := p.begin(conf)
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.tasks = append(p.tasks, t)
		p.mu.Unlock()
		p.wg.Go(func() {
			<-t.Done()
			if c.noted != nil {
				c.noted(s, t)
			}
			if err := t.Err(); err != nil {
				c.failed(err)
			}
		})
	}
	return nil
}

// root returns the last task that started: on the gateway that of the root stage.
func (p *part) root() *task.Task {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tasks[len(p.tasks)-1]
}

// wait returns a channel that is closed when all tasks are done and then has returned.
func (p *part) wait(then func() error) <-chan struct{} {
	ch := make(chan struct{})
	go func() { // ends with the tasks, which stop ends at the latest, and after then
		p.wg.Wait()
		if then() == nil {
			close(ch)
		}
	}()
	return ch
}

// fail stops all tasks with a cause and does not wait.
func (p *part) fail(cause error) { p.cancel(cause) }

// stop stops all tasks and waits for them. It may be called twice.
func (p *part) stop(cause error) {
	p.fail(cause)
	p.mu.Lock()
	tasks := p.tasks
	p.mu.Unlock()
	for _, t := range tasks {
		_ = t.Close()
	}
	p.wg.Wait()
	p.rest()
}

// stats returns the counters of all tasks.
func (p *part) stats() []nodeStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []nodeStats
	for i, t := range p.tasks {
		id := p.stages[len(p.stages)-1-i].ID
		out = append(out, statsOf(id, t.Stats())...)
		bytes, messages := t.Sent()
		for i, from := range []plan.StageID{id, id.RuntimeFilter()} {
			if messages[i] > 0 {
				out = append(out, nodeStats{stage.Key{Stage: from}, stage.NodeStats{Sent: bytes[i], Messages: messages[i]}})
			}
		}
	}
	return out
}
