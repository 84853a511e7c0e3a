package node

import (
	"fmt"
	"testing"
)

// TestIntegersBesideTexts: || of a text and an integer equals || of the text and the
// integer's cast to text, for all widths, signs, NULLs, constants and filtered rows.
func TestIntegersBesideTexts(t *testing.T) {
	c := connect(t, start(t, 1)[0])
	c.must("CREATE TABLE n AS SELECT CASE WHEN i % 7 > 0 THEN 'é' || repeat('x', i % 5) END AS s, CASE WHEN i % 11 > 0 THEN i::int8 * 3074457345618258 END AS k FROM generate_series(-3000, 3000) AS g(i)")
	c.must("INSERT INTO n VALUES ('', -9223372036854775808), ('a', 9223372036854775807), ('b', 0)")
	for _, typ := range []string{"int2", "int4", "int8"} {
		k := fmt.Sprintf("(k %% %d)::%s", map[string]int{"int2": 32768, "int4": 2147483648, "int8": 9223372036854775807}[typ], typ)
		for _, pair := range [][2]string{{"s || " + k, "s || " + k + "::text"}, {k + " || s", k + "::text || s"}, {"'c' || " + k, "'c' || " + k + "::text"}, {"s || 7::" + typ, "s || '7'"}, {"s || NULL::" + typ, "NULL"}} {
			got := c.one(fmt.Sprintf("SELECT count(*) FILTER (WHERE %[1]s IS DISTINCT FROM %[2]s) || '|' || count(*) FROM n WHERE k IS NULL OR k %% 3 <> 1", pair[0], pair[1]))
			want := c.one("SELECT '0|'::text || count(*)::text FROM n WHERE k IS NULL OR k % 3 <> 1")
			if got != want {
				t.Errorf("%s: %s, not %s", pair[0], got, want)
			}
		}
	}
	if got := c.one("SELECT 'a' || (-32768)::int2 || 2147483647 || ' ' || (-9223372036854775808)::int8"); got != "a-327682147483647 -9223372036854775808" {
		t.Error(got)
	}
}
