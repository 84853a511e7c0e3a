package fn

import (
	"slices"

	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Lookup returns all overloads of a name. The slice must not be modified.
func Lookup(name string) []*Func { return reg().byName[name] }

// ByID finds a function by its ID; nil if there is none.
func ByID(id string) *Func { return reg().byID[id] }

// ByOID finds a function by its OID; nil if there is none.
func ByOID(oid types.OID) *Func { return reg().byOID[oid] }

// Operators returns the infix operators of a name.
func Operators(name string) []*Operator { return reg().infix[name] }

// Prefix returns the prefix operators of a name.
func Prefix(name string) []*Operator { return reg().prefix[name] }

// FindOperator finds the operator of exactly these operand types (left 0: a
// prefix operator); nil if
// there is none.
func FindOperator(name string, left, right types.OID) *Operator {
	ops := reg().infix[name]
	if left == 0 {
		ops = reg().prefix[name]
	}
	for _, o := range ops {
		if o.Left == left && o.Right == right {
			return o
		}
	}
	return nil
}

// All lists every function of pg_catalog, Described also those of other schemas, AllOperators every
// operator.
func All() []*Func              { return reg().funcs }
func Described() []*Func        { return slices.Concat(reg().funcs, reg().described) }
func AllOperators() []*Operator { return reg().ops }

// A function travels as its ID; nodes of one cluster that know different functions return a clear
// error.
func init() {
	codec.Register(func(dst []byte, f *Func) []byte {
		if f == nil {
			return dst
		}
		if f.User != nil {
			return appendUser(dst, f)
		}
		return append(dst, f.ID...)
	}, func(b []byte) (*Func, error) {
		if len(b) == 0 {
			return nil, nil
		}
		if b[0] == userMark {
			return readUser(b)
		}
		f := ByID(string(b))
		if f == nil {
			return nil, pgerr.New(pgerr.UndefinedFunction, "function %s is not known on this node", b)
		}
		return f, nil
	})
}

// Category returns pg_type.typcategory; 'E' for a user's types, 'X' for unknown.
func Category(o types.OID) byte {
	if t, ok := types.PgTypeOf(o); ok {
		return t.Category
	}
	if (types.Type{OID: o}).IsArray() {
		return 'A'
	}
	if o >= types.FirstUserOID {
		return 'E'
	}
	return 'P'
}

// Preferred returns pg_type.typispreferred.
func Preferred(o types.OID) bool {
	t, ok := types.PgTypeOf(o)
	return ok && t.Preferred
}
