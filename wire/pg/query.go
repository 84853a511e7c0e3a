package pg

import (
	"errors"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/wire/codec"
	"github.com/tributarydb/tributary/wire/session"
)

// past is a deadline that is over.
var past = time.Unix(1, 0)

// query runs a simple query: its statements in one implicit transaction, which
// ends before the last CommandComplete.
func (c *conn) query(sql string) error {
	c.sess.Forget("")
	if p := c.portals[""]; p != nil {
		p.close()
		delete(c.portals, "")
	}
	if err := c.decode(&sql); err != nil {
		return c.failed(err)
	}
	if err := c.script(sql); err != nil {
		return c.failed(err)
	}
	return c.ready()
}

// failed ends a cycle with an error.
func (c *conn) failed(err error) error {
	if errors.Is(err, errGone) {
		return err
	}
	e := pgerr.From(err)
	if e.Severity == pgerr.SevFatal {
		return e
	}
	c.sendError(e)
	if serr := c.sess.Sync(c.ctx, false); serr != nil {
		c.srv.log.Warn("rolling back", "error", serr, "pid", c.pid)
	}
	return c.ready()
}

func (c *conn) script(sql string) error {
	stmts, err := c.sess.Script(c.ctx, sql)
	if err != nil {
		return err
	}
	for i, p := range stmts {
		if err := c.statement(p, i == len(stmts)-1); err != nil {
			return err
		}
	}
	if len(stmts) == 0 {
		c.send(&pgproto3.EmptyQueryResponse{})
	}
	return c.sess.Sync(c.ctx, true)
}

// statement runs one statement of a simple query.
func (c *conn) statement(p *parse.Statement, last bool) error {
	st, err := c.sess.Prepare(c.ctx, p, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	if n := len(st.Params()); n > 0 {
		return pgerr.New(pgerr.UndefinedParameter, "there is no parameter $1")
	}
	po, err := st.Bind(c.ctx, nil)
	if err != nil {
		return err
	}
	defer po.Close()
	first, err := po.Next(c.ctx)
	if err != nil && err != io.EOF {
		return err
	}
	if cp := po.Copy(); cp != nil {
		if err := c.copy(cp); err != nil {
			return err
		}
	} else if cols := po.Columns(); cols != nil {
		formats := make([]int16, len(cols))
		if err := c.sendDescription(cols, formats); err != nil {
			return err
		}
		rows := codec.NewRows(columnTypes(cols), formats, c.sess.Env(), c.sess.Charset(), c.room)
		for err == nil {
			if err := c.rows(rows, first, 0, first.Rows()); err != nil {
				return err
			}
			first, err = po.Next(c.ctx)
		}
		if err != io.EOF {
			return err
		}
	}
	if last {
		// Acknowledge only what is committed.
		if err := c.sess.Sync(c.ctx, true); err != nil {
			return err
		}
	}
	c.send(&pgproto3.CommandComplete{CommandTag: []byte(po.Tag())})
	return c.flushFull()
}

// rows writes part of a batch, flushing as the buffer fills.
func (c *conn) rows(r *codec.Rows, b *batch.Batch, from, to int) error {
	for from < to {
		// Rows may lie in a mapped file.
		err := batch.Guard(func() (err error) {
			c.out, from, err = r.Append(c.out, b, from, to, flushAt)
			return err
		})
		if err != nil {
			return err
		}
		if err := c.flushFull(); err != nil {
			return err
		}
	}
	return nil
}

// room charges a row that is about to be written, until it is sent.
func (c *conn) room(n int64) error {
	if n > maxRow {
		return pgerr.New(pgerr.ProgramLimitExceeded, "invalid memory alloc request size %d", n)
	}
	if c.in.account == nil {
		return nil
	}
	err := c.in.account.Grow(n)
	if err == nil {
		c.lent += n
	}
	return err
}

// maxRow is how long a row's message may be.
const maxRow = 1<<30 - 1

func columnTypes(cols []session.Column) []types.Type {
	out := make([]types.Type, len(cols))
	for i, c := range cols {
		out[i] = c.Type
	}
	return out
}

func rowDescription(cols []session.Column, formats []int16) *pgproto3.RowDescription {
	m := &pgproto3.RowDescription{Fields: make([]pgproto3.FieldDescription, len(cols))}
	for i, c := range cols {
		oid := c.Type.Described()
		if oid == types.UnknownOID {
			oid = types.TextOID
		}
		m.Fields[i] = pgproto3.FieldDescription{
			Name: []byte(c.Name), TableOID: uint32(c.Table), TableAttributeNumber: uint16(c.Num), DataTypeOID: uint32(oid),
			DataTypeSize: oid.Len(), TypeModifier: c.Type.Mod, Format: formats[i],
		}
	}
	return m
}

// copy moves the bytes of a COPY.
func (c *conn) copy(cp session.Copy) error {
	formats := make([]uint16, cp.Columns())
	overall := byte(0)
	if cp.Binary() {
		overall = 1
		for i := range formats {
			formats[i] = 1
		}
	}
	if !cp.In() {
		c.send(&pgproto3.CopyOutResponse{OverallFormat: overall, ColumnFormatCodes: formats})
		for {
			p, ends, err := cp.Read(c.ctx)
			if err == io.EOF {
				c.send(&pgproto3.CopyDone{})
				return nil
			}
			if err != nil {
				return err
			}
			// Clients expect a message a row.
			from := 0
			for _, end := range ends {
				c.send(&pgproto3.CopyData{Data: p[from:end]})
				from = end
				if err := c.flushFull(); err != nil {
					return err
				}
			}
		}
	}
	if !c.copiesIn() {
		err := pgerr.New(pgerr.FeatureNotSupported, "COPY FROM STDIN is not possible here").WithHint("COPY from a file, or use psql's \\copy.")
		_ = cp.Fail(err.Message)
		return err
	}
	c.send(&pgproto3.CopyInResponse{OverallFormat: overall, ColumnFormatCodes: formats})
	if err := c.flush(); err != nil {
		return err
	}
	for {
		msg, err := c.await(0, nil)
		var r *refused
		switch {
		case errors.As(err, &r):
			_ = cp.Fail(r.err.Message)
			return r.err
		case err != nil:
			_ = cp.Fail("connection lost")
			var e *pgerr.Error
			if errors.As(err, &e) {
				return e
			}
			if err := c.sess.Killed(); err != nil {
				return err
			}
			return errGone
		}
		switch m := msg.(type) {
		case *pgproto3.CopyData:
			if err := cp.Write(c.ctx, m.Data); err != nil {
				return err
			}
		case *pgproto3.CopyDone:
			return cp.Finish(c.ctx)
		case *pgproto3.CopyFail:
			return cp.Fail(m.Message)
		case *pgproto3.Flush, *pgproto3.Sync:
			// Clients of the extended protocol send them in advance; the copy goes on.
		case *pgproto3.Terminate:
			_ = cp.Fail("connection closed")
			return errGone
		default:
			_ = cp.Fail("unexpected message")
			return fatalProtocol("unexpected message type during COPY from stdin")
		}
	}
}
