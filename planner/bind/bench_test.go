package bind

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/parse"
)

// BenchmarkInsertValues binds an INSERT of 10,000 rows of literals.
func BenchmarkInsertValues(b *testing.B) {
	c := newTestCatalog(b)
	c.ddl(b, "CREATE TABLE t (a int PRIMARY KEY, b text, c numeric(10,2), d date)")
	var sql strings.Builder
	sql.WriteString("INSERT INTO t VALUES ")
	for i := range 10000 {
		if i > 0 {
			sql.WriteByte(',')
		}
		fmt.Fprintf(&sql, "(%d, 'name %d', %d.25, '2020-01-%02d')", i, i, i%1000, i%28+1)
	}
	list, err := parse.Parse(sql.String(), parse.Postgres)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		if _, err := DML(c.session(list[0]), list[0].Node); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkQuery binds a query of ordinary size.
func BenchmarkQuery(b *testing.B) {
	c := newTestCatalog(b)
	c.ddl(b, "CREATE TABLE t (a int PRIMARY KEY, b text, c numeric(10,2), d date)")
	c.ddl(b, "CREATE TABLE u (a int, x int8, y varchar(10))")
	list, err := parse.Parse(`SELECT t.b, count(*), sum(t.c * (1 - t.c)) AS s FROM t JOIN u ON t.a = u.a
		WHERE t.d BETWEEN '2020-01-01' AND '2020-12-31' AND u.y LIKE 'x%' AND EXISTS (SELECT 1 FROM u v WHERE v.x = u.x)
		GROUP BY t.b HAVING count(*) > 2 ORDER BY s DESC LIMIT 10`, parse.Postgres)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		if _, err := Query(c.session(list[0]), list[0].Node); err != nil {
			b.Fatal(err)
		}
	}
}
