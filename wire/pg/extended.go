package pg

import (
	"io"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/wire/codec"
	"github.com/tributarydb/tributary/wire/session"
)

// statement is a prepared statement of the protocol; st is nil for the empty
// query.
type statement struct {
	st session.Statement
}

// portal is a bound statement of the protocol.
type portal struct {
	po      session.Portal // nil for the empty query
	formats []int16        // as the client asked: none, one, or one a column
	rows    *codec.Rows
	rest    *batch.Batch // rows that a limit left
	from    int
	ended   bool
	tag     string
}

// maxNamed bounds the statements and the portals of a connection.
const maxNamed = 1 << 16

func (p *portal) close() {
	if p.po != nil {
		_ = p.po.Close()
	}
}

func (c *conn) parse(m *pgproto3.Parse) error {
	if m.Name != "" && c.stmts[m.Name] != nil {
		return pgerr.New(pgerr.DuplicatePreparedStatement, "prepared statement %q already exists", m.Name)
	}
	if m.Name == "" {
		c.drop("")
	}
	if err := types.CheckUTF8(m.Query); err != nil {
		return err
	}
	pieces, err := c.sess.Script(m.Query)
	if err != nil {
		return err
	}
	full := slices.DeleteFunc(pieces, session.Piece.Empty)
	if len(full) > 1 {
		return pgerr.New(pgerr.SyntaxError, "cannot insert multiple commands into a prepared statement")
	}
	s := &statement{}
	if len(full) == 1 {
		oids := make([]types.OID, len(m.ParameterOIDs))
		for i, o := range m.ParameterOIDs {
			oids[i] = types.OID(o)
		}
		if s.st, err = c.sess.Prepare(c.ctx, full[0], oids); err != nil {
			return err
		}
	}
	if len(c.stmts) >= maxNamed {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a connection may hold %d prepared statements", maxNamed)
	}
	c.stmts[m.Name] = s
	c.send(&pgproto3.ParseComplete{})
	return nil
}

func (c *conn) drop(name string) {
	if s := c.stmts[name]; s != nil {
		if s.st != nil {
			_ = s.st.Close()
		}
		delete(c.stmts, name)
	}
}

func (c *conn) find(name string) (*statement, error) {
	s := c.stmts[name]
	if s != nil {
		return s, nil
	}
	if name == "" {
		return nil, pgerr.New(pgerr.InvalidSQLStatementName, "unnamed prepared statement does not exist")
	}
	return nil, pgerr.New(pgerr.InvalidSQLStatementName, "prepared statement %q does not exist", name)
}

func (c *conn) findPortal(name string) (*portal, error) {
	if p := c.portals[name]; p != nil {
		return p, nil
	}
	return nil, pgerr.New(pgerr.InvalidCursorName, "portal %q does not exist", name)
}

func (c *conn) bind(m *pgproto3.Bind) error {
	s, err := c.find(m.PreparedStatement)
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
	if s.st != nil {
		vals, err := codec.Params(s.st.Params(), m.ParameterFormatCodes, m.Parameters, c.sess.Env())
		if err != nil {
			return err
		}
		if p.po, err = s.st.Bind(c.ctx, vals); err != nil {
			return err
		}
		if cols := p.po.Columns(); cols != nil {
			if _, err := codec.Formats(p.formats, len(cols)); err != nil {
				p.close()
				return err
			}
		}
	}
	if len(c.portals) >= maxNamed {
		p.close()
		return pgerr.New(pgerr.ProgramLimitExceeded, "a connection may hold %d portals", maxNamed)
	}
	c.portals[m.DestinationPortal] = p
	c.send(&pgproto3.BindComplete{})
	return nil
}

func (c *conn) describe(m *pgproto3.Describe) error {
	if m.ObjectType == 'S' {
		s, err := c.find(m.Name)
		if err != nil {
			return err
		}
		d := &pgproto3.ParameterDescription{}
		var cols []session.Column
		if s.st != nil {
			for _, t := range s.st.Params() {
				d.ParameterOIDs = append(d.ParameterOIDs, uint32(t.OID))
			}
			cols = s.st.Columns()
		}
		c.send(d)
		return c.describeColumns(cols, nil)
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
	f, err := codec.Formats(formats, len(cols))
	if err != nil {
		return err
	}
	c.send(rowDescription(cols, f))
	return nil
}

// execute runs a portal to its end or to the row limit.
func (c *conn) execute(m *pgproto3.Execute) error {
	p, err := c.findPortal(m.Portal)
	if err != nil {
		return err
	}
	if p.po == nil {
		c.send(&pgproto3.EmptyQueryResponse{})
		return nil
	}
	if p.ended {
		// A portal that has run to its end gives no rows again.
		if p.po.Columns() == nil {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "portal %q cannot be run", m.Portal)
		}
		c.send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 0")})
		return nil
	}
	limit := int(int32(m.MaxRows))
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
				return nil
			}
			if err != nil {
				return err
			}
			p.rest, p.from = b, 0
		}
		cols := p.po.Columns()
		if p.rows == nil && cols != nil {
			f, err := codec.Formats(p.formats, len(cols))
			if err != nil {
				return err
			}
			p.rows = codec.NewRows(columnTypes(cols), f, c.sess.Env())
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
			p.po.Suspend()
			c.send(&pgproto3.PortalSuspended{})
			return nil
		}
	}
}

func (c *conn) closeNamed(m *pgproto3.Close) error {
	switch m.ObjectType {
	case 'S':
		c.drop(m.Name)
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
