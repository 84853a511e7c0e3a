package sysfn

import (
	"fmt"
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func functionArguments(c *function.Call, a []types.Datum) (types.Datum, error) {
	if u := userFunction(c, a[0]); u != nil {
		return Arguments(c.Env.Host, u, c.Fn.Name == "pg_get_function_arguments"), nil
	}
	f := fn.ByOID(types.OID(a[0].(int64)))
	if f == nil {
		return nil, nil
	}
	parts := make([]string, len(f.Args))
	for i, o := range f.Args {
		s := types.TypeName(o)
		if o == types.AnyOID {
			s = `"any"`
		}
		if i < len(f.ArgNames) && f.ArgNames[i] != "" {
			s = lex.QuoteName(f.ArgNames[i]) + " " + s
		}
		if f.Variadic != 0 && i == len(f.Args)-1 {
			s = "VARIADIC " + s
		}
		if k := i - (len(f.Args) - len(f.Defaults)); k >= 0 && c.Fn.Name == "pg_get_function_arguments" {
			s += " DEFAULT " + f.Defaults[k]
		}
		parts[i] = s
	}
	return strings.Join(parts, ", "), nil
}

// userFunction is the user's function of an OID; nil if it is of none.
func userFunction(c *function.Call, oid types.Datum) *catalog.Function {
	if c.Env.Host == nil {
		return nil
	}
	return c.Env.Host.Catalog().Function(types.OID(oid.(int64)))
}

func functionResult(c *function.Call, a []types.Datum) (types.Datum, error) {
	if u := userFunction(c, a[0]); u != nil {
		return Result(c.Env.Host, u), nil
	}
	f := fn.ByOID(types.OID(a[0].(int64)))
	if f == nil {
		return nil, nil
	}
	s := types.TypeName(f.Ret)
	if f.Kind == fn.SetReturning {
		s = "SETOF " + s
	}
	return s, nil
}

// addSizes registers the functions of relations' sizes and statistics.
func addSizes(t function.Table) {
	size := func(h function.Host, d types.Datum) types.Datum {
		o := types.OID(d.(int64))
		if h.Catalog().RelationByOID(o) == nil {
			if _, _, ok := objname.SystemRelationName(h, o); ok {
				return int64(0)
			}
			return nil
		}
		n := int64(0)
		if m := h.Catalog().Manifest(o); m != nil {
			for _, p := range m.Partitions {
				for _, s := range p {
					n += s.Bytes + int64(len(s.Inline))
				}
			}
		}
		return n
	}
	t.Puts(hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		return size(h, a[0]), nil
	}),
		"pg_relation_size(regclass)", "pg_table_size(regclass)", "pg_total_relation_size(regclass)")
	t.Put("pg_relation_size(regclass,text)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		switch a[1].(string) {
		case "main":
			return size(h, a[0]), nil
		case "fsm", "vm", "init":
			return int64(0), nil
		}
		return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid fork name").
			WithHint("Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".")
	}))
	t.Put("pg_indexes_size(regclass)", fixedAnswer(int64(0)))
	total := func(h function.Host) (n int64) {
		for _, r := range h.Catalog().Relations() {
			if v, ok := size(h, int64(r.OID)).(int64); ok {
				n += v
			}
		}
		return n
	}
	database := hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		if s, ok := a[0].(string); ok && s != h.Session().Database {
			return nil, pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", s)
		}
		return total(h), nil
	})
	t.Puts(database, "pg_database_size(name)", "pg_database_size(oid)")
	t.Puts(hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		switch a[0] {
		case "pg_default", int64(1663):
			return total(h), nil
		case "pg_global", int64(1664):
			return int64(0), nil
		}
		if s, ok := a[0].(string); ok {
			return nil, pgerr.New(pgerr.UndefinedObject, "tablespace \"%s\" does not exist", s)
		}
		return nil, nil
	}), "pg_tablespace_size(name)", "pg_tablespace_size(oid)")
	t.Put("pg_relation_filenode(regclass)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		if r := h.Catalog().RelationByOID(types.OID(a[0].(int64))); r != nil && r.Kind != catalog.KindView {
			return a[0], nil
		}
		return nil, nil
	}))
	t.Put("pg_relation_filepath(regclass)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		if r := h.Catalog().RelationByOID(types.OID(a[0].(int64))); r != nil && r.Kind != catalog.KindView {
			return fmt.Sprintf("base/%d/%d", catalog.DatabaseOID, r.OID), nil
		}
		return nil, nil
	}))
	for _, f := range fn.All() {
		if !strings.HasPrefix(f.Name, "pg_stat_get_") || f.Kind != fn.Scalar {
			continue
		}
		switch {
		case f.Name == "pg_stat_get_live_tuples":
			t.Put(f.ID, hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
				if m := h.Catalog().Manifest(types.OID(a[0].(int64))); m != nil {
					return m.Rows(), nil
				}
				return int64(0), nil
			}))
		case f.Ret == types.Int8OID:
			t.Put(f.ID, fixedAnswer(int64(0)))
		default:
			t.Put(f.ID, fixedAnswer(nil))
		}
	}
}
