package pg

import (
	"io"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/wire/codec"
	"github.com/tributarydb/tributary/wire/session"
)

// portal is a bound statement of the protocol.
type portal struct {
	po      session.Portal // nil for the empty query
	formats []int16        // as the client sent: none, one, or one a column
	rows    *codec.Rows
	rest    *batch.Batch // rows that a limit left
	from    int
	ended   bool
	tag     string
}

// maxPortals bounds the portals of a connection.
const maxPortals = 1 << 16

func (p *portal) close() {
	if p.po != nil {
		_ = p.po.Close()
	}
}

func (c *conn) parse(m *pgproto3.Parse) error {
	if m.Name == "" {
		c.sess.Forget("")
	}
	if err := c.decode(&m.Name, &m.Query); err != nil {
		return err
	}
	texts, err := c.sess.Script(c.ctx, m.Query)
	if err != nil {
		return err
	}
	var text *parse.Statement // nil for the empty query
	if len(texts) > 1 {
		return pgerr.New(pgerr.SyntaxError, "cannot insert multiple commands into a prepared statement")
	} else if len(texts) == 1 {
		text = texts[0]
	}
	oids := make([]types.OID, len(m.ParameterOIDs))
	for i, o := range m.ParameterOIDs {
		oids[i] = types.OID(o)
	}
	st, err := c.sess.Prepare(c.ctx, text, oids)
	if err != nil {
		return err
	}
	if err := c.sess.Keep(m.Name, st); err != nil {
		return err
	}
	c.send(&pgproto3.ParseComplete{})
	return nil
}

func (c *conn) findPortal(name string) (*portal, error) {
	if p := c.portals[name]; p != nil {
		return p, nil
	}
	return nil, pgerr.New(pgerr.InvalidCursorName, "portal %q does not exist", name)
}

func (c *conn) bind(m *pgproto3.Bind) error {
	if err := c.decode(&m.PreparedStatement, &m.DestinationPortal); err != nil {
		return err
	}
	s, err := c.sess.Kept(m.PreparedStatement)
	if err != nil {
		return err
	}
	if old := c.portals[m.DestinationPortal]; old != nil {
		if m.DestinationPortal != "" {
			return pgerr.New(pgerr.DuplicateCursor, "cursor %q already exists", m.DestinationPortal)
		}
		old.close()
		delete(c.portals, "")
	}
	p := &portal{formats: append([]int16(nil), m.ResultFormatCodes...)}
	if !s.Empty() {
		// The values are copied out of a long message, which is charged once.
		if n := valueBytes(m.Parameters); n > growStep {
			if err := c.in.charge(n); err != nil {
				return err
			}
		}
		vals, err := codec.Params(m.PreparedStatement, s.Params(), m.ParameterFormatCodes, m.Parameters, c.sess.Env(), c.sess.Charset())
		if err != nil {
			return err
		}
		if p.po, err = s.Bind(c.ctx, vals); err != nil {
			return err
		}
		if cols := p.po.Columns(); cols != nil {
			if _, err := codec.Formats(p.formats, len(cols)); err != nil {
				p.close()
				return err
			}
		}
	}
	if len(c.portals) >= maxPortals {
		p.close()
		return pgerr.New(pgerr.ProgramLimitExceeded, "a connection may hold %d portals", maxPortals)
	}
	c.portals[m.DestinationPortal] = p
	c.send(&pgproto3.BindComplete{})
	return nil
}

func (c *conn) describe(m *pgproto3.Describe) error {
	if err := c.decode(&m.Name); err != nil {
		return err
	}
	if m.ObjectType == 'S' {
		s, err := c.sess.Kept(m.Name)
		if err != nil {
			return err
		}
		if s.Columns() != nil && c.sess.TxStatus() == 'E' {
			return errAborted()
		}
		d := &pgproto3.ParameterDescription{}
		for _, t := range s.Params() {
			d.ParameterOIDs = append(d.ParameterOIDs, uint32(t.OID))
		}
		c.send(d)
		return c.describeColumns(s.Columns(), nil)
	}
	if m.ObjectType != 'P' {
		return pgerr.New(pgerr.ProtocolViolation, "invalid DESCRIBE message subtype %d", m.ObjectType)
	}
	p, err := c.findPortal(m.Name)
	if err != nil {
		if cols, ok := c.sess.Cursor(m.Name); ok {
			return c.describeColumns(cols, nil)
		}
		return err
	}
	if p.po == nil {
		return c.describeColumns(nil, nil)
	}
	return c.describeColumns(p.po.Columns(), p.formats)
}

func (c *conn) describeColumns(cols []session.Column, formats []int16) error {
	if cols == nil {
		c.send(&pgproto3.NoData{})
		return nil
	}
	if c.sess.TxStatus() == 'E' {
		return errAborted()
	}
	f, err := codec.Formats(formats, len(cols))
	if err != nil {
		return err
	}
	return c.sendDescription(cols, f)
}

// execute runs a portal to its end or to the row limit.
func (c *conn) execute(m *pgproto3.Execute) error {
	if err := c.decode(&m.Portal); err != nil {
		return err
	}
	p, err := c.findPortal(m.Portal)
	if err != nil {
		return err
	}
	if p.po == nil {
		c.send(&pgproto3.EmptyQueryResponse{})
		return nil
	}
	if p.ended {
		// A portal that has run to its end returns no more rows.
		if p.po.Columns() == nil {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "portal %q cannot be run", m.Portal)
		}
		c.send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 0")})
		return nil
	}
	before, limit := c.sess.Transactions(), int(int32(m.MaxRows))
	if limit <= 0 {
		limit = 1 << 62
	}
	for {
		if p.rest == nil {
			b, err := p.po.Next(c.ctx)
			if err == nil || err == io.EOF {
				if cp := p.po.Copy(); cp != nil && !p.ended {
					if err := c.copy(cp); err != nil {
						return err
					}
					err = io.EOF
				}
			}
			if err == io.EOF {
				p.ended, p.tag = true, p.po.Tag()
				c.send(&pgproto3.CommandComplete{CommandTag: []byte(p.tag)})
				if c.sess.Transactions() != before {
					c.closePortals() // a COMMIT or ROLLBACK within a pipeline
				}
				return nil
			}
			if err != nil {
				return err
			}
			p.rest, p.from = b, 0
		} else if c.sess.TxStatus() == 'E' {
			// What a limit left is refused as the session refuses what follows it.
			return errAborted()
		}
		cols := p.po.Columns()
		if p.rows == nil && cols != nil {
			f, err := codec.Formats(p.formats, len(cols))
			if err != nil {
				return err
			}
			p.rows = codec.NewRows(columnTypes(cols), f, c.sess.Env(), c.sess.Charset(), c.room)
		}
		n := min(limit, p.rest.Rows()-p.from)
		if p.rows != nil {
			if err := c.rows(p.rows, p.rest, p.from, p.from+n); err != nil {
				return err
			}
		}
		p.from += n
		limit -= n
		if p.from == p.rest.Rows() {
			p.rest = nil
		}
		if limit == 0 {
			if err := p.po.Suspend(); err != nil {
				return err
			}
			c.send(&pgproto3.PortalSuspended{})
			return nil
		}
	}
}

func (c *conn) closeNamed(m *pgproto3.Close) error {
	if err := c.decode(&m.Name); err != nil {
		return err
	}
	switch m.ObjectType {
	case 'S':
		c.sess.Forget(m.Name)
	case 'P':
		if p := c.portals[m.Name]; p != nil {
			p.close()
			delete(c.portals, m.Name)
		}
	default:
		return pgerr.New(pgerr.ProtocolViolation, "invalid CLOSE message subtype %d", m.ObjectType)
	}
	c.send(&pgproto3.CloseComplete{})
	return nil
}

func errAborted() error {
	return pgerr.New(pgerr.InFailedSQLTransaction, "current transaction is aborted, commands ignored until end of transaction block")
}

func valueBytes(values [][]byte) (n int64) {
	for _, v := range values {
		n += int64(len(v))
	}
	return n
}
