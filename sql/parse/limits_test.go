package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/mysql"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestDepth: nesting so deep that it would overflow the stack is an error in both dialects; a list
// that is only long is not nested and is accepted.
func TestDepth(t *testing.T) {
	const n = 100_000
	rep := strings.Repeat
	deep := map[string]string{
		"parentheses": "select " + rep("(", n) + "1" + rep(")", n),
		"open":        "select " + rep("(", n),
		"plus":        "select 1" + rep("+1", n),
		"minus":       "select " + rep("- ", n) + "a",
		"not":         "select " + rep("not ", n) + "a",
		"case":        "select " + rep("case when ", n) + "a" + rep(" then 1 end", n),
		"union":       "select 1" + rep(" union all select 1", n/10),
		"join":        "select * from a" + rep(" join b on true", n/10),
		"train":       "train model m as select 1" + rep("+1", n),
		"option":      "train model m with (x = 1" + rep("+1", n) + ") as select 1",
		"transform":   "train model m transform (1" + rep("+1", n) + " as x) as select 1",
		"explain":     "explain select 1" + rep("+1", n),
	}
	flat := map[string]string{
		"and":     "select 1 from t where a = 1" + rep(" and a = 1", n/10),
		"or":      "select 1 from t where a = 1" + rep(" or a = 1", n/10),
		"in":      "select a in (1" + rep(", 1", n) + ")",
		"values":  "insert into t values (1, 2)" + rep(", (1, 'abc')", n/10),
		"columns": "select 1" + rep(", 1", n),
		"tables":  "select 1 from a" + rep(", b", n/10),
		"string":  "select '" + rep("x", 10*n) + "'",
		"comment": "/*" + rep("x", 10*n) + "*/ select 1",
		"nested":  "select " + rep("(", 3000) + "1" + rep(")", 3000),
	}
	for _, d := range []Dialect{Postgres, MySQL} {
		for name, sql := range deep {
			if _, err := Parse(sql, d); !pgerr.Is(err, pgerr.StatementTooComplex) {
				t.Errorf("%v, %s: %s", d, name, mysql.Clip(fmt.Sprint(err), 200))
			}
		}
		for name, sql := range flat {
			if _, err := Parse(sql, d); err != nil {
				t.Errorf("%v, %s: %s", d, name, mysql.Clip(err.Error(), 200))
			}
		}
	}
}

func TestFlatten(t *testing.T) {
	s := one(t, "select a where a or b"+strings.Repeat(" or c", lex.MaxDepth), Postgres)
	b := s.Node.(*ast.SelectStmt).WhereClause.(*ast.BoolExpr)
	if n := len(b.Args.Items); n != lex.MaxDepth+2 {
		t.Fatalf("%d operands", n)
	}
	for i, want := range []string{"a", "b", "c"} {
		if got := b.Args.Items[i].SqlString(); got != want {
			t.Errorf("operand %d is %s", i, got)
		}
	}
}

func TestTooLong(t *testing.T) {
	if _, err := Parse(strings.Repeat(" ", maxText+1), Postgres); !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Error(err)
	}
	if list, err := Parse(strings.Repeat(" ", maxText), Postgres); err != nil || len(list) != 0 {
		t.Error(err)
	}
}
