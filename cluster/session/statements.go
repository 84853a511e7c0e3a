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

// text is the statement's, without a secret.
func (s prepared) text() string {
	if s.stmt == nil {
		return ""
	}
	return s.stmt.Public()
}

// named is a prepared statement with a name. PREPARE and the protocol's Parse
// share the names.
type named struct {
	prepared
	sql   bool // by PREPARE
	at    time.Time
	bytes int64 // charged
}

// maxNamed bounds the prepared statements of a session.
const maxNamed = 1 << 16

// statements are a session's prepared statements, by name.
type statements struct {
	byName  map[string]*named
	unnamed *named // the protocol's; nil for none
	kept    *kept
}

// keep gives a statement a name: 42P05 if it is taken. The one without a name takes the place of
// the last one.
func (s *statements) keep(name string, of prepared, sql bool) error {
	if err := s.Free(name); err != nil {
		return err
	}
	if len(s.byName) >= maxNamed {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a session may hold %d prepared statements", maxNamed)
	}
	if name == "" {
		s.Forget(name)
	}
	n := &named{prepared: of, sql: sql, at: time.Now(), bytes: of.bytesOf(name)}
	if err := s.kept.grow(n.bytes); err != nil {
		return err
	}
	if name == "" {
		s.unnamed = n
	} else {
		s.byName[name] = n
	}
	return nil
}

// find returns the statement of a name, nil for none.
func (s *statements) find(name string) *named {
	if name == "" {
		return s.unnamed
	}
	return s.byName[name]
}

// Free fails if a name is taken.
func (s *statements) Free(name string) error {
	if s.byName[name] != nil {
		return pgerr.New(pgerr.DuplicatePreparedStatement, "prepared statement %q already exists", name)
	}
	return nil
}

// Forget frees a name, if it is one.
func (s *statements) Forget(name string) {
	n := s.find(name)
	if n == nil {
		return
	}
	s.kept.shrink(n.bytes)
	if name == "" {
		s.unnamed = nil
	} else {
		delete(s.byName, name)
	}
}

// ForgetAll frees all names.
func (s *statements) ForgetAll() {
	for name := range s.byName {
		s.Forget(name)
	}
}

// rows lists them by name.
func (s *statements) rows() (out []sysview.PreparedRow) {
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		p := s.byName[name]
		r := sysview.PreparedRow{Name: name, Statement: p.text(), At: p.at, FromSQL: p.sql}
		for _, t := range p.h.Params {
			r.Params = append(r.Params, t.OID)
		}
		out = append(out, r)
	}
	return out
}
