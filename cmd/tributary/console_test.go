package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// browser is a client of the console: a cookie jar, and the token that the page keeps.
type browser struct {
	t    *testing.T
	url  string
	http http.Client
	csrf string
}

func newBrowser(t *testing.T, url string) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, url: url, http: http.Client{Jar: jar, Timeout: longest}}
	t.Cleanup(b.http.CloseIdleConnections)
	return b
}

func (b *browser) do(ctx context.Context, method, path string, body any, header ...string) *http.Response {
	b.t.Helper()
	var in bytes.Buffer
	if err := json.NewEncoder(&in).Encode(body); err != nil {
		b.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, method, b.url+path, &in)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("X-CSRF-Token", b.csrf)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// ask sends a request and returns its status and body.
func (b *browser) ask(method, path string, body any, header ...string) (int, string) {
	b.t.Helper()
	a := b.do(context.Background(), method, path, body, header...)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

func (b *browser) login(user, password string) (int, string) {
	b.t.Helper()
	code, body := b.ask("POST", "/api/login", map[string]string{"user": user, "password": password})
	var got struct{ CSRF string }
	if code == 200 {
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			b.t.Fatal(err)
		}
		b.csrf = got.CSRF
	}
	return code, body
}

// query runs a text and returns the lines of the answer, without what differs from run to run.
func (b *browser) query(body map[string]any) string {
	b.t.Helper()
	_, text := b.ask("POST", "/api/query", body)
	var out strings.Builder
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		var line map[string]any
		if err := json.Unmarshal([]byte(l), &line); err != nil {
			b.t.Fatalf("%q: %v", l, err)
		}
		delete(line, "seconds")
		if e, ok := line["error"].(map[string]any); ok {
			line = map[string]any{"error": fmt.Sprint(e["code"], " ", e["message"], " ", e["position"])}
		}
		again, err := json.Marshal(line)
		if err != nil {
			b.t.Fatal(err)
		}
		out.Write(append(again, '\n'))
	}
	return out.String()
}

// TestConsole logs in to the console as a browser does, and works there.
func TestConsole(t *testing.T) {
	ctx := context.Background()
	s := testServer(t)
	c, err := pgx.Connect(ctx, "postgres://tributary@"+s.pg.Addr().String()+"/tributary?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	exec := func(sql string) {
		t.Helper()
		if _, err := c.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("create role ann login password 'secret'; create table shown (a int, b text); insert into shown values (1, 'x'), (2, null); create table hidden (a int); grant select, insert on shown to ann")
	url := "http://" + s.http.Addr().String()
	b := newBrowser(t, url)

	t.Run("page", func(t *testing.T) {
		for _, path := range []string{"/", "/models/m", "/data/public/shown"} {
			a := b.do(ctx, "GET", path, nil)
			a.Body.Close()
			policy := a.Header.Get("Content-Security-Policy")
			if a.StatusCode != 200 || !strings.Contains(policy, "default-src 'self'") || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: %d, policy %q", path, a.StatusCode, policy)
			}
		}
		for _, path := range []string{"/nothing", "/assets/nothing.js", "/assets/../doc.go"} {
			if code, _ := b.ask("GET", path, nil); code != 404 {
				t.Errorf("%s: %d", path, code)
			}
		}
	})

	t.Run("login", func(t *testing.T) {
		for _, try := range [][2]string{{"ann", "x"}, {"ann", ""}, {"nobody", "secret"}} {
			if code, body := b.login(try[0], try[1]); code != 401 || !strings.Contains(body, "28P01") {
				t.Errorf("%v: %d %s", try, code, body)
			}
		}
		for _, path := range []string{"GET /api/session", "POST /api/query", "POST /api/cancel", "POST /api/download", "POST /api/logout", "GET /api/live?topic=nodes"} {
			method, at, _ := strings.Cut(path, " ")
			if code, _ := b.ask(method, at, map[string]string{"sql": "select 1"}); code != 401 {
				t.Errorf("%s without a login: %d", path, code)
			}
		}
		if code, body := b.login("ann", "secret"); code != 200 || !strings.Contains(body, `"user":"ann","super":false`) {
			t.Fatalf("%d %s", code, body)
		}
		if code, body := b.ask("GET", "/api/session", nil); code != 200 || !strings.Contains(body, b.csrf) {
			t.Errorf("%d %s", code, body)
		}
		for name, header := range map[string][]string{"no token": {"X-CSRF-Token", ""}, "another's token": {"X-CSRF-Token", "x"}, "another site": {"Origin", "http://evil.example"}} {
			if code, _ := b.ask("POST", "/api/query", map[string]string{"sql": "select 1"}, header...); code != 403 {
				t.Errorf("%s: %d", name, code)
			}
		}
	})

	t.Run("query", func(t *testing.T) {
		for _, tc := range []struct {
			body map[string]any
			want string
		}{
			{map[string]any{"sql": "select * from shown order by 1; select 'a\"\n\\é' as q"}, `{"columns":[{"name":"a","oid":23,"type":"integer"},{"name":"b","oid":25,"type":"text"}]}
{"rows":[["1","x"],["2",null]]}
{"rows":2,"tag":"SELECT 2"}
{"columns":[{"name":"q","oid":25,"type":"text"}]}
{"rows":[["a\"\n\\é"]]}
{"rows":1,"tag":"SELECT 1"}
`},
			{map[string]any{"sql": "select * from hidden"}, `{"error":"42501 permission denied for table hidden \u003cnil\u003e"}` + "\n"},
			{map[string]any{"sql": "select 1; select nope"}, `{"columns":[{"name":"?column?","oid":23,"type":"integer"}]}
{"rows":[["1"]]}
{"rows":1,"tag":"SELECT 1"}
{"error":"42703 column \"nope\" does not exist 18"}
`},
			{map[string]any{"sql": "select $1::int + 1 as n, $2::text as x", "params": []any{"41", nil}}, `{"columns":[{"name":"n","oid":23,"type":"integer"},{"name":"x","oid":25,"type":"text"}]}
{"rows":[["42",null]]}
{"rows":1,"tag":"SELECT 1"}
`},
			{map[string]any{"sql": "select * from generate_series(1, 100000000) as g(i)", "limit": 2}, `{"columns":[{"name":"i","oid":23,"type":"integer"}]}
{"rows":[["1"],["2"]]}
{"cut":true,"rows":2,"tag":"SELECT"}
`},
			{map[string]any{"sql": "begin; create temp table mine (a int)", "conn": "t1"}, "{\"rows\":0,\"tag\":\"BEGIN\"}\n{\"rows\":0,\"tag\":\"CREATE TABLE\"}\n"},
			{map[string]any{"sql": "select count(*) as n from mine; select * from generate_series(1, 3) as g(i)", "conn": "t1", "limit": 1}, `{"columns":[{"name":"n","oid":20,"type":"bigint"}]}
{"rows":[["0"]]}
{"rows":1,"tag":"SELECT 1"}
{"columns":[{"name":"i","oid":23,"type":"integer"}]}
{"rows":[["1"]]}
{"cut":true,"rows":3,"tag":"SELECT 3"}
`},
			{map[string]any{"sql": "rollback", "conn": "t1"}, "{\"rows\":0,\"tag\":\"ROLLBACK\"}\n"},
			{map[string]any{"sql": "copy shown from stdin"}, `{"error":"0A000 COPY FROM STDIN is not possible here \u003cnil\u003e"}` + "\n"},
		} {
			if got := b.query(tc.body); got != tc.want {
				t.Errorf("%v:\n%swant\n%s", tc.body, got, tc.want)
			}
		}
		for _, bad := range []string{"", "[", `{"sql": 1}`} {
			a := b.do(ctx, "POST", "/api/query", bad)
			a.Body.Close()
			if a.StatusCode != 400 {
				t.Errorf("%q: %d", bad, a.StatusCode)
			}
		}
	})

	t.Run("cancel", func(t *testing.T) {
		active := func(want int) { // waits until so many statements of hers run
			for n := -1; n != want; {
				if err := c.QueryRow(ctx, "select count(*) from pg_stat_activity where usename = 'ann' and state = 'active'").Scan(&n); err != nil {
					t.Fatal(err)
				}
			}
		}
		for name, stop := range map[string]func(*http.Response){
			"by its id": func(*http.Response) {
				if code, body := b.ask("POST", "/api/cancel", map[string]string{"id": "q1"}); code != 200 || !strings.Contains(body, "true") {
					t.Errorf("%d %s", code, body)
				}
			},
			"by leaving": func(a *http.Response) { a.Body.Close() },
		} {
			a := b.do(ctx, "POST", "/api/query", map[string]string{"sql": "select 1 as first; select count(*) from generate_series(1, 10000000000)", "id": "q1"})
			active(1)
			stop(a)
			rest, _ := io.ReadAll(a.Body) // an error, where the body is closed
			a.Body.Close()
			if name == "by its id" && !bytes.Contains(rest, []byte("57014")) {
				t.Errorf("%s: %s", name, rest)
			}
			active(0)
		}
	})

	t.Run("download", func(t *testing.T) {
		if code, body := b.ask("POST", "/api/download", map[string]string{"sql": "copy (select * from shown order by a) to stdout (format csv, header)"}); code != 200 || body != "a,b\n1,x\n2,\n" {
			t.Errorf("%d %q", code, body)
		}
		if code, body := b.ask("POST", "/api/download", map[string]string{"sql": "copy hidden to stdout"}); code != 422 || !strings.Contains(body, "42501") {
			t.Errorf("%d %q", code, body)
		}
	})

	t.Run("live", func(t *testing.T) {
		if code, _ := b.ask("GET", "/api/live?topic=nope", nil); code != 400 {
			t.Errorf("an unknown topic: %d", code)
		}
		a := b.do(ctx, "GET", "/api/live?topic=nodes&topic=trainings", nil)
		defer a.Body.Close()
		lines := bufio.NewScanner(a.Body)
		seen := map[string]bool{}
		for len(seen) < 2 && lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok && lines.Scan() {
				if !strings.HasPrefix(lines.Text(), `data: {"columns":[{"name":`) {
					t.Fatalf("%s: %s", name, lines.Text())
				}
				seen[name] = true
			}
		}
		// The role's password is another one: whoever has logged in with the old one is out.
		exec("alter role ann password 'other'")
		if code, _ := b.ask("POST", "/api/query", map[string]any{"sql": "select 1"}); code != 200 {
			t.Errorf("the error is a line of the answer: %d", code)
		}
		for lines.Scan() && lines.Text() != "event: end" {
		}
		if code, _ := b.ask("GET", "/api/session", nil); code != 401 {
			t.Errorf("a login with an old password: %d", code)
		}
	})

	t.Run("open", func(t *testing.T) {
		// Over loopback a role without a password needs none.
		o := newBrowser(t, url)
		if code, body := o.ask("GET", "/api/session", nil); code != 401 || !strings.Contains(body, `"passwordless":true`) {
			t.Errorf("%d %s", code, body)
		}
		if code, body := o.login("", ""); code != 200 || !strings.Contains(body, `"user":"tributary","super":true`) {
			t.Fatalf("%d %s", code, body)
		}
		if code, _ := o.ask("POST", "/api/logout", nil); code != 200 {
			t.Error(code)
		}
		if code, _ := o.ask("GET", "/api/session", nil); code != 401 {
			t.Errorf("after the logout: %d", code)
		}
		exec("alter role tributary password 'p'")
		if code, body := o.ask("GET", "/api/session", nil); code != 401 || !strings.Contains(body, `"passwordless":false`) {
			t.Errorf("with a password: %d %s", code, body)
		}
	})
}
