package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// certsFor makes a certificate authority and the certificates of nodes n1 to n3 and of a user.
func certsFor(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "certs")
	for _, args := range [][]string{
		{"--dir", dir, "ca"},
		{"--dir", dir, "node", "--host", "127.0.0.1,localhost", "--name", "n1"},
		{"node", "--dir", dir, "--host", "127.0.0.1, localhost", "--name", "n2"},
		{"--dir", dir, "--host", "127.0.0.1", "--name", "n3", "node"},
		{"--dir", dir, "client", "--name", "ann"},
	} {
		var out strings.Builder
		if err := makeCert(args, &out); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if !strings.Contains(out.String(), "made "+dir) {
			t.Errorf("%q says %q", args, out.String())
		}
	}
	return dir
}

func TestCertErrors(t *testing.T) {
	dir := certsFor(t)
	for _, args := range [][]string{
		{"--dir", dir, "ca"}, {"--dir", dir, "node"}, {"--dir", dir, "client"}, {"--dir", dir, "client", "--name", "a/b"}, {"--dir", dir, "what"}, {"--dir", dir, "ca", "more"},
		{"--dir", t.TempDir(), "node", "--host", "h"},
	} {
		if err := makeCert(args, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func launchSecure(t *testing.T, certs, join string, more ...string) (*process, error) {
	t.Helper()
	data := t.TempDir()
	args := []string{"serve", "--data", data, "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0", "--memory", "1GiB",
		"--threads", "1", "--certs", certs}
	if join != "" {
		args = append(args, "--join", join)
	}
	return launch(t, data, append(args, more...)...)
}

// TestSecureCluster runs three nodes with TLS on all connections: clients and nodes with a wrong
// password, no certificate, or one of another authority are refused on each port.
func TestSecureCluster(t *testing.T) {
	dir := certsFor(t)
	var nodes []*process
	for _, name := range []string{"n1", "n2", "n3"} {
		join := ""
		if len(nodes) > 0 {
			join = nodes[0].Cluster
		}
		p, err := launchSecure(t, filepath.Join(dir, name), join)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, p)
	}
	c := nodes[0].connect()
	do(t, c, "CREATE TABLE t AS SELECT g AS i FROM generate_series(1, 10000) g")
	do(t, c, "CREATE ROLE ann LOGIN PASSWORD 'secret'")
	if n := value[int64](t, c, "SELECT count(*) FROM cluster.nodes WHERE state = 'ready'"); n != 3 {
		t.Errorf("%d nodes are ready", n)
	}

	connect := func(user, password, mode, more string) error {
		ctx, cancel := context.WithTimeout(context.Background(), longest)
		defer cancel()
		conf, err := pgx.ParseConfig("postgres://" + nodes[2].PG + "/tributary?sslmode=" + mode + more)
		if err != nil {
			return err
		}
		conf.User, conf.Password = user, password
		conn, err := pgx.ConnectConfig(ctx, conf)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		var n int64
		return conn.QueryRow(ctx, "SELECT 1 FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl AND version LIKE 'TLSv1._' AND bits >= 128 AND cipher LIKE 'TLS_%' AND "+
			"current_setting('ssl') = 'on' AND CASE WHEN $1 THEN client_dn LIKE '/O=%/CN=ann' AND client_serial > 0 AND issuer_dn LIKE '/%' ELSE client_dn IS NULL END",
			strings.Contains(more, "sslcert")).Scan(&n)
	}
	other := certsFor(t)
	root := func(dir string) string { return "&sslrootcert=" + filepath.Join(dir, "ca.crt") }
	pair := func(dir string) string {
		return "&sslcert=" + filepath.Join(dir, "client.ann.crt") + "&sslkey=" + filepath.Join(dir, "client.ann.key")
	}
	for _, tc := range []struct {
		what, password, mode, more string
		ok                         bool
	}{
		{"password over TLS", "secret", "verify-full", root(dir), true},
		{"certificate", "", "verify-full", root(dir) + pair(dir), true},
		{"wrong password", "x", "verify-full", root(dir), false},
		{"another authority's server", "secret", "verify-full", root(other), false},
		{"another authority's certificate", "", "require", pair(other), false},
	} {
		if err := connect("ann", tc.password, tc.mode, tc.more); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.what, err)
		}
	}
	if psql, err := exec.LookPath("psql"); err == nil {
		host, port, _ := net.SplitHostPort(nodes[0].PG)
		cmd := exec.Command(psql, "-X", "-At", "-c", "SELECT count(*) FROM information_schema.tables WHERE table_name = 't'",
			"host="+host+" port="+port+" user=ann dbname=tributary channel_binding=require sslmode=verify-full sslrootcert="+filepath.Join(dir, "ca.crt"))
		cmd.Env = append(os.Environ(), "PGPASSWORD=secret")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("psql: %v\n%s", err, out)
		}
	}

	// A node with a certificate of another authority, or none, is refused.
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	for _, certs := range []string{filepath.Join(other, "n1"), ""} {
		cmd := exec.CommandContext(ctx, path, "serve", "--data", t.TempDir(), "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0",
			"--memory", "1GiB", "--certs", certs, "--join", nodes[0].Cluster)
		out, err := cmd.Output()
		if err == nil || strings.Contains(string(out), "ready") {
			t.Errorf("a node with certificates of %q: %v %s", certs, err, out)
		}
	}
	if n := value[int64](t, c, "SELECT count(*) FROM cluster.nodes"); n != 3 {
		t.Errorf("%d nodes are members", n)
	}
	if n := value[int64](t, c, "SELECT sum(i) FROM t"); n != 50005000 {
		t.Errorf("sum %d", n)
	}
}

// TestListenBeyondLoopback: an address that other machines can reach is listened on only with TLS, or
// with --insecure; the pages there need a superuser's password.
func TestListenBeyondLoopback(t *testing.T) {
	args := func(more ...string) []string {
		return append([]string{"serve", "--data", t.TempDir(), "--listen-pg", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0", "--memory", "1GiB"}, more...)
	}
	if _, err := launch(t, "", args("--listen-http", "0.0.0.0:0")...); err == nil || !strings.Contains(err.Error(), "--insecure") {
		t.Errorf("listening for all: %v", err)
	}
	dir := certsFor(t)
	p, err := launch(t, "", args("--listen-http", "0.0.0.0:0", "--certs", filepath.Join(dir, "n1"))...)
	if err != nil {
		t.Fatal(err)
	}
	c := p.connect()
	do(t, c, "CREATE ROLE bob LOGIN PASSWORD 'bob'")
	do(t, c, "CREATE ROLE root LOGIN SUPERUSER PASSWORD 'secret'")
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: longest}
	_, port, _ := net.SplitHostPort(p.HTTP)
	get := func(path, user, password string) int {
		r, err := http.NewRequest("GET", "https://127.0.0.1:"+port+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			r.SetBasicAuth(user, password)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for _, tc := range []struct {
		path, user, password string
		want                 int
	}{
		{"/healthz", "", "", 200}, {"/metrics", "", "", 401}, {"/metrics", "root", "x", 401}, {"/metrics", "bob", "bob", 401}, {"/metrics", "root", "secret", 200}, {"/", "root", "secret", 200},
	} {
		if got := get(tc.path, tc.user, tc.password); got != tc.want {
			t.Errorf("%s as %q: %d, want %d", tc.path, tc.user, got, tc.want)
		}
	}
	if resp, err := http.Get("http://127.0.0.1:" + port + "/metrics"); err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode == 200 {
			t.Error("served without TLS")
		}
	}
}
