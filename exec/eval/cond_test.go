package eval_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestChoices: CASE and COALESCE of many rows give what they give of each row alone, whichever arms are computed for all
// rows, for some, or are constants, and whatever fails in a row that does not take the arm.
func TestChoices(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	env := newEnv(newHost())
	var rows []string
	for i := range 250 {
		c := []string{fmt.Sprint(i % 7), fmt.Sprint(r.IntN(50)), fmt.Sprintf("%d.5", r.IntN(9)), fmt.Sprintf("'t%d'", r.IntN(5)), fmt.Sprintf("%t", r.IntN(3) == 0),
			fmt.Sprintf("%d.25", r.IntN(100)), fmt.Sprintf("(timestamp '2024-01-01' + interval '%d hours')", r.IntN(9999)), fmt.Sprintf("array[%d]", r.IntN(3))}
		for k := range c {
			if r.IntN(k+2) == 0 {
				c[k] = "NULL"
			}
		}
		rows = append(rows, fmt.Sprintf("(%s::int2, %s::int, %s::float8, %s::text, %s::bool, %s::numeric, %s::timestamp, %s::int[])", c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]))
	}
	for _, e := range []string{
		"case when a = 1 then 10 when a < 3 then 20 when a < 6 then 30 end",
		"case when a = 1 then 'x' when a < 3 then 'y' when a = 4 then 'x' end",
		"case when a = 1 then 'x' when s = 't1' then s else 'y' end",
		"case when a > 0 then b end", "case when a = 0 then b end", "case when a > 0 then s end", "case when a = 2 then n end", "case when p then p end",
		"case when a > 0 then b else -b end", "case when a > 4 then b + 1 when p then a else 0 end",
		"case when a > 0 then 100 / a when a = 0 then 7 else b end",
		"case when a = 0 then 0 when 100 / a > 20 then b / a else a end",
		"case when a > 1 then f when p then null else 1.5 end", "case when p is null then f else b end",
		"case when extract(hour from ts) < 6 then 1 when extract(hour from ts) < 12 then 2 when lower(s) = 't2' then 3 else 4 end",
		"case when a > 2 then ts when p then ts + interval '1 day' end",
		"case when p then l else array[7] end", "(case when a > 2 then l end)[1]", "case when a > 3 then row(a, b) end is null",
		"case when a < 3 then n when a < 5 then 0 else n * 2 end",
		"case a when 1 then p when 2 then true else b > 20 end",
		"coalesce(a, b)", "coalesce(f, b, 0)", "coalesce(b, a + 1, 7)", "coalesce(p, a > 2, false)", "coalesce(s, 'none')", "coalesce(n, b, 1)", "coalesce(null::int, b, a)",
		"coalesce(b, 100 / nullif(a, 0), 3)", "coalesce(ts, timestamp '2020-01-01')", "coalesce(a, a)", "coalesce(f, case when p then b end)",
		"case " + strings.Repeat("when a = 9 then 1 ", 300) + "when a = 3 then 2 else 3 end",
	} {
		of := func(rows string) []string {
			cols, got, err := query("select "+e+" from (values "+rows+") v (a, b, f, s, p, n, ts, l)", env)
			if err != nil {
				t.Fatalf("%s: %v", e, err)
			}
			var out []string
			for _, row := range got {
				out = append(out, show(cols[0].Type, row[0]))
			}
			return out
		}
		all := of(strings.Join(rows, ","))
		if len(all) != len(rows) {
			t.Fatalf("%s: %d rows of %d", e, len(all), len(rows))
		}
		for i, row := range rows {
			if alone := of(row); alone[0] != all[i] {
				t.Errorf("%s: row %d of %s gives %s, alone %s", e, i, row, all[i], alone[0])
				break
			}
		}
	}
}
