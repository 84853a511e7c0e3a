package coord

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// cursor is a DECLAREd query. Its rows so far are kept, so that it can scroll
// back; the rest stays in the running query.
type cursor struct {
	name   string
	no     int // of the session's cursors, as they were declared
	hold   bool
	scroll int8 // 1 SCROLL, -1 NO SCROLL, 0 not said
	cols   []plan.Column
	res    *result
	ctx    context.Context
	cancel context.CancelCauseFunc
	pool   *mem.Pool
	// admission is held while the query runs, not while the client thinks.
	admission query.Admission
	rows      *cursorRows
	ended     bool
	pos       int64 // 0 before the first row, n on row n, rows.read+1 after the last
	text      string
	at        time.Time
}

func (s *Session) declareCursor(ctx context.Context, st *parse.Statement, n *ast.DeclareCursorStmt, params []types.Type) (*handler, error) {
	inner := *st
	q, ok := n.Query.(ast.Stmt)
	if !ok {
		return nil, pgerr.Unsupported("DECLARE CURSOR takes a SELECT")
	}
	inner.Node = q
	h, err := s.handle(ctx, &inner, params)
	if err != nil {
		return nil, err
	}
	return &handler{params: h.params, open: func(ctx context.Context, x *execution) (*result, error) {
		hold := n.Options&ast.CURSOR_OPT_HOLD != 0
		if !s.tx.explicit && !hold {
			return nil, pgerr.New(pgerr.NoActiveSQLTransaction, "DECLARE CURSOR can only be used in transaction blocks")
		}
		if s.cursors[n.PortalName] != nil {
			return nil, pgerr.New(pgerr.DuplicateCursor, "cursor %q already exists", n.PortalName)
		}
		if n.Options&ast.CURSOR_OPT_SCROLL != 0 && n.Options&ast.CURSOR_OPT_NO_SCROLL != 0 {
			return nil, pgerr.New(pgerr.InvalidCursorDefinition, "cannot specify both SCROLL and NO SCROLL")
		}
		s.declared++
		c := &cursor{name: n.PortalName, no: s.declared, hold: hold, text: st.Text, at: now()}
		if n.Options&ast.CURSOR_OPT_SCROLL != 0 {
			c.scroll = 1
		} else if n.Options&ast.CURSOR_OPT_NO_SCROLL != 0 {
			c.scroll = -1
		}
		// The query outlives the DECLARE: its own context and memory pool.
		c.ctx, c.cancel = context.WithCancelCause(context.Background())
		cx := x.Fork(s.context().With(x.Context.Params, h.params), "cursor "+n.PortalName, func(err error) { c.cancel(err) })
		c.pool, c.admission = cx.Pool, cx.Admission
		c.rows = newCursorRows(c.pool, s.engine.cfg.Temp)
		run := &execution{Execution: cx, s: s, stmt: &inner, ctx: c.ctx, mark: s.tx.mark()}
		s.queued.Store(&c.admission)
		// Till it runs, a cancel of the DECLARE is the query's.
		stop := context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })
		res, err := h.open(c.ctx, run)
		stop()
		if err != nil {
			err = query.Cause(c.ctx, err)
			c.close()
			return nil, err
		}
		c.admission.Rest()
		c.res, c.cols = res, res.cols
		if c.cols == nil {
			c.cols = h.cols
		}
		c.rows.cols = c.cols
		s.cursors[n.PortalName] = c
		return done("DECLARE CURSOR"), nil
	}}, nil
}

// fill reads until row number want (from 1) is there or the query ends.
func (c *cursor) fill(want int64) error {
	c.admission.Resume()
	defer c.admission.Rest()
	for !c.ended && c.rows.read < want {
		b, err := c.res.next(c.ctx)
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

// passed are the rows that a FETCH or MOVE passes: numbers from … to, the first
// row's being 1, or back from to to from.
type passed struct {
	from, to int64
	reverse  bool
}

func (p passed) count() int64 { return max(p.to-max(p.from, 1)+1, 0) }

// next gives rows and takes them off p, io.EOF at the end.
func (c *cursor) next(p *passed) (*batch.Batch, error) {
	from, to := p.from, p.to
	if p.reverse {
		if to < from {
			return nil, io.EOF
		}
		from = to // one at a time: a batch has its rows in their order
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

// close stops the query and frees its memory.
func (c *cursor) close() {
	if c.res != nil && c.res.close != nil {
		_ = c.res.close()
	}
	c.cancel(nil)
	c.rows.close()
	c.admission.Close()
	c.pool.Close()
}

// closeCursors closes the transaction's cursors, or all. Held ones are read to
// their end first when their transaction commits (see holdCursors).
func (s *Session) closeCursors(all bool) {
	s.closeWhere(func(c *cursor) bool { return all || !c.hold })
}

func (s *Session) closeWhere(gone func(*cursor) bool) {
	for name, c := range s.cursors {
		if gone(c) {
			c.close()
			delete(s.cursors, name)
		}
	}
}

// holdCursors materialises WITH HOLD cursors before their transaction ends.
func (s *Session) holdCursors() error {
	for _, c := range s.cursors {
		if c.hold && !c.ended {
			if err := c.fill(1 << 62); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Session) fetch(n *ast.FetchStmt) (*handler, error) {
	c := s.cursors[n.PortalName]
	if c == nil {
		return nil, pgerr.New(pgerr.InvalidCursorName, "cursor %q does not exist", n.PortalName)
	}
	verb := "FETCH"
	var cols []plan.Column
	if n.IsMove {
		verb = "MOVE"
	} else {
		cols = c.cols
	}
	return &handler{cols: cols, open: func(ctx context.Context, x *execution) (*result, error) {
		c := s.cursors[n.PortalName]
		if c == nil {
			return nil, pgerr.New(pgerr.InvalidCursorName, "cursor %q does not exist", n.PortalName)
		}
		// A cancel of the FETCH must reach the cursor's query.
		stop := context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })
		defer stop()
		out, err := c.move(n)
		if err != nil {
			return nil, query.Cause(c.ctx, err)
		}
		count := out.count()
		res := &result{cols: cols, tag: func() string { return fmt.Sprintf("%s %d", verb, count) }}
		if !n.IsMove {
			res.next = func(context.Context) (*batch.Batch, error) {
				b, err := c.next(&out)
				if err != nil && err != io.EOF {
					err = query.Cause(c.ctx, err)
				}
				return b, err
			}
		}
		return res, nil
	}}, nil
}

// move carries a FETCH or MOVE out and gives the rows it passes.
func (c *cursor) move(n *ast.FetchStmt) (passed, error) {
	many, none := n.HowMany, passed{}
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
		return passed{from: c.pos, to: c.pos}, nil
	case many > 0:
		to := int64(1) << 62
		if many != ast.FETCH_ALL {
			to = c.pos + many
		}
		if c.scroll < 0 {
			c.rows.drop(c.pos)
		}
		if err := c.fill(to); err != nil {
			return none, err
		}
		from := c.pos + 1
		if to > c.rows.read {
			c.pos = c.rows.read + 1
			return passed{from: from, to: c.rows.read}, nil
		}
		c.pos = to
		return passed{from: from, to: to}, nil
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
		return passed{from: 1, to: last, reverse: true}, nil
	}
	c.pos = first
	if many == -ast.FETCH_ALL {
		c.pos = 0
	}
	return passed{from: first, to: last, reverse: true}, nil
}

func (c *cursor) backwardOK() error {
	if c.scroll < 0 {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cursor can only scan forward").WithHint("Declare it with SCROLL option to enable backward scan.")
	}
	return nil
}

func (c *cursor) absolute(n int64) (passed, error) {
	if n < 0 || c.pos > 0 && n <= c.pos {
		if err := c.backwardOK(); err != nil {
			return passed{}, err
		}
	}
	if n < 0 {
		if err := c.fill(1 << 62); err != nil {
			return passed{}, err
		}
		n = c.rows.read + 1 + n
	}
	if n <= 0 {
		c.pos = 0
		return passed{}, nil
	}
	if err := c.fill(n); err != nil {
		return passed{}, err
	}
	if n > c.rows.read {
		c.pos = c.rows.read + 1
		return passed{}, nil
	}
	c.pos = n
	return passed{from: n, to: n}, nil
}

func (s *Session) closeCursor(n *ast.ClosePortalStmt) (*handler, error) {
	return simple(func(ctx context.Context, x *execution) (string, error) {
		if n.PortalName == "" {
			s.closeCursors(true)
			return "CLOSE CURSOR ALL", nil
		}
		c := s.cursors[n.PortalName]
		if c == nil {
			return "", pgerr.New(pgerr.InvalidCursorName, "cursor %q does not exist", n.PortalName)
		}
		c.close()
		delete(s.cursors, n.PortalName)
		return "CLOSE CURSOR", nil
	}), nil
}
