package eval

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// Fingerprint names what expressions compute: those with the same fingerprint have the
// same values for a row. Only the forms that are worth sharing have one; the second result reports
// whether all of es do.
func Fingerprint(es ...expr.Expr) (string, bool) {
	var b strings.Builder
	for _, e := range es {
		if !putFingerprint(&b, e) {
			return "", false
		}
		b.WriteByte(';')
	}
	return b.String(), true
}

func putFingerprint(b *strings.Builder, e expr.Expr) bool {
	switch e := e.(type) {
	case *expr.Col:
		b.WriteByte('c')
		b.WriteString(strconv.Itoa(int(e.ID)))
	case *expr.Param:
		b.WriteByte('p')
		b.WriteString(strconv.Itoa(e.N))
	case *expr.Const:
		b.WriteByte('k')
		putType(b, e.Typ)
		switch v := e.Val.(type) {
		case nil:
			b.WriteString("null")
		case bool, int64:
			fmt.Fprint(b, v)
		case string:
			b.WriteString(strconv.Quote(v))
		case number.Decimal:
			b.WriteString(v.String())
		default:
			return false
		}
	case *expr.Call:
		if e.Fn.Vol != fn.Immutable {
			return false
		}
		b.WriteString(e.Fn.ID)
		putType(b, e.Typ)
		return putArgs(b, e.Args)
	case *expr.Cast:
		b.WriteString("cast")
		putType(b, e.Typ)
		if e.Explicit {
			b.WriteByte('x')
		}
		return putArgs(b, []expr.Expr{e.Arg})
	default:
		return false
	}
	return true
}

func putArgs(b *strings.Builder, args []expr.Expr) bool {
	b.WriteByte('(')
	for _, a := range args {
		if !putFingerprint(b, a) {
			return false
		}
		putType(b, a.Type())
		b.WriteByte(',')
	}
	b.WriteByte(')')
	return true
}

func putType(b *strings.Builder, t types.Type) {
	fmt.Fprintf(b, ":%d.%d.%d.%d ", t.OID, t.Mod, t.Prec, t.Scale)
}

// total reports whether an expression may be computed for rows that do not need
// it: it is cheap, or arithmetic of fixed numerics whose result the binder
// proved to fit.
func total(e expr.Expr) bool {
	switch e := e.(type) {
	case *expr.Col, *expr.Const, *expr.Param:
		return true
	case *expr.Call:
		switch e.Fn.ID {
		case "numeric_add(numeric,numeric)", "numeric_sub(numeric,numeric)", "numeric_mul(numeric,numeric)":
		default:
			return cheap(e)
		}
		if !e.Typ.IsFixed() {
			return false
		}
		for _, a := range e.Args {
			if !a.Type().IsFixed() || !total(a) {
				return false
			}
		}
		return true
	}
	return cheap(e)
}
