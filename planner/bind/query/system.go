package query

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// catalogColumns returns the system columns of a catalog. Its rows are computed from one version of
// the state, which is thus the version of each row.
func catalogColumns(oid types.OID, version uint64) []scope.Column {
	return append(append(TableOID(oid), systemConst("xmin", types.XID, int64(uint32(version)))), Unkept()...)
}

func systemConst(name string, t types.Type, v int64) scope.Column {
	return scope.Column{Name: name, System: true, Expr: &expr.Const{Val: v, Typ: t}}
}

// Unkept are the system columns that say which transaction deleted or locked a row, and which of its
// commands: no row that is read was deleted.
func Unkept() []scope.Column {
	return []scope.Column{systemConst("cmin", types.CID, 0), systemConst("xmax", types.XID, 0), systemConst("cmax", types.CID, 0)}
}

// viewFuncs are the functions under PostgreSQL's views: they return the views' rows, or some of
// their columns.
var viewFuncs = map[string]struct{ view, cols string }{
	"pg_available_extension_versions": {view: "pg_available_extension_versions", cols: "name version superuser trusted relocatable schema requires comment"},
	"pg_available_extensions":         {view: "pg_available_extensions", cols: "name default_version comment"},
	"pg_config":                       {view: "pg_config"},
	"pg_cursor":                       {view: "pg_cursors"},
	"pg_hba_file_rules":               {view: "pg_hba_file_rules"},
	"pg_lock_status":                  {view: "pg_locks"},
	"pg_prepared_statement":           {view: "pg_prepared_statements"},
	"pg_show_all_file_settings":       {view: "pg_file_settings"},
	"pg_show_all_settings":            {view: "pg_settings"},
	"pg_timezone_abbrevs":             {view: "pg_timezone_abbrevs"},
	"pg_timezone_names":               {view: "pg_timezone_names"},
}

// viewFunc binds one of viewFuncs in FROM; ok is false for other names.
func viewFunc(sc *scope.Scope, schema, name string, n *ast.RangeFunction, fc *ast.FuncCall) (it scope.FromItem, ok bool, err error) {
	f, known := viewFuncs[name]
	if !known || schema != "" && schema != "pg_catalog" || sc.Binder.Session.Virtual == nil || len(typing.Items(fc.Args)) > 0 {
		return it, false, nil
	}
	cols, _, found := sc.Binder.Session.Virtual.Virtual("pg_catalog", f.view)
	if !found {
		return it, false, nil
	}
	v := &plan.Virtual{Schema_: "pg_catalog", Name: f.view, Alias: name}
	rl := virtualCols(sc, v, cols)
	rl.Name = name
	if f.cols != "" {
		var keep []scope.Column
		for _, want := range strings.Fields(f.cols) {
			for _, c := range rl.Cols {
				if c.Name == want {
					keep = append(keep, c)
				}
			}
		}
		rl.Cols = keep
	}
	it, err = Finish(sc, v, rl, n.Alias, "table")
	return it, true, err
}
