package eval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestGolden runs testdata. Each line is an expression and what PostgreSQL 15 returns for it: rows
// separated by |, NULL, or ERR and the SQLSTATE. Floats may differ in the last digits, as they do
// between C libraries.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for i, l := range strings.Split(string(data), "\n") {
				if l == "" || l[0] == '#' {
					continue
				}
				q, want, ok := strings.Cut(l, "  ⇒  ")
				if !ok {
					q, ok = strings.CutSuffix(l, "  ⇒")
				}
				if !ok {
					t.Fatalf("line %d has no result", i+1)
				}
				got, err := evaluate(q)
				if got, want = strings.TrimSpace(got), strings.TrimSpace(want); got != want && !sameFloat(got, want) {
					t.Errorf("%s:%d: %s\n got  %s (%v)\n want %s", f, i+1, q, got, err, want)
				}
			}
		})
	}
}

func evaluate(q string) (string, error) {
	env := newEnv(newHost())
	cols, rows, err := query("SELECT "+q, env)
	if err != nil {
		return fmt.Sprintf("ERR %s", pgerr.CodeOf(err)), err
	}
	var parts []string
	for _, r := range rows {
		switch {
		case r[0] == nil:
			parts = append(parts, "NULL")
		case r[0] == true:
			parts = append(parts, "true")
		case r[0] == false:
			parts = append(parts, "false")
		default:
			parts = append(parts, types.TextOf(cols[0].Type, r[0], env.Types))
		}
	}
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(strings.Join(parts, "|")), nil
}
