package write

import (
	"context"
	"errors"
	"io"
	"sort"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// CopiedRows are the rows of a COPY.
type CopiedRows interface {
	op.BatchReader
	// Context adds to an error of a row, of those that Next has returned, where that is and what it is;
	// Line only where.
	Context(err error, row int64) error
	Line(err error, row int64) error
}

// Copy writes rows of some of a table's columns into it, as in gives them: as INSERT would, with
// defaults for the other columns.
func (r *Executor) Copy(rel *catalog.Relation, cols []catalog.Column, in CopiedRows) (rows int64, err error) {
	d, err := bind.Copied(r.binding(r.x.Text), rel, cols)
	if err != nil {
		return 0, err
	}
	r.copied = &copiedRows{CopiedRows: in}
	r.Stream(bind.CopyBuffer, r.copied)
	w, err := r.Modify(d)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	return w.count, nil
}

// copiedRows keeps the rows that the plan of a COPY has read and that are not written yet, of which one
// may be refused. The plan gives a row for each, in their order.
type copiedRows struct {
	CopiedRows
	mu     sync.Mutex
	ahead  []*batch.Batch
	before int64 // rows before them
	done   int   // rows of the first that are written
}

func (c *copiedRows) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := c.CopiedRows.Next(ctx)
	if err == nil && b.Rows() > 0 {
		c.mu.Lock()
		c.ahead = append(c.ahead, b)
		c.mu.Unlock()
	}
	return b, err
}

// wrote notes that n rows more are written.
func (c *copiedRows) wrote(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done += n
	for len(c.ahead) > 0 && c.done >= c.ahead[0].Rows() {
		n := c.ahead[0].Rows()
		c.ahead, c.before, c.done = c.ahead[1:], c.before+int64(n), c.done-n
	}
}

// inContext adds to the error of a COPY, whose plan over the rows is source, where the row is that a
// constraint refuses, or of which a default or a generated column cannot be computed.
func (w *ModifyTable) inContext(source plan.Node, err error) error {
	var e *pgerr.Error
	if w.r.copied == nil || !errors.As(err, &e) || e.Where != "" {
		return err
	}
	c := w.r.copied
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := c.before; len(c.ahead) > 0; c.ahead = c.ahead[1:] {
		b, written := c.ahead[0], c.done
		c.done = 0
		// An error of a batch does not say of which of its rows it is.
		bad := written + sort.Search(b.Rows()-written, func(i int) bool {
			return pgerr.CodeOf(w.attempt(source, b.Slice(written, written+i+1))) == e.Code
		})
		if bad < b.Rows() {
			return c.Context(err, at+int64(bad))
		}
		at += int64(b.Rows())
	}
	return err
}

// attempt returns the error of what a COPY does with rows before it writes them.
func (w *ModifyTable) attempt(source plan.Node, in *batch.Batch) error {
	w.r.Stream(bind.CopyBuffer, &someRows{rows: in})
	rows, err := w.r.start(copied(source), w.src, w.reads)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		b, err := rows.Next(w.r.x.Ctx)
		if err == io.EOF {
			return nil
		}
		if err == nil && b.Rows() > 0 {
			_, err = w.rows.CheckRows(w.r.x.Ctx, b)
		}
		if err != nil {
			return err
		}
	}
}

// someRows reads one batch.
type someRows struct{ rows *batch.Batch }

func (s *someRows) Next(context.Context) (*batch.Batch, error) {
	if s.rows == nil {
		return nil, io.EOF
	}
	b := s.rows
	s.rows = nil
	return b, nil
}

func (s *someRows) Close() error { return nil }
