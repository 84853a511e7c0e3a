package cursor

import (
	"context"
	"io"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Options are the options of DECLARE.
type Options struct {
	Name   string
	Number int // of the session's cursors, as they were declared
	Hold   bool
	Scroll int8 // 1 SCROLL, -1 NO SCROLL, 0 not said
	Text   string
	At     time.Time
}

// Cursor is a DECLAREd query. Its rows so far are kept; the rest stays in the running
// query. It is for the session's goroutine only and must be closed.
type Cursor struct {
	Options
	cols   []plan.Column
	source op.BatchReader
	ctx    context.Context
	cancel context.CancelCauseFunc
	pool   *mem.Pool
	// admission is held while the query runs, not while the client thinks.
	admission query.Admission
	rows      *rows
	ended     bool
	pos       int64 // 0 before the first row, n on row n, rows.read+1 after the last
}

// New makes a cursor whose query runs in x until ctx ends: neither ends with the
// DECLARE. Rows that do not fit in memory are written to directory temp.
func New(o Options, x *query.Run, ctx context.Context, cancel context.CancelCauseFunc, temp string) *Cursor {
	return &Cursor{Options: o, ctx: ctx, cancel: cancel, pool: x.Pool, admission: x.Admission, rows: newRows(x.Pool, temp)}
}

// Open starts the query. Until it runs, a cancellation of ctx, the DECLARE's context,
// cancels the query. On an error the cursor is closed.
func (c *Cursor) Open(ctx context.Context, start func(context.Context) ([]plan.Column, op.BatchReader, error)) (err error) {
	stop := context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })
	c.cols, c.source, err = start(c.ctx)
	stop()
	if err != nil {
		err = query.Cause(c.ctx, err)
		c.Close()
		return err
	}
	c.admission.Rest()
	c.rows.cols = c.cols
	return nil
}

// Columns returns the columns of its rows.
func (c *Cursor) Columns() []plan.Column { return c.cols }

// Materialize reads the query to its end, before its transaction ends.
func (c *Cursor) Materialize() error {
	if c.ended {
		return nil
	}
	return c.fill(allRows)
}

// allRows stands for all rows.
const allRows = 1 << 62

// fill reads until row number want (from 1) has been read or the query ends.
func (c *Cursor) fill(want int64) error {
	c.admission.Resume()
	defer c.admission.Rest()
	for !c.ended && c.rows.read < want {
		b, err := c.source.Next(c.ctx)
		if err == io.EOF {
			c.ended = true
			return nil
		}
		if err != nil {
			return err
		}
		if b.Rows() == 0 {
			continue
		}
		if err := c.rows.add(c.ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// span is the range of rows that a FETCH or MOVE passes: numbers from … to, counted
// from 1, or backward from to to from.
type span struct {
	from, to int64
	reverse  bool
}

// Passed are the rows that a FETCH or MOVE passes.
type Passed struct {
	c *Cursor
	span
}

// Count returns how many rows are passed; it must be called before the first Next.
func (p *Passed) Count() int64 { return max(p.to-max(p.from, 1)+1, 0) }

// Next implements op.BatchReader.
func (p *Passed) Next(context.Context) (*batch.Batch, error) {
	b, err := p.c.next(&p.span)
	if err != nil && err != io.EOF {
		err = query.Cause(p.c.ctx, err)
	}
	return b, err
}

// Close implements op.BatchReader.
func (p *Passed) Close() error { return nil }

// Fetch carries out a FETCH or MOVE. While it runs, a cancellation of ctx cancels the
// cursor's query.
func (c *Cursor) Fetch(ctx context.Context, n *ast.FetchStmt) (*Passed, error) {
	stop := context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })
	defer stop()
	out, err := c.move(n)
	if err != nil {
		return nil, query.Cause(c.ctx, err)
	}
	return &Passed{c, out}, nil
}

// next returns the next rows and removes them from p; io.EOF at the end.
func (c *Cursor) next(p *span) (*batch.Batch, error) {
	from, to := p.from, p.to
	if p.reverse {
		if to < from {
			return nil, io.EOF
		}
		from = to // one at a time: a batch has its rows in forward order
	}
	b, err := c.rows.slice(c.ctx, from, to)
	switch {
	case err != nil:
		return nil, err
	case b == nil:
		return nil, io.EOF
	case p.reverse:
		p.to--
	default:
		p.from += int64(b.Rows())
	}
	return b, nil
}

// Close stops the query and frees its memory.
func (c *Cursor) Close() {
	if c.source != nil {
		_ = c.source.Close()
	}
	c.cancel(nil)
	c.rows.close()
	c.admission.Close()
	c.pool.Close()
}

// move carries out a FETCH or MOVE and returns the rows it passes.
func (c *Cursor) move(n *ast.FetchStmt) (span, error) {
	many, none := n.HowMany, span{}
	switch n.Direction {
	case ast.FETCH_BACKWARD:
		if many != ast.FETCH_ALL {
			many = -many
		} else {
			many = -ast.FETCH_ALL
		}
	case ast.FETCH_ABSOLUTE:
		return c.absolute(many)
	case ast.FETCH_RELATIVE:
		if many == 0 {
			break
		}
		target := c.pos + many
		if target < 1 {
			if err := c.backwardOK(); err != nil {
				return none, err
			}
			c.pos = 0
			return none, nil
		}
		return c.absolute(target)
	}
	switch {
	case many == 0:
		if c.pos < 1 || c.pos > c.rows.read {
			return none, nil
		}
		if !n.IsMove { // the row is read again, from before it
			if err := c.backwardOK(); err != nil {
				return none, err
			}
		}
		return span{from: c.pos, to: c.pos}, nil
	case many > 0:
		to := int64(allRows)
		if many != ast.FETCH_ALL {
			to = c.pos + many
		}
		if c.Scroll < 0 {
			c.rows.drop(c.pos)
		}
		if err := c.fill(to); err != nil {
			return none, err
		}
		from := c.pos + 1
		if to > c.rows.read {
			c.pos = c.rows.read + 1
			return span{from: from, to: c.rows.read}, nil
		}
		c.pos = to
		return span{from: from, to: to}, nil
	}
	if err := c.backwardOK(); err != nil {
		return none, err
	}
	last := c.pos - 1
	first := int64(1)
	if many != -ast.FETCH_ALL {
		first = c.pos + many
	}
	if first < 1 {
		c.pos = 0
		return span{from: 1, to: last, reverse: true}, nil
	}
	c.pos = first
	if many == -ast.FETCH_ALL {
		c.pos = 0
	}
	return span{from: first, to: last, reverse: true}, nil
}

func (c *Cursor) backwardOK() error {
	if c.Scroll < 0 {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cursor can only scan forward").WithHint("Declare it with SCROLL option to enable backward scan.")
	}
	return nil
}

func (c *Cursor) absolute(n int64) (span, error) {
	if n < 0 || c.pos > 0 && n <= c.pos {
		if err := c.backwardOK(); err != nil {
			return span{}, err
		}
	}
	if n < 0 {
		if err := c.fill(allRows); err != nil {
			return span{}, err
		}
		n = c.rows.read + 1 + n
	}
	if n <= 0 {
		c.pos = 0
		return span{}, nil
	}
	if err := c.fill(n); err != nil {
		return span{}, err
	}
	if n > c.rows.read {
		c.pos = c.rows.read + 1
		return span{}, nil
	}
	c.pos = n
	return span{from: n, to: n}, nil
}
