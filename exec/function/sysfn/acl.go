package sysfn

import (
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Access control lists are represented as text: grantee=letters/grantor, a star
// behind a letter being its grant option.

// aclDefaults are the privileges that PostgreSQL grants on a new object of a kind: to all, and to
// its owner.
var aclDefaults = map[string][2]string{
	"c": {}, "r": {"", "arwdDxt"}, "s": {"", "rwU"}, "d": {"Tc", "CTc"}, "f": {"X", "X"}, "l": {"U", "U"}, "L": {"", "rw"}, "n": {"", "UC"},
	"p": {"", "sA"}, "t": {"", "C"}, "F": {"", "U"}, "S": {"", "U"}, "T": {"U", "U"},
}

func addACL(t function.Table) {
	t.Put("acldefault(char,oid)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		kind, _ := a[0].(string)
		d, ok := aclDefaults[kind]
		if !ok {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized object type abbreviation: %s", kind)
		}
		owner := ACLRole(roleName(h, types.OID(a[1].(int64))))
		out := types.Array{Elem: types.Type{OID: types.ACLItemOID, Mod: -1}, Elems: []types.Datum{}}
		if d[0] != "" {
			out.Elems = append(out.Elems, "="+d[0]+"/"+owner)
		}
		if d[1] != "" {
			out.Elems = append(out.Elems, owner+"="+d[1]+"/"+owner)
		}
		return out, nil
	}))
}

// ACLExplode is aclexplode(): a row for every privilege of a list.
func ACLExplode(c *function.SetCall, a []types.Datum) (function.Generator, error) {
	if c.Env.Host == nil {
		return nil, pgerr.Unsupported("function aclexplode is not supported here")
	}
	st := c.Env.Host.Catalog()
	var rows []types.Datum
	for _, e := range vector.Elems(a[0]) {
		item, ok := e.(string)
		if !ok {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "ACL arrays must not contain null values")
		}
		grantee, privs, grantor, err := aclItem(st, item)
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(privs); i++ {
			if privs[i] == '*' {
				continue
			}
			word := PrivilegeName(privs[i])
			if word == "" {
				return nil, pgerr.New(pgerr.InvalidTextRepresentation, "invalid mode character: must be one of \"%s\"", "arwdDxtXUCTcsA")
			}
			rows = append(rows, types.Row{int64(grantor), int64(grantee), word, i+1 < len(privs) && privs[i+1] == '*'})
		}
	}
	return c.List(rows), nil
}

// aclItem splits an aclitem.
func aclItem(st *catalog.State, s string) (grantee types.OID, privs string, grantor types.OID, err error) {
	name, rest, err := aclRole(s)
	if err == nil && !strings.HasPrefix(rest, "=") {
		err = pgerr.New(pgerr.InvalidTextRepresentation, "missing \"=\" sign")
	}
	if err == nil && name != "" {
		grantee, err = roleNamed(st, name)
	}
	if err != nil {
		return 0, "", 0, err
	}
	privs, by, _ := strings.Cut(rest[1:], "/")
	name, rest, err = aclRole(by)
	switch {
	case err != nil:
	case name == "" || rest != "":
		err = pgerr.New(pgerr.InvalidTextRepresentation, "a name must follow the \"/\" sign")
	default:
		grantor, err = roleNamed(st, name)
	}
	return grantee, privs, grantor, err
}

// aclRole reads a role's name from the front of an aclitem.
func aclRole(s string) (name, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexAny(s, "=/")
		if i < 0 {
			i = len(s)
		}
		return s[:i], s[i:], nil
	}
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			i++
			continue
		}
		return strings.ReplaceAll(s[1:i], `""`, `"`), s[i+1:], nil
	}
	return "", "", pgerr.New(pgerr.InvalidTextRepresentation, "unterminated quoted string in %q", s)
}

func roleNamed(st *catalog.State, name string) (types.OID, error) {
	if r := st.RoleByName(name); r != nil {
		return r.OID, nil
	}
	return 0, pgerr.New(pgerr.UndefinedObject, "role %q does not exist", name)
}

// PrivilegeName returns the word of an aclitem letter.
func PrivilegeName(letter byte) string {
	switch letter {
	case 'a':
		return "INSERT"
	case 'r':
		return "SELECT"
	case 'w':
		return "UPDATE"
	case 'd':
		return "DELETE"
	case 'D':
		return "TRUNCATE"
	case 'x':
		return "REFERENCES"
	case 't':
		return "TRIGGER"
	case 'X':
		return "EXECUTE"
	case 'U':
		return "USAGE"
	case 'C':
		return "CREATE"
	case 's':
		return "SET"
	case 'A':
		return "ALTER SYSTEM"
	case 'c':
		return "CONNECT"
	case 'T':
		return "TEMPORARY"
	}
	return ""
}

// ACLRole writes a role's name as an aclitem has it.
func ACLRole(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return lex.QuoteIdent(s)
		}
	}
	return s
}
