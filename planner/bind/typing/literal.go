package typing

import (
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Constant binds a literal.
func (b *Resolver) Constant(n *ast.A_Const) (expr.Expr, error) {
	if n.Isnull || n.Val == nil {
		return &expr.Const{Typ: types.Unknown}, nil
	}
	switch v := n.Val.(type) {
	case *ast.Integer:
		return IntLit(int64(v.IVal)), nil
	case *ast.Float:
		return b.number(v.FVal)
	case *ast.String:
		return &expr.Const{Val: v.SVal, Typ: types.Unknown}, nil
	case *ast.Boolean:
		return &expr.Const{Val: v.BoolVal, Typ: types.Bool}, nil
	case *ast.BitString:
		s, err := types.ParseBits(v.BSVal)
		if err != nil {
			return nil, err
		}
		return &expr.Const{Val: s, Typ: types.Type{OID: types.BitOID, Mod: -1}}, nil
	case *ast.Null:
		return &expr.Const{Typ: types.Unknown}, nil
	}
	return nil, pgerr.Internal("a literal of %T", n.Val)
}

func IntLit(v int64) *expr.Const {
	if int64(int32(v)) == v {
		return &expr.Const{Val: v, Typ: types.Int4}
	}
	return &expr.Const{Val: v, Typ: types.Int8}
}

// number binds a number that is no int4 to the grammar.
func (b *Resolver) number(s string) (expr.Expr, error) {
	if !strings.ContainsAny(s, ".eE") {
		if v, err := strconv.ParseInt(s, 10, 64); err == nil {
			return IntLit(v), nil
		}
	}
	d, err := number.ParseDecimal(s)
	if err != nil {
		return nil, b.At(err, b.spotLit(s))
	}
	return &expr.Const{Val: d, Typ: fixedFor(d)}, nil
}

// Negate returns -n for a number literal; ok is false for anything else.
func (b *Resolver) Negate(n ast.Node) (expr.Expr, bool, error) {
	switch x := n.(type) {
	case *ast.ParenExpr:
		return b.Negate(x.Expr)
	case *ast.A_Const:
		switch v := x.Val.(type) {
		case *ast.Integer:
			return IntLit(-int64(v.IVal)), true, nil
		case *ast.Float:
			s := "-" + v.FVal
			if strings.HasPrefix(v.FVal, "-") {
				s = v.FVal[1:]
			}
			e, err := b.number(s)
			return e, true, err
		}
	}
	return nil, false, nil
}

func (b *Resolver) Collation(n *ast.CollateClause) error {
	schema, name, err := b.ObjectName(n.Collname, func(name string) Position { return b.SpotIdent(name) })
	if err != nil {
		return err
	}
	switch name {
	case "C", "POSIX", "default", "ucs_basic", "C.UTF-8", "C.utf8":
		if schema == "" || schema == "pg_catalog" {
			return nil
		}
	}
	return pgerr.New(pgerr.UndefinedObject, "collation \"%s\" for encoding \"UTF8\" does not exist", dotted(Strs(n.Collname))).At(b.PosIdent(name))
}

// ValueFunction binds CURRENT_DATE and the like to the functions behind them.
func (b *Resolver) ValueFunction(n *ast.SQLValueFunction) (expr.Expr, error) {
	call := func(name string) (expr.Expr, error) { return b.CallByName(name, nil, Position{}) }
	moment := func(t types.Type) (expr.Expr, error) {
		now, err := call("now")
		if err != nil {
			return nil, err
		}
		if n.TypeMod >= 0 {
			t.Mod = int32(min(n.TypeMod, 6))
		}
		return b.Coerce(now, t, fn.ExplicitCast, Position{})
	}
	switch n.Op {
	case ast.SVFOP_CURRENT_DATE:
		return moment(types.Date)
	case ast.SVFOP_CURRENT_TIME, ast.SVFOP_CURRENT_TIME_N:
		return moment(types.Timetz)
	case ast.SVFOP_CURRENT_TIMESTAMP, ast.SVFOP_CURRENT_TIMESTAMP_N:
		return moment(types.Timestamptz)
	case ast.SVFOP_LOCALTIME, ast.SVFOP_LOCALTIME_N:
		return moment(types.Time)
	case ast.SVFOP_LOCALTIMESTAMP, ast.SVFOP_LOCALTIMESTAMP_N:
		return moment(types.Timestamp)
	case ast.SVFOP_SESSION_USER:
		return call("session_user")
	case ast.SVFOP_CURRENT_CATALOG:
		return call("current_database")
	case ast.SVFOP_CURRENT_SCHEMA:
		return call("current_schema")
	}
	return call("current_user")
}
