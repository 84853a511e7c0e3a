package node

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/exec/object/s3test"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// recordedLog is a log that a test reads.
type recordedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *recordedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *recordedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// bucketOf is a store with which nodes have credentials.
func bucketOf(t *testing.T) *s3test.Server {
	s := s3test.New(t, "bkt")
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.KeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.Secret)
	t.Setenv("AWS_ENDPOINT_URL", s.URL)
	t.Setenv("AWS_REGION", "us-east-1")
	return s
}

func cached(o *Options) { o.ObjectCache = 32 << 20 }

// TestObjectStore: files in a bucket are read and written like those of the server, by all nodes, though every tenth
// request fails; what fails leaves nothing.
func TestObjectStore(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := bucketOf(t)
			asked := 0
			s.Fault = func(*http.Request) s3test.Fault {
				asked++
				return map[int]s3test.Fault{3: s3test.Busy, 5: s3test.Torn, 7: s3test.Reset}[asked%10]
			}
			nodes := start(t, n, fewInline, cached)
			c := connect(t, nodes[n-1])
			c.must("create table t as select i as id, i % 7 as k, 'text ' || i as s from generate_series(1, 60000) i")
			for k := range 3 {
				c.must(fmt.Sprintf("copy (select * from t where k %% 3 = %d) to 's3://bkt/p/part=%d/a.parquet' (format parquet)", k, k))
				c.must(fmt.Sprintf("copy (select * from t where k %% 3 = %d) to 's3://bkt/c/%d.csv.gz' (format csv, header)", k, k))
			}
			const sums = "select count(*), sum(id), min(s), max(s) from "
			want := c.one(sums + "t")
			for _, from := range []string{"read_parquet('s3://bkt/p/*/*.parquet')", "'s3://bkt/p/part=*/a.parquet'", "read_csv('s3://bkt/c/*.csv.gz')",
				"read_parquet(array['s3://bkt/p/part=0/a.parquet', 's3://bkt/p/part=1/a.parquet', 's3://bkt/p/part=2/*'])"} {
				if got := c.one(sums + from); got != want {
					t.Errorf("%s: %s, not %s", from, got, want)
				}
			}
			if got, want := c.must("select part, count(*) from 's3://bkt/p/*/*.parquet' group by 1 order by 1"), c.must("select k % 3, count(*) from t group by 1 order by 1"); !slices.Equal(got, want) {
				t.Errorf("partitions: %v, not %v", got, want)
			}
			c.must("create table loaded (like t)")
			c.must("copy loaded from 's3://bkt/p/part=0/a.parquet' (format parquet)")
			c.must("copy loaded from 's3://bkt/c/1.csv.gz' (format csv, header)")
			c.must("copy loaded from 's3://bkt/c/2.csv.gz' (format csv, header)")
			if got := c.one(sums + "loaded"); got != want {
				t.Errorf("loaded: %s, not %s", got, want)
			}

			c.must("train model m using linear_regression predict k as select k, id from t")
			c.must("export model m to 's3://bkt/m.json' with (format = 'json')")
			c.must("import model again from 's3://bkt/m.json'")

			// What fails after some parts were uploaded.
			if _, err := c.do("copy (select repeat('x', 1000) || i, 1 / (30000 - i) from generate_series(1, 60000) i) to 's3://bkt/failed'"); !pgerr.Is(err, pgerr.DivisionByZero) {
				t.Errorf("a COPY that fails: %v", err)
			}
			if s.Get("bkt", "failed") != nil || s.Uploads() != 0 {
				t.Errorf("a COPY that failed has left something: %d uploads", s.Uploads())
			}

			c.must("backup to 's3://bkt/backups'")
			again := strings.Split(c.must("backup to 's3://bkt/backups'")[0], "|")
			if again[2] == "0" || again[4] != "0" {
				t.Errorf("the second backup: %v", again)
			}
			if rows := c.must("show backups from 's3://bkt/backups/'"); len(rows) != 2 {
				t.Errorf("backups: %v", rows)
			}
			c.must("backup to 's3://bkt/backups' with (keep = 1)")
			c.must("drop table t")
			c.must("restore table t from 's3://bkt/backups'")
			if got := c.one(sums + "t"); got != want {
				t.Errorf("restored: %s, not %s", got, want)
			}
			if s.Get("bkt", "backups/LOCK") != nil {
				t.Error("the lock of the backups is left")
			}

			for sql, code := range map[string]pgerr.Code{
				"select * from read_csv('s3://bkt/none.csv')":                        pgerr.UndefinedFile,
				"select * from read_csv('s3://bkt/none*.csv')":                       pgerr.UndefinedFile,
				"select * from read_csv('gs://bkt/x.csv')":                           pgerr.FeatureNotSupported,
				"copy t to 's3://bkt'":                                               pgerr.InvalidParameterValue,
				"copy t to 's3://bkt/a*'":                                            pgerr.InvalidParameterValue,
				"copy t to 'az://bkt/a'":                                             pgerr.FeatureNotSupported,
				"backup to 's3://bkt'":                                               pgerr.InvalidParameterValue,
				"backup to 'gs://bkt/x'":                                             pgerr.FeatureNotSupported,
				"export model m to 'https://bkt/x'":                                  pgerr.FeatureNotSupported,
				"restore table t as u from 's3://bkt/c'":                             pgerr.UndefinedFile,
				"backup to 's3://bkt/c'":                                             pgerr.ObjectNotInPrerequisiteState,
				"copy t from 's3://other-bucket/x'":                                  pgerr.UndefinedFile,
				"create schedule x for create secret y (type s3) recurring '@daily'": pgerr.FeatureNotSupported,
			} {
				if _, err := c.do(sql); pgerr.CodeOf(err) != code {
					t.Errorf("%s: %v, not %s", sql, err, code)
				}
			}
			// A statement that waits for the store while it is planned can be cancelled.
			s.Fault = func(*http.Request) s3test.Fault { return s3test.Silent }
			c.must("set statement_timeout = '200ms'")
			if _, err := c.do("select * from read_csv('s3://bkt/c/*')"); !pgerr.Is(err, pgerr.QueryCanceled) {
				t.Errorf("a silent store: %v", err)
			}
		})
	}
}

// TestSecrets: a role uses the secret of the longest scope that it may, and none knows what is secret in it.
func TestSecrets(t *testing.T) {
	s := s3test.New(t, "bkt")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIANODE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "node")
	t.Setenv("AWS_ENDPOINT_URL", s.URL)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	s.Put("bkt", "a/x.csv", []byte("n\n1\n2\n"))
	s.Put("bkt", "ab/x.csv", []byte("n\n1\n"))
	var log recordedLog
	nodes := start(t, 3, cached, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	c := connect(t, nodes[0])
	c.must("set log_min_duration_statement = 0")
	create := fmt.Sprintf("create secret good (type s3, key_id '%s', secret '%s', endpoint '%s', use_ssl false, url_style 'path', region 'x', scope 's3://bkt/a')", s3test.KeyID, s3test.Secret, strings.TrimPrefix(s.URL, "http://"))
	maker := connect(t, nodes[0]) // which stays idle after its statement
	maker.must("set application_name = 'about secrets'")
	maker.must(create)
	if got := c.one("select query from pg_stat_activity where application_name = 'about secrets'"); !strings.HasPrefix(got, "create secret good (type s3, key_id $1, secret $2") {
		t.Error(got)
	}
	c.must("create secret all_of_it (type s3, key_id 'AKIANONE', secret 'hunter3', endpoint '" + s.URL + "')")
	c.must("create role ana; create role bob; grant usage on secret good to ana; grant usage on secret all_of_it to bob")
	c.must("create role reads; grant pg_read_server_files to reads")
	const x, y = "select count(*) from read_csv('s3://bkt/a/*.csv')", "select count(*) from read_csv('s3://bkt/ab/x.csv')"
	check := func(role, sql string, want any) {
		t.Helper()
		c.must("set role " + role)
		defer c.must("reset role")
		rows, err := c.do(sql)
		if code, ok := want.(pgerr.Code); ok {
			if pgerr.CodeOf(err) != code || strings.Contains(fmt.Sprintf("%+v", err), "hunter") {
				t.Errorf("%s: %s: %v, not %s", role, sql, err, code)
			}
		} else if err != nil || strings.Join(rows, ",") != want {
			t.Errorf("%s: %s: %v, %v", role, sql, rows, err)
		}
	}
	check("tributary", x, "2")
	check("tributary", y, pgerr.InvalidAuthorizationSpecification) // by all_of_it
	check("ana", x, "2")
	check("ana", y, pgerr.InsufficientPrivilege) // ab is not below a
	check("ana", "select * from read_csv('/etc/passwd')", pgerr.InsufficientPrivilege)
	check("ana", "copy (select 1) to 's3://bkt/a/out.txt'", "")
	check("ana", "copy (select 1) to 's3://bkt/out.csv'", pgerr.InsufficientPrivilege)
	check("ana", "backup to 's3://bkt/a/b'", pgerr.InsufficientPrivilege)
	check("ana", "create secret more (type s3)", pgerr.InsufficientPrivilege)
	check("ana", "drop secret good", pgerr.InsufficientPrivilege)
	check("ana", "select name from cluster.secrets", "good")
	check("bob", x, pgerr.InvalidAuthorizationSpecification)
	check("bob", "select name from cluster.secrets", "all_of_it")
	check("reads", x, pgerr.InvalidAuthorizationSpecification) // by the node's own key, which the store does not know
	check("reads", "copy (select 1) to 's3://bkt/a/out.txt'", pgerr.InsufficientPrivilege)
	check("tributary", "grant select on secret good to bob", pgerr.InvalidGrantOperation)
	check("tributary", "grant usage on secret none to bob", pgerr.UndefinedObject)
	check("tributary", create, pgerr.DuplicateObject)
	check("tributary", "drop role ana", pgerr.DependentObjectsStillExist)
	check("tributary", "create secret s (type s3, key_id 'x')", pgerr.InvalidParameterValue)
	check("tributary", "create secret s (type s3, secret 'hunter4', key_id 'x', use_ssl 'hunter4')", pgerr.InvalidParameterValue)
	check("tributary", "create secret s (type s3, secret 'hunter4' 'x')", pgerr.SyntaxError)
	check("tributary", "create secret s (type gcs, secret 'hunter4')", pgerr.FeatureNotSupported)

	// Another key, and the same grants; other sessions' plans do not keep the old one.
	c.must("create or replace secret good (type s3, key_id '" + s3test.KeyID + "', secret 'hunter5', endpoint '" + s.URL + "', scope 's3://bkt/a')")
	check("ana", x, pgerr.InvalidAuthorizationSpecification)
	c.must(strings.Replace(create, "create", "create or replace", 1))
	check("ana", x, "2")
	c.must("revoke usage on secret good from ana")
	check("ana", x, pgerr.InsufficientPrivilege)
	c.must("drop secret if exists good")

	state, err := nodes[1].Catalog().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	kept := string(state) + log.String()
	for _, q := range []string{"select query from pg_stat_statements", "select query from cluster.statement_history", "select query from cluster.insights", "select message || fields from cluster.logs", "select query from pg_stat_activity"} {
		kept += strings.Join(c.must(q), "\n")
	}
	for _, secret := range []string{s3test.Secret, "hunter3", "hunter4", "hunter5"} {
		if strings.Contains(kept, secret) {
			i := strings.Index(kept, secret)
			t.Errorf("%q is kept: %q", secret, kept[max(0, i-200):i+20])
		}
	}
	if !strings.Contains(kept, "create secret good (type s3, key_id $1, secret $2") {
		t.Error("the test looks where no statements are")
	}
}
