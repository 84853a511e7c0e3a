package session

import (
	"maps"
	"slices"
	"time"

	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// prepared is a text and what it does.
type prepared struct {
	stmt *parse.Statement // nil for the empty query
	h    *Command
}

// text is the statement's.
func (s prepared) text() string {
	if s.stmt == nil {
		return ""
	}
	return s.stmt.Text
}

// named is a prepared statement with a name. PREPARE and the protocol's Parse
// share the names.
type named struct {
	prepared
	sql bool // by PREPARE
	at  time.Time
}

// maxNamed bounds the prepared statements of a session.
const maxNamed = 1 << 16

// statements are a session's prepared statements, by name.
type statements map[string]*named

// keep gives a statement a name: 42P05 if it is taken.
func (s statements) keep(name string, of prepared, sql bool) error {
	if err := s.Free(name); err != nil {
		return err
	}
	if len(s) >= maxNamed {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a session may hold %d prepared statements", maxNamed)
	}
	s[name] = &named{prepared: of, sql: sql, at: time.Now()}
	return nil
}

// Free fails if a name is taken.
func (s statements) Free(name string) error {
	if s[name] != nil {
		return pgerr.New(pgerr.DuplicatePreparedStatement, "prepared statement %q already exists", name)
	}
	return nil
}

// Forget frees a name, if it is one.
func (s statements) Forget(name string) { delete(s, name) }

// ForgetAll frees all names.
func (s statements) ForgetAll() { clear(s) }

// rows lists them by name.
func (s statements) rows() (out []sysview.PreparedRow) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		p := s[name]
		r := sysview.PreparedRow{Name: name, Statement: p.text(), At: p.at, FromSQL: p.sql}
		for _, t := range p.h.Params {
			r.Params = append(r.Params, t.OID)
		}
		out = append(out, r)
	}
	return out
}
