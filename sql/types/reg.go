package types

import (
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// parseReg reads a reg* value: "-" for none, a number, or a name.
func parseReg(typ Type, s string, env *Env) (Datum, error) {
	t := typ.OID
	if s == "-" {
		return int64(0), nil
	}
	if s != "" && strings.Trim(s, "0123456789") == "" {
		return datum(parseOID("oid", s))
	}
	if env.Names != nil {
		o, err := env.Names.RegIn(t, s)
		return datum(int64(o), err)
	}
	if t == RegtypeOID {
		name := s
		if i := strings.IndexByte(s, '('); i > 0 && strings.IndexByte(s, ')') > i {
			name = s[:i] + s[strings.IndexByte(s, ')')+1:] // the modifier is not part of the type
		}
		if o, ok := ByName(name); ok {
			return int64(o), nil
		}
		return nil, pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", s)
	}
	return nil, pgerr.Unsupported("a name as %s needs a catalog", TypeName(t))
}

func textReg(dst []byte, typ Type, d Datum, env *Env) []byte {
	t, o := typ.OID, OID(d.(int64))
	if o == 0 {
		return append(dst, '-')
	}
	if env.Names != nil {
		if name, ok := env.Names.RegOut(t, o); ok {
			return append(dst, name...)
		}
	}
	if t == RegtypeOID {
		if name, ok := builtinName(o); ok {
			return append(dst, name...)
		}
	}
	return strconv.AppendUint(dst, uint64(o), 10)
}
