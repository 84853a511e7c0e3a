package parse

import (
	"strings"
	"testing"
)

func TestFingerprint(t *testing.T) {
	same := [][]string{
		{"select a from t where b = 1", "SELECT a\n FROM t /* why */ WHERE b = 'x'", "select a from t where b = $1"},
		{"insert into t values (1, 'a')", "INSERT INTO T VALUES (2.5, E'b')"},
	}
	seen := map[int64]string{}
	for _, group := range same {
		first := one(t, group[0], Postgres).Fingerprint()
		if first <= 0 || seen[first] != "" {
			t.Errorf("%q has %d, as %q", group[0], first, seen[first])
		}
		seen[first] = group[0]
		for _, other := range group[1:] {
			if f := one(t, other, Postgres).Fingerprint(); f != first {
				t.Errorf("%q has %d, %q has %d", group[0], first, other, f)
			}
		}
	}
	for _, other := range []string{`select a from t where "B" = 1`, "select a from t where b < 1", "select a from t where b = 1 and c = 2"} {
		if f := one(t, other, Postgres).Fingerprint(); seen[f] != "" {
			t.Errorf("%q counts as %q", other, seen[f])
		}
	}
}

func TestNormal(t *testing.T) {
	for sql, want := range map[string]string{
		"select  a, 'x' from t -- it's\n where b = 1.5": "select  a, $1 from t where b = $2",
		"select $2, 'x', $1, B'01'":                     "select $2, $3, $1, $4",
	} {
		if got := one(t, sql, Postgres).Normal(1000); got != want {
			t.Errorf("%q is %q, want %q", sql, got, want)
		}
	}
	if got := one(t, "select 'é' as é, 1", Postgres).Shown(9); got != "select 'é"[:9] && got != "select '" {
		t.Errorf("cut to %q", got)
	}
}

// No secret stands in a text that is kept.
func TestShownHasNoSecret(t *testing.T) {
	for _, sql := range []string{
		"create role r password 'hunter2'",
		"ALTER USER r WITH ENCRYPTED PASSWORD 'hunter2'",
		`alter role r password E'hunter2' /* hunter2 */ valid until '2030-01-01'`,
		"copy t from 's3://id:hunter2@bucket/key'",
		"copy t to 's3://bucket/key' with (format csv, secret_access_key 'hunter2')",
		"select * from read_csv('https://host/f.csv?X-Signature=hunter2')",
		`select set_config('app.x', 'hunter2', false) as "Password"`,
		"alter role r password U&'hunter2'",
		"alter role r password $$hunter2$$",
	} {
		if got := one(t, sql, Postgres).Shown(1000); strings.Contains(got, "hunter2") || got == "" {
			t.Errorf("%q is shown as %q", sql, got)
		}
	}
	if got := one(t, "select 'plain' from t", Postgres).Shown(1000); got != "select 'plain' from t" {
		t.Error(got)
	}
}
