package session

import (
	"context"
	"io"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// Portal is a statement in execution.
type Portal struct {
	s       *Session
	p       prepared
	params  []types.Datum
	shape   []plan.Column // of the command's Shape
	x       *Execution
	res     *Result
	state   portalState
	asleep  bool        // between a row limit and the next call of Next
	slow    *time.Timer // rests the statement
	tag     string
	told    bool         // the tag was asked for
	rows    int64        // returned
	err     error        // that the execution failed with
	again   bool         // it runs a statement that is counted already
	bytes   int64        // charged
	waiting *mem.Account // charged since the first Suspend
}

type portalState uint8

const (
	portalNew portalState = iota
	portalOpen
	portalDone
)

// Columns describes the rows.
func (p *Portal) Columns() []plan.Column {
	if p.res != nil && p.res.Columns != nil {
		return p.res.Columns
	}
	if p.shape != nil {
		return p.shape
	}
	return p.p.h.Columns
}

// Start begins the execution if that has not happened yet. ctx must live as
// long as the portal.
func (p *Portal) Start(ctx context.Context) error {
	if p.state != portalNew {
		return nil
	}
	s := p.s
	x, err := s.newExecution(ctx, p.p, p.params)
	if err != nil {
		s.fail()
		return err
	}
	p.x = x
	p.state = portalOpen
	if t := s.tx; t != nil && !p.p.h.Control {
		t.retry = nil
		if t.statements++; t.statements == 1 && !t.Explicit && t.Isolation == txn.ReadCommitted && p.p.h.Repeatable {
			t.retry = p.retry
		}
	}
	// Rows may lie in mapped files, here and below.
	err = batch.Guard(func() (err error) {
		if !p.p.h.Control {
			err = groupOf(s).Begin(x.Ctx)
		}
		if err == nil {
			err = x.checkLabels(p.params, p.p.h.Params)
		}
		if err == nil {
			p.res, err = p.p.h.Run(x.Ctx, x)
		}
		return err
	})
	if err != nil {
		return p.failed(err)
	}
	if err := x.CheckForeignKeys(); err != nil {
		return p.failed(err)
	}
	return nil
}

// retry runs the statement once more where its commit met a conflict, which is the error
// if the client was told another tag.
func (p *Portal) retry(ctx context.Context, conflict error) error {
	next := &Portal{s: p.s, p: p.p, params: p.params, again: true}
	if _, err := next.Next(ctx); err != io.EOF {
		_ = next.Close()
		return err
	}
	if p.told && next.tag != p.tag {
		return conflict
	}
	p.tag = next.tag
	return nil
}

// Next returns the next rows, io.EOF at the end.
func (p *Portal) Next(ctx context.Context) (*batch.Batch, error) {
	if p.state != portalDone && p.s.refuses(p.p) {
		return nil, errFailedTransaction()
	}
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	if p.state == portalDone {
		return nil, io.EOF
	}
	if p.asleep {
		p.wake()
		p.x.watch.resume()
		p.s.active(p.p.stmt)
	}
	p.batchRequested()
	if p.res.Copy != nil {
		return nil, io.EOF // its bytes go through Copy
	}
	if p.res.Rows != nil {
		for {
			var b *batch.Batch
			err := batch.Guard(func() (err error) {
				b, err = p.res.Rows.Next(p.x.Ctx)
				return err
			})
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, p.failed(err)
			}
			if n := b.Rows(); n > 0 {
				p.rows += int64(n)
				p.s.doing.rows.Store(p.rows)
				p.batchSent()
				return b, nil
			}
		}
	}
	return nil, p.finish()
}

// finish ends a successful execution; the error is io.EOF if all went well.
func (p *Portal) finish() error {
	if err := p.x.CheckForeignKeys(); err != nil {
		return p.failed(err)
	}
	if err := p.s.countChanges(); err != nil {
		return p.failed(err)
	}
	if p.res.Tag != nil {
		p.tag = p.res.Tag()
	}
	if err := p.Close(); err != nil {
		return p.failed(err)
	}
	return io.EOF
}

// failed ends a failed execution: the statement's changes are taken back.
func (p *Portal) failed(err error) error {
	err = query.Cause(p.x.Ctx, err)
	p.err = err
	p.x.undo()
	p.s.fail()
	_ = p.Close()
	return err
}

// slowClient is how long a client may take for a batch until its statement
// counts as one that waits for its client.
const slowClient = time.Second

// batchSent notes that a batch has gone out: the statement rests if the client does
// not take it.
func (p *Portal) batchSent() {
	if p.slow == nil {
		p.slow = time.AfterFunc(slowClient, p.x.Admission.Rest)
	} else {
		p.slow.Reset(slowClient)
	}
}

// batchRequested notes that the client asks for more.
func (p *Portal) batchRequested() {
	if p.slow != nil {
		p.slow.Stop()
	}
	p.x.Admission.Resume()
}

// Suspend says that the client may ask for more rows later, or never. What the statement takes
// meanwhile is charged.
func (p *Portal) Suspend() error {
	if p.state == portalOpen && !p.asleep {
		if p.waiting == nil {
			p.waiting = p.x.Pool.LastingAccount("portal")
			if err := p.waiting.Grow(keptSuspended); err != nil {
				return p.failed(err)
			}
		}
		p.asleep = true
		p.s.asleep++
		p.x.Admission.Rest()
		p.x.watch.suspend()
		p.s.idle()
	}
	return nil
}

// wake takes back Suspend.
func (p *Portal) wake() {
	if p.asleep {
		p.asleep = false
		p.s.asleep--
	}
}

// Tag is the command tag, valid after io.EOF.
func (p *Portal) Tag() string {
	p.told = true
	return p.tag
}

// Close stops the execution. It may be called twice.
func (p *Portal) Close() error {
	if p.state == portalDone {
		return nil
	}
	was := p.state
	p.state = portalDone
	p.s.kept.shrink(p.bytes)
	p.bytes = 0
	if was == portalNew {
		return nil
	}
	p.wake()
	if p.slow != nil {
		p.slow.Stop()
	}
	var err error
	if p.res != nil {
		err = p.res.Close()
	}
	if !p.again {
		p.s.finish(p.p.stmt, p.x, p.tag, p.rows, p.err)
	}
	p.s.end(p.x)
	return err
}
