package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/sql/types"
)

// Class is a kind of object that privileges are granted on, by the letter of
// pg_default_acl.defaclobjtype where that has one.
type Class byte

// The classes.
const (
	ClassTable    Class = 'r' // tables, views, materialised views
	ClassColumn   Class = 'c'
	ClassSequence Class = 'S'
	ClassSchema   Class = 'n'
	ClassType     Class = 'T'
	ClassDatabase Class = 'd'
	ClassFunction Class = 'f'
	ClassModel    Class = 'M'
)

// Privileges returns the letters of aclitem that a class has, in the order in which they are
// written.
func (c Class) Privileges() string {
	switch c {
	case ClassTable:
		return "arwdDxt"
	case ClassColumn:
		return "arwx"
	case ClassSequence:
		return "rwU"
	case ClassSchema:
		return "UC"
	case ClassDatabase:
		return "CTc"
	case ClassFunction:
		return "X"
	}
	return "U"
}

// public returns what PUBLIC has before anything is granted.
func (c Class) public() string {
	switch c {
	case ClassDatabase:
		return "Tc"
	case ClassType:
		return "U"
	case ClassFunction:
		return "X"
	}
	return ""
}

// defaultACL returns the grants of an object of a class before anything is granted.
func defaultACL(c Class, owner types.OID) []Grant {
	var out []Grant
	if p := c.public(); p != "" {
		out = append(out, Grant{Grantor: owner, Privs: p})
	}
	return append(out, Grant{Role: owner, Grantor: owner, Privs: c.Privileges()})
}

// Object is an object that privileges are checked on.
type Object struct {
	Class Class
	Owner types.OID
	ACL   []Grant
	// Bare: there are no default privileges, not even the owner's. That is so for a column, since its table's
	// owner has them by the table, and for the defaults that a schema adds.
	Bare bool
}

// Grants are the object's grants, with those that it has by default. In a list of grants without
// the owner the owner has all privileges: revoked ones are kept as a grant without letters.
func (o Object) Grants() []Grant {
	switch {
	case o.Bare:
		return o.ACL
	case len(o.ACL) == 0:
		return defaultACL(o.Class, o.Owner)
	}
	if slices.ContainsFunc(o.ACL, func(g Grant) bool { return g.Role == o.Owner }) {
		return o.ACL
	}
	return append([]Grant{{Role: o.Owner, Grantor: o.Owner, Privs: o.Class.Privileges()}}, o.ACL...)
}

// Object returns the relation as an object of privileges.
func (r *Relation) Object() Object {
	c := ClassTable
	if r.Kind == KindSequence {
		c = ClassSequence
	}
	return Object{Class: c, Owner: r.Owner, ACL: r.ACL}
}

// Object returns the schema as an object of privileges.
func (s *Schema) Object() Object { return Object{Class: ClassSchema, Owner: s.Owner, ACL: s.ACL} }

// Object returns the model as an object of privileges.
func (m *Model) Object() Object { return Object{Class: ClassModel, Owner: m.Owner, ACL: m.ACL} }

// Object returns a column of r as an object of privileges.
func (c *Column) Object(r *Relation) Object {
	return Object{Class: ClassColumn, Owner: r.Owner, ACL: c.ACL, Bare: true}
}

// holds reports whether a list of letters has letter, with option with its grant option.
func holds(privs string, letter byte, option bool) bool {
	i := strings.IndexByte(privs, letter)
	return i >= 0 && (!option || i+1 < len(privs) && privs[i+1] == '*')
}

// Super reports whether a role is a superuser.
func (s *State) Super(role types.OID) bool {
	r := s.roles[role]
	return r != nil && r.Super
}

// MemberOf reports whether a role may SET ROLE to another: it is that role, a
// superuser, or a member, directly or not.
func (s *State) MemberOf(role, of types.OID) bool {
	return role == of || s.Super(role) || s.reaches(role, of, false)
}

// Inherits reports whether a role has another's privileges without SET ROLE: as MemberOf, but a
// NOINHERIT role inherits nothing.
func (s *State) Inherits(role, of types.OID) bool {
	return role == of || s.Super(role) || s.reaches(role, of, true)
}

func (s *State) reaches(role, of types.OID, inherit bool) bool {
	seen := []types.OID{role}
	for i := 0; i < len(seen); i++ {
		r := s.roles[seen[i]]
		if r == nil || inherit && !r.Inherit {
			continue
		}
		for _, m := range r.MemberOf {
			if m.Role == of {
				return true
			}
			if !slices.Contains(seen, m.Role) {
				seen = append(seen, m.Role)
			}
		}
	}
	return false
}

// May reports whether a role has a privilege, a letter of aclitem, on an object.
func (s *State) May(role types.OID, o Object, letter byte) bool {
	return s.Super(role) || s.granted(role, o, letter, false)
}

// MayGrant reports whether a role may grant a privilege on an object: the owner may, and roles that
// have it with the grant option.
func (s *State) MayGrant(role types.OID, o Object, letter byte) bool {
	return s.Inherits(role, o.Owner) || s.granted(role, o, letter, true)
}

func (s *State) granted(role types.OID, o Object, letter byte, option bool) bool {
	for _, g := range o.Grants() {
		if holds(g.Privs, letter, option) && (g.Role == 0 || s.Inherits(role, g.Role)) {
			return true
		}
	}
	return !option && grantedAll(s, role, o.Class, letter)
}

// grantedAll reports whether a role has a privilege on all objects of a class, by pg_read_all_data or
// pg_write_all_data.
func grantedAll(s *State, role types.OID, class Class, letter byte) bool {
	read, write := false, false
	switch class {
	case ClassSchema:
		read, write = letter == 'U', letter == 'U'
	case ClassTable, ClassSequence:
		read, write = letter == 'r', class == ClassTable && strings.IndexByte("awd", letter) >= 0
	}
	return read && s.Inherits(role, ReadAllDataOID) || write && s.Inherits(role, WriteAllDataOID)
}

// MayAny reports whether a role has any privilege at all on an object.
func (s *State) MayAny(role types.OID, o Object) bool {
	return slices.ContainsFunc([]byte(o.Class.Privileges()), func(l byte) bool { return s.May(role, o, l) })
}

// MayColumn reports whether a role has a privilege on a column, by a grant on it or
// on the whole relation.
func (s *State) MayColumn(role types.OID, r *Relation, c *Column, letter byte) bool {
	return s.May(role, r.Object(), letter) || s.granted(role, c.Object(r), letter, false)
}

// MayAnyColumn reports whether a role has a privilege on some column of a relation.
func (s *State) MayAnyColumn(role types.OID, r *Relation, letter byte) bool {
	if s.May(role, r.Object(), letter) {
		return true
	}
	for i := range r.Columns {
		if c := &r.Columns[i]; !c.Dropped && s.granted(role, c.Object(r), letter, false) {
			return true
		}
	}
	return false
}

// Database is the one database of a cluster.
type Database struct {
	Owner types.OID
	ACL   []Grant
}

// Object returns the database as an object of privileges.
func (d Database) Object() Object { return Object{Class: ClassDatabase, Owner: d.Owner, ACL: d.ACL} }

// Object returns the type as an object of privileges.
func (e *EnumType) Object() Object { return Object{Class: ClassType, Owner: e.Owner, ACL: e.ACL} }

// DefaultKey identifies the new objects of an ALTER DEFAULT PRIVILEGES: those of a class that a
// role makes, in one schema or (0) in any.
type DefaultKey struct {
	Role, Schema types.OID
	Class        Class
}

// DefaultGrants is what ALTER DEFAULT PRIVILEGES has set for a key. For any
// schema it stands for the defaults of the class; for one schema it is added to
// those.
type DefaultGrants struct {
	Key DefaultKey
	ACL []Grant
}

// Database returns the database.
func (s *State) Database() Database { return s.database }

// DefaultGrants lists what ALTER DEFAULT PRIVILEGES has set.
func (s *State) DefaultGrants() []DefaultGrants {
	out := make([]DefaultGrants, 0, len(s.defaults))
	for k, acl := range s.defaults {
		out = append(out, DefaultGrants{k, acl})
	}
	slices.SortFunc(out, func(a, b DefaultGrants) int {
		return cmp.Or(cmp.Compare(a.Key.Role, b.Key.Role), cmp.Compare(a.Key.Schema, b.Key.Schema), cmp.Compare(a.Key.Class, b.Key.Class))
	})
	return out
}

// DefaultOf returns the default grants of a key, the built-in ones where nothing was set.
func (s *State) DefaultOf(k DefaultKey) []Grant {
	if acl, ok := s.defaults[k]; ok {
		return acl
	}
	if k.Schema != 0 {
		return nil
	}
	return defaultACL(k.Class, k.Role)
}

// NewACL returns the grants of a new object; nil where nobody has changed the defaults of its
// class.
func (s *State) NewACL(c Class, owner, schema types.OID) []Grant {
	global, everywhere := s.defaults[DefaultKey{Role: owner, Class: c}]
	here := s.defaults[DefaultKey{Role: owner, Schema: schema, Class: c}]
	if !everywhere && len(here) == 0 {
		return nil
	}
	if !everywhere {
		global = defaultACL(c, owner)
	}
	acl := Object{Class: c, Owner: owner, ACL: global}.merge(here)
	if slices.Equal(acl, defaultACL(c, owner)) {
		return nil
	}
	return acl
}
