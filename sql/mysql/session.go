package mysql

import (
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/tributarydb/tributary/sql/lex"
)

// session writes transaction control and settings.
func (t *translator) session(n sqlparser.Statement) {
	switch n := n.(type) {
	case *sqlparser.Begin:
		t.begin(n)
	case *sqlparser.Commit:
		t.w("COMMIT")
	case *sqlparser.Rollback:
		t.w("ROLLBACK")
	case *sqlparser.SRollback:
		t.w("ROLLBACK TO SAVEPOINT")
		t.ident(n.Name.String())
	case *sqlparser.Savepoint:
		t.w("SAVEPOINT")
		t.ident(n.Name.String())
	case *sqlparser.Release:
		t.w("RELEASE SAVEPOINT")
		t.ident(n.Name.String())
	case *sqlparser.Set:
		t.set(n)
	case *sqlparser.LockTables:
		t.nothing("LOCK TABLES")
	case *sqlparser.UnlockTables:
		t.nothing("UNLOCK TABLES")
	case *sqlparser.Use:
		t.refuse("USE", "use")
		t.hint("Set the schema with SET search_path = " + folded(n.DBName.String()) + ".")
	case *sqlparser.Show:
		t.refuse("SHOW", "show")
		t.hint("Query information_schema.tables and information_schema.columns; SHOW MODELS lists the models.")
	case *sqlparser.CallProc:
		t.w("CALL")
		t.tableName(n.Name)
		t.list(n.Params)
	case *sqlparser.Flush:
		t.nothing("FLUSH")
	default:
		t.unknown(n)
	}
}

func (t *translator) begin(n *sqlparser.Begin) {
	if n.Type == sqlparser.StartTransactionStmt {
		t.w("START TRANSACTION")
	} else {
		t.w("BEGIN")
	}
	for i, m := range n.TxAccessModes {
		t.comma(i)
		switch m {
		case sqlparser.ReadOnly:
			t.w("READ ONLY")
		case sqlparser.ReadWrite:
			t.w("READ WRITE")
		case sqlparser.WithConsistentSnapshot:
			t.w("ISOLATION LEVEL REPEATABLE READ")
		}
	}
}

// mysqlSettings are settings of MySQL that clients and dumps set and that have
// no effect here.
var mysqlSettings = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(`names charset character_set_client character_set_results character_set_connection
		character_set_database collation_connection collation_database sql_mode sql_notes sql_quote_show_create
		sql_safe_updates sql_auto_is_null sql_warnings foreign_key_checks unique_checks net_write_timeout
		net_read_timeout wait_timeout interactive_timeout lock_wait_timeout innodb_lock_wait_timeout max_allowed_packet
		sql_log_bin information_schema_stats_expiry group_concat_max_len sql_select_limit profiling
		optimizer_switch big_tables low_priority_updates query_cache_type`) {
		m[n] = true
	}
	return m
}()

// set writes SET. In MySQL one statement may set several variables, in Postgres
// one: at most one of them may have an effect.
func (t *translator) set(n *sqlparser.Set) {
	effects := 0
	for _, e := range n.Exprs {
		name := strings.TrimPrefix(strings.TrimPrefix(lex.Fold(e.Var.Name.String()), "session."), "local.")
		switch {
		case e.Var.Scope == sqlparser.VariableScope:
			t.refuse("user variable @" + name)
		case e.Var.Scope == sqlparser.GlobalScope, e.Var.Scope == sqlparser.PersistSysScope, e.Var.Scope == sqlparser.PersistOnlySysScope:
			t.refuse("SET GLOBAL", "set")
		case mysqlSettings[name]:
			t.note("setting %q has no effect", name)
		case name == "autocommit":
			if v := settingWord(e.Expr); v != "1" && v != "on" && v != "true" {
				t.refuse("SET autocommit = 0", "autocommit")
				t.hint("Begin a transaction with BEGIN.")
			}
			t.note("setting %q has no effect", name)
		default:
			if effects++; effects > 1 {
				t.refuse("SET of several settings at once", "set")
			}
			t.setting(name, e)
		}
	}
	if effects == 0 && t.err == nil {
		t.nothing("SET")
	}
}

func (t *translator) setting(name string, e *sqlparser.SetExpr) {
	value := settingWord(e.Expr)
	switch name {
	case "transaction_isolation", "tx_isolation":
		level := strings.ReplaceAll(value, "-", " ")
		if e.Var.Scope == sqlparser.NextTxScope {
			t.w("SET TRANSACTION ISOLATION LEVEL", level)
		} else {
			t.w("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL", level)
		}
		switch level {
		case "read uncommitted", "read committed", "repeatable read", "serializable":
		default:
			t.refuse("isolation level " + value)
		}
	case "transaction_read_only", "tx_read_only":
		mode := "READ WRITE"
		if value == "1" || value == "on" || value == "true" {
			mode = "READ ONLY"
		}
		if e.Var.Scope == sqlparser.NextTxScope {
			t.w("SET TRANSACTION", mode)
		} else {
			t.w("SET SESSION CHARACTERISTICS AS TRANSACTION", mode)
		}
	case "time_zone":
		switch {
		case value == "+00:00" || value == "utc":
			t.w("SET TIME ZONE 'UTC'")
		case value == "system" || value == "default":
			t.w("SET TIME ZONE DEFAULT")
		case len(value) == 6 && (value[0] == '+' || value[0] == '-') && value[3] == ':':
			t.w("SET TIME ZONE INTERVAL", lex.QuoteLiteral(value), "HOUR TO MINUTE")
		default:
			l, ok := e.Expr.(*sqlparser.Literal)
			if !ok {
				t.refuse("SET time_zone to an expression", "time_zone")
				return
			}
			t.w("SET TIME ZONE")
			t.literal(l)
		}
	default:
		parts := strings.Split(name, ".")
		for i, p := range parts {
			parts[i] = lex.QuoteName(p)
		}
		t.w("SET", strings.Join(parts, "."), "=")
		switch v := e.Expr.(type) {
		case *sqlparser.Default:
			t.w("DEFAULT")
		case *sqlparser.Literal:
			t.literal(v)
		case sqlparser.BoolVal:
			t.w(value)
		case *sqlparser.ColName:
			t.w(lex.QuoteLiteral(v.Name.String()))
		case *sqlparser.UnaryExpr:
			if l, ok := v.Expr.(*sqlparser.Literal); ok && v.Operator == sqlparser.UMinusOp && l.Type != sqlparser.StrVal {
				t.w("- " + l.Val)
				return
			}
			t.refuse("SET to an expression", "set")
		default:
			t.refuse("SET to an expression", "set")
		}
	}
}

// settingWord is a setting's value as one lower-case word; "" if it is none.
func settingWord(e sqlparser.Expr) string {
	switch v := e.(type) {
	case *sqlparser.Literal:
		return lex.Fold(v.Val)
	case sqlparser.BoolVal:
		if v {
			return "true"
		}
		return "false"
	case *sqlparser.ColName:
		return lex.Fold(v.Name.String())
	case *sqlparser.Default:
		return "default"
	}
	return ""
}
