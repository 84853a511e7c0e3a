package node

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestNumbersAsKeys: rows with dense or sparse integer keys, some NULL, at either end of the type's
// range or around 0, are inserted if no two keys are equal; otherwise the error names the duplicate key.
func TestNumbersAsKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, n := range oneAndThree() {
		c := connect(t, start(t, n)[n-1])
		for typ, span := range map[string][2]int64{"int2": {math.MinInt16, math.MaxInt16}, "int4": {math.MinInt32, math.MaxInt32}, "int8": {math.MinInt64, math.MaxInt64}} {
			c.must(fmt.Sprintf("CREATE TABLE %s_keys (k %s UNIQUE, n int)", typ, typ))
			for round := range 24 {
				step := int64(1 + r.IntN(90)) // dense enough for a bitmap (bitsPerRow), or not
				rows := 300
				var from int64
				switch most := step * int64(rows); round % 3 {
				case 0:
					from = span[0]
				case 1:
					from = span[1] - most
				default:
					from = -most / 2
				}
				keys := make([]any, rows)
				for i, at := range r.Perm(rows) {
					keys[i] = from + step*int64(at)
				}
				for range r.IntN(3) {
					keys[r.IntN(rows)] = "NULL"
				}
				twice := ""
				if r.IntN(2) == 0 {
					i, j := r.IntN(rows), r.IntN(rows)
					if keys[i] != "NULL" && i != j {
						keys[j] = keys[i]
						twice = fmt.Sprintf("Key (k)=(%v) already exists.", keys[i])
					}
				}
				var b strings.Builder
				present := 0
				for i, k := range keys {
					fmt.Fprintf(&b, ", ('%v', %d)", k, i)
					if k != "NULL" {
						present++
					}
				}
				text := fmt.Sprintf("INSERT INTO %s_keys SELECT nullif(column1, 'NULL')::%s, column2 FROM (VALUES %s) v", typ, typ, b.String()[2:])
				_, err := c.do(text)
				switch {
				case twice == "" && err != nil:
					t.Fatalf("%d nodes, %s, step %d: %v", n, typ, step, err)
				case twice != "" && (pgerr.CodeOf(err) != pgerr.UniqueViolation || pgerr.From(err).Detail != twice):
					t.Fatalf("%d nodes, %s, step %d: %v, %s", n, typ, step, err, twice)
				case twice == "":
					if got, want := c.one(fmt.Sprintf("SELECT count(*) || '|' || count(DISTINCT k) FROM %s_keys", typ)), fmt.Sprintf("%d|%d", rows, present); got != want {
						t.Fatalf("%d nodes, %s, step %d: %s, not %s", n, typ, step, got, want)
					}
				}
				c.must(fmt.Sprintf("TRUNCATE %s_keys", typ))
			}
		}
	}
}
