package sysfn

import (
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addFunctions registers the functions that print a user's function as SQL.
func addFunctions(t function.Table) {
	of := func(show func(h function.Host, f *catalog.Function) types.Datum) function.Maker {
		return hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
			f := h.Catalog().Function(types.OID(a[0].(int64)))
			if f == nil {
				return nil, nil
			}
			return show(h, f), nil
		})
	}
	t.Put("pg_get_function_sqlbody(oid)", of(func(_ function.Host, f *catalog.Function) types.Datum {
		if !f.Parsed {
			return nil
		}
		return ParsedBody(f)
	}))
	t.Put("pg_get_functiondef(oid)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		f := h.Catalog().Function(types.OID(a[0].(int64)))
		if f == nil {
			return nil, nil
		}
		if f.Aggregate != nil {
			return nil, pgerr.New(pgerr.WrongObjectType, "%q is an aggregate function", f.Name)
		}
		return functionDef(h, f), nil
	}))
	t.Put("pg_get_function_arg_default(oid,int4)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		f := h.Catalog().Function(types.OID(a[0].(int64)))
		n := int(a[1].(int64))
		if f == nil || n < 1 || n > len(f.Args) || f.Args[n-1].Default == "" {
			return nil, nil
		}
		return shownDefault(h, f.Args[n-1].Default), nil
	}))
	t.Put("pg_function_is_visible(oid)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		oid := types.OID(a[0].(int64))
		f := h.Catalog().Function(oid)
		if f == nil {
			return true, nil
		}
		return objname.FunctionVisible(h, f), nil
	}))
}

func shownDefault(h function.Host, text string) string {
	if d, ok := h.(function.Deparser); ok {
		return d.ShowExpr(nil, text, false)
	}
	return text
}

// ParsedBody is RETURN or BEGIN ATOMIC of a function.
func ParsedBody(f *catalog.Function) string {
	if f.Returns {
		return "RETURN " + strings.TrimPrefix(f.Body, "SELECT ")
	}
	var b strings.Builder
	b.WriteString("BEGIN ATOMIC\n")
	if f.Body != "" {
		b.WriteString(" " + strings.ReplaceAll(f.Body, ";\n", ";\n ") + ";\n")
	}
	b.WriteString("END")
	return b.String()
}

// Arguments prints the parameters of a user's function.
func Arguments(h function.Host, f *catalog.Function, defaults bool) string {
	modes := map[byte]string{'o': "OUT ", 'b': "INOUT ", 'v': "VARIADIC "}
	var parts []string
	for _, a := range f.Args {
		if a.Mode == 't' {
			continue
		}
		s := modes[a.Mode]
		if a.Name != "" {
			s += lex.QuoteName(a.Name) + " "
		}
		s += typeName(h, a.Type.OID)
		if defaults && a.Default != "" {
			s += " DEFAULT " + shownDefault(h, a.Default)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

func typeName(h function.Host, o types.OID) string {
	if o == types.AnyOID {
		return `"any"`
	}
	if s, ok := objname.TypeName(h, o, -1); ok {
		return s
	}
	return types.TypeName(o)
}

// Result prints what a user's function returns.
func Result(h function.Host, f *catalog.Function) string {
	if out := f.Outputs(); len(out) > 0 && out[0].Mode == 't' {
		var cols []string
		for _, a := range out {
			cols = append(cols, lex.QuoteName(a.Name)+" "+typeName(h, a.Type.OID))
		}
		return "TABLE(" + strings.Join(cols, ", ") + ")"
	}
	s := typeName(h, f.Ret.OID)
	if f.Set {
		s = "SETOF " + s
	}
	return s
}

// functionDef is the statement that makes a function, as PostgreSQL prints it.
func functionDef(h function.Host, f *catalog.Function) string {
	var b strings.Builder
	b.WriteString("CREATE OR REPLACE FUNCTION " + objname.Qualified(h, f.Schema, f.Name, false) + "(" + Arguments(h, f, true) + ")\n")
	b.WriteString(" RETURNS " + Result(h, f) + "\n LANGUAGE " + lex.QuoteName(f.Language) + "\n")
	was := b.Len()
	for _, x := range []struct {
		on   bool
		word string
	}{{f.Volatility == 'i', "IMMUTABLE"}, {f.Volatility == 's', "STABLE"}, {f.Parallel == 's', "PARALLEL SAFE"}, {f.Parallel == 'r', "PARALLEL RESTRICTED"},
		{f.Strict, "STRICT"}, {f.Definer, "SECURITY DEFINER"}, {f.Leakproof, "LEAKPROOF"},
		{f.Cost != 100, "COST " + plainNumber(f.Cost)}, {f.Set && f.Rows != 1000, "ROWS " + plainNumber(f.Rows)}} {
		if x.on {
			b.WriteString(" " + x.word)
		}
	}
	if b.Len() > was {
		b.WriteString("\n")
	}
	for _, c := range f.Config {
		value := lex.QuoteLiteral(c.Value)
		if parts, err := catalog.SplitName(strings.ReplaceAll(c.Value, ", ", ".")); c.Name == "search_path" && err == nil {
			for i, s := range parts {
				parts[i] = lex.QuoteLiteral(s)
			}
			value = strings.Join(parts, ", ")
		}
		b.WriteString(" SET " + lex.QuoteName(c.Name) + " TO " + value + "\n")
	}
	if f.Parsed {
		b.WriteString(ParsedBody(f) + "\n")
		return b.String()
	}
	mark := "$function"
	for strings.Contains(f.Body, mark) {
		mark += "x"
	}
	b.WriteString("AS " + mark + "$" + f.Body + mark + "$\n")
	return b.String()
}

func plainNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
