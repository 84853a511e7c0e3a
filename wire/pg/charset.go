package pg

import (
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/wire/session"
)

// charset is the client's encoding, nil for UTF8.
func (c *conn) charset() *charset.Charset {
	if c.sess == nil {
		return nil
	}
	return c.sess.Charset()
}

// decode converts texts of a message in place; they are UTF8 then.
func (c *conn) decode(texts ...*string) error {
	from := c.charset()
	for _, s := range texts {
		if from != nil {
			b, err := from.Decode([]byte(*s))
			if err != nil {
				return err
			}
			*s = string(b)
		}
		if err := pgerr.CheckUTF8(*s); err != nil {
			return err
		}
	}
	return nil
}

// encode converts a text for the client.
func (c *conn) encode(s string) ([]byte, error) { return c.charset().Encode(nil, s) }

// encoded converts the texts of an error. One that cannot be written for the client is replaced with
// what says so, as in PostgreSQL.
func (c *conn) encoded(m *pgproto3.ErrorResponse) *pgproto3.ErrorResponse {
	if !utf8.ValidString(m.Where) { // it shows a field of COPY as it came
		valid := *m
		valid.Where = strings.ToValidUTF8(m.Where, "?")
		m = &valid
	}
	if c.charset() == nil {
		return m
	}
	out := *m
	if _, err := c.encode(out.Where); err != nil {
		out.Where = strings.ToValidUTF8(strings.Map(func(r rune) rune {
			if r >= utf8.RuneSelf {
				return '?'
			}
			return r
		}, out.Where), "?") // shows bytes as they came
	}
	for _, s := range []*string{&out.Message, &out.Detail, &out.Hint, &out.Where, &out.SchemaName, &out.TableName, &out.ColumnName, &out.DataTypeName, &out.ConstraintName} {
		b, err := c.encode(*s)
		if err != nil {
			e := *pgerr.From(err)
			e.Severity = pgerr.Severity(m.Severity)
			return response(&e)
		}
		*s = string(b)
	}
	return &out
}

// sendDescription queues the description of rows.
func (c *conn) sendDescription(cols []session.Column, formats []int16) error {
	m := rowDescription(cols, formats)
	if c.charset() != nil {
		for i := range m.Fields {
			b, err := c.encode(string(m.Fields[i].Name))
			if err != nil {
				return err
			}
			m.Fields[i].Name = b
		}
	}
	c.send(m)
	return nil
}
