package opt_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner/opt"
)

// tpchQueries reads the queries of the goldens.
func tpchQueries(t testing.TB) map[string]string {
	text, err := os.ReadFile("testdata/tpch.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, block := range strings.Split(string(text), "# ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		_, rest, _ = strings.Cut(rest, "plan\n")
		sql, _, _ := strings.Cut(rest, "\n----")
		out[name] = sql
	}
	return out
}

func BenchmarkOptimize(b *testing.B) {
	w := plantest.TPCH(b)
	queries := tpchQueries(b)
	for _, name := range []string{"Q1", "Q2", "Q8", "Q21"} {
		q, err := w.Bind(queries[name])
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := opt.Optimize(q, w.Env()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
