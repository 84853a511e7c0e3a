package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/multigres/multigres/go/common/parser/ast"
)

// TestLongLists: a long list of integers is one constant of the tree, and costs little; what is no such list, or a
// short one, is parsed item by item.
func TestLongLists(t *testing.T) {
	list := func(n int, more string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d, ", i*7)
		}
		return b.String() + more
	}
	count := func(sql string) (items int, shown string) {
		st, err := One(sql, Postgres)
		if err != nil {
			t.Fatal(err)
		}
		ast.Rewrite(st.Node, func(c *ast.Cursor) bool {
			if _, ok := c.Node().(*ast.A_Const); ok {
				items++
			}
			return true
		}, nil)
		return items, st.Node.SqlString()
	}
	for _, c := range []struct {
		sql   string
		items int
		has   string
	}{
		{"SELECT a FROM t WHERE a IN (" + list(3000, "-5)"), 1, "= ANY"},
		{"SELECT a FROM t WHERE b < 1 AND NOT a NOT IN (" + list(3000, "5\n)"), 2, "<> ALL"},
		{"SELECT a FROM t WHERE a in(" + list(3000, "5000000000)"), 1, "5000000000}' AS "},
		{"SELECT a FROM t WHERE a IN (" + list(3000, "1.5)"), 3001, "IN"},
		{"SELECT a FROM t WHERE a IN (" + list(3000, "b)"), 3000, "IN"},
		{"SELECT a FROM t WHERE a IN (" + list(3000, "9999999999999999999)"), 3001, "IN"},
		{"SELECT a FROM t WHERE a IN (" + list(900, "1)"), 901, "IN"},
		{"INSERT INTO t SELECT '\xff' IN (" + list(3000, "1)"), 0, ""}, // refused
	} {
		if c.has == "" {
			if _, err := One(c.sql, Postgres); err == nil {
				t.Error("bytes that are no UTF-8 were taken")
			}
			continue
		}
		if n, shown := count(c.sql); n != c.items || !strings.Contains(shown, c.has) {
			t.Errorf("%.40s…: %d constants, %d expected, %.200s", c.sql, n, c.items, shown)
		}
	}
	long, rows := EstimateMemory("select a in ("+list(100_000, "1)")), EstimateMemory("values ("+list(100_000, "1)"))
	if long > 20<<20 || rows < 60<<20 {
		t.Errorf("%d bytes for a list, %d for a row", long, rows)
	}
}
