package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// login tries to connect and returns the current user, or the error's SQLSTATE.
func login(t *testing.T, p *process, user, password string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	conf, err := pgx.ParseConfig(fmt.Sprintf("postgres://%s:%s@%s/tributary?sslmode=disable", user, password, p.PG))
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgx.ConnectConfig(ctx, conf)
	var e *pgconn.PgError
	switch {
	case errors.As(err, &e):
		return e.Code
	case err != nil:
		return "no login" // the server wants a password and the client has none: the client gives up
	}
	defer c.Close(ctx)
	var who string
	if err := c.QueryRow(ctx, "SELECT current_user").Scan(&who); err != nil {
		t.Fatal(err)
	}
	return who
}

// TestTrust: whether a role needs a password depends on that role alone, not on whether others have
// one. Rules of the configuration (hba) are applied before that, and a SIGHUP reloads them.
func TestTrust(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "tributary.yaml")
	write := func(text string) {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("threads: 2\n")
	p, err := launch(t, dir, "serve", "--data", filepath.Join(dir, "data"), "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0",
		"--memory", "1GiB", "--config", config)
	if err != nil {
		t.Fatal(err)
	}
	c := p.connect()
	do(t, c, "CREATE ROLE ann LOGIN PASSWORD 'secret'")
	do(t, c, "CREATE ROLE ben LOGIN")
	do(t, c, "CREATE ROLE staff ROLE ann")
	want := func(user, password, answer string) {
		t.Helper()
		if got := login(t, p, user, password); got != answer {
			t.Errorf("%s with %q: %s, want %s", user, password, got, answer)
		}
	}
	want("ann", "secret", "ann")
	want("ann", "wrong", "28P01")
	want("ben", "", "ben")
	want("tributary", "", "tributary") // ann has a password, this role has none
	want("nobody", "guess", "28P01")
	do(t, c, "ALTER ROLE tributary PASSWORD 'root'")
	want("tributary", "wrong", "28P01")
	want("tributary", "root", "tributary")
	want("ben", "", "ben")
	do(t, c, "REVOKE CONNECT ON DATABASE tributary FROM public")
	want("ben", "", "42501")
	do(t, c, "GRANT CONNECT ON DATABASE tributary TO public")

	// By a rule of method trust, whoever can write the configuration can log in after the superuser's
	// password was forgotten.
	reload := func(text string, until func() bool) {
		t.Helper()
		write(text)
		p.signal(syscall.SIGHUP)
		for deadline := time.Now().Add(longest); !until(); {
			if time.Now().After(deadline) {
				t.Fatal("the rules do not take effect")
			}
		}
	}
	reload("threads: 2\nhba:\n  - {database: all, user: tributary, address: loopback, method: trust}\n  - {type: host, database: [tributary, other], user: +staff, address: 127.0.0.0/8, method: scram-sha-256}\n",
		func() bool { return login(t, p, "tributary", "") == "tributary" })
	want("ann", "secret", "ann")
	want("ann", "wrong", "28P01")
	want("ben", "", "28000") // no rule matches
	// pg_reload_conf() does what the signal does.
	write("threads: 2\nhba:\n  - {database: all, user: all, address: loopback, method: trust}\n")
	do(t, c, "SELECT pg_reload_conf()")
	for deadline := time.Now().Add(longest); login(t, p, "ben", "") != "ben"; {
		if time.Now().After(deadline) {
			t.Fatal("pg_reload_conf() reads nothing")
		}
	}
	reload("threads: 2\nhba:\n  - {database: all, user: tributary, address: loopback, method: trust}\n  - {type: host, database: [tributary, other], user: +staff, address: 127.0.0.0/8, method: scram-sha-256}\n",
		func() bool { return login(t, p, "ben", "") == "28000" })
	// Rules that cannot be parsed leave the earlier ones in force.
	reload("threads: 2\nhba:\n  - {database: all, user: all, address: nowhere, method: trust}\n", func() bool { return true })
	want("ben", "", "28000")
	want("tributary", "", "tributary")
	// Nor does a file that a start would refuse for another reason.
	kept := func() int { return strings.Count(p.Log(), "stay as they were") }
	for _, bad := range []string{"threads: 2\nnonsense: 3\n", "threads: two\n", "scrub-rate: ten\n"} {
		before := kept()
		reload(bad+"hba:\n  - {database: all, user: all, address: all, method: trust}\n", func() bool { return kept() > before })
	}
	want("ben", "", "28000")
	reload("threads: 2\nhba:\n  - {database: all, user: ann, address: all, method: reject}\n  - {database: all, user: all, address: all, method: scram-sha-256}\n",
		func() bool { return login(t, p, "ann", "secret") == "28000" })
	want("tributary", "root", "tributary")
	want("ben", "guess", "28P01") // ben has no password: where a rule demands one he cannot log in
	p.Kill()
	write("hba:\n  - {database: all, user: all, address: all, method: trusted}\n")
	if _, err := launch(t, dir, "serve", "--data", filepath.Join(dir, "data"), "--listen-pg", "127.0.0.1:0", "--config", config); err == nil {
		t.Error("a node starts with rules that mean nothing")
	}
}
