package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributarydb/tributary/exec/object/s3test"
	"github.com/tributarydb/tributary/internal/process"
)

// backups are the places to which a cluster's backups and its commits go, one of them a bucket, and what was found in them.
type backups struct {
	c      *cluster
	bucket *s3test.Server
	fault  atomic.Pointer[string] // of the bucket, now
	failed atomic.Bool            // the bucket has failed since the last check

	begun   bool      // the cluster has an archive, and a past
	archive string    // the place of the archive
	plain   string    // of backups
	whole   bool      // plain has a backup of everything
	began   time.Time // when there was a past to read
	// skewed: a clock was moved, so times say nothing from then on.
	skewed atomic.Bool

	mu   sync.Mutex // held by who makes a backup or restores
	made map[string]span
	seen []observation
	done map[string]int // backups that were acknowledged, and restores that were looked into
	n    int            // restores
}

// span is between when a statement was sent and when it was answered.
type span struct{ from, to time.Time }

func (s span) String() string {
	return s.from.UTC().Format("15:04:05.000") + "-" + s.to.UTC().Format("15:04:05.000")
}

const bucketName = "nemesis"

func newBackups(c *cluster, seed uint64) *backups {
	b := &backups{c: c, bucket: s3test.Start(bucketName), made: map[string]span{}, done: map[string]int{}}
	r := rand.New(rand.NewPCG(seed, 9))
	var mu sync.Mutex
	b.bucket.Fault = func(req *http.Request) s3test.Fault {
		mu.Lock()
		defer mu.Unlock()
		return strike(b.fault.Load(), req, r)
	}
	b.archive, b.plain = "s3://"+bucketName+"/archive", filepath.Join(c.dir, "backups")
	if seed%2 == 0 && !c.o.Storage {
		b.archive, b.plain = filepath.Join(c.dir, "archive"), "s3://"+bucketName+"/backups"
	}
	return b
}

// strike chooses what becomes of a request while a fault lasts.
func strike(fault *string, req *http.Request, r *rand.Rand) s3test.Fault {
	if fault == nil || r.IntN(3) == 0 {
		return s3test.None
	}
	switch *fault {
	case "busy":
		return s3test.Busy
	case "slow":
		return s3test.Slow
	case "torn":
		return []s3test.Fault{s3test.Torn, s3test.Reset}[r.IntN(2)]
	case "lost":
		return s3test.Lost
	case "listings":
		if req.URL.Query().Has("list-type") {
			return []s3test.Fault{s3test.Busy, s3test.Torn, s3test.Reset, s3test.Lost}[r.IntN(4)]
		}
	}
	return s3test.None
}

// env are the variables with which nodes and commands use the bucket.
func (b *backups) env() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + s3test.KeyID, "AWS_SECRET_ACCESS_KEY=" + s3test.Secret, "AWS_ENDPOINT_URL=" + b.bucket.URL, "AWS_REGION=us-east-1"}
}

// storeFault has the bucket fail.
func (c *cluster) storeFault(ctx context.Context, f fault) {
	c.backups.failed.Store(true)
	c.backups.fault.Store(&f.variant)
	wait(ctx, f.hold)
	c.backups.fault.Store(nil)
}

// statement runs a statement on a node that may be refused, and returns its first row.
func (b *backups) statement(ctx context.Context, node int, sql string) (first []any, err error) {
	conn, err := b.c.dial(ctx, node, "nemesis_backups", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	rows, err := read(ctx, conn, sql)
	b.c.note("%s: %v", sql, err)
	var pe *pgconn.PgError
	if errors.As(err, &pe) && strings.HasPrefix(pe.Code, "XX") && !(pe.Code == "XX001" && b.c.flipped.Load()) {
		b.c.report("%s: %s: %s %s", sql, pe.Code, pe.Message, pe.Detail)
	}
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

func read(ctx context.Context, conn *pgx.Conn, sql string) ([][]any, error) {
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) { return r.Values() })
}

// backupFault makes a backup through a node.
func (c *cluster) backupFault(ctx context.Context, f fault) {
	r := f.random()
	c.backups.mu.Lock()
	defer c.backups.mu.Unlock()
	_ = c.backups.make(ctx, f.nodes[0], f.variant, r)
}

// make makes a backup; b.mu is held.
func (b *backups) make(ctx context.Context, node int, what string, r *rand.Rand) error {
	object, place, keep := "", b.plain, 3
	switch {
	case what == "archive" && b.begun:
		place, keep = b.archive, 2
	case what == "schema":
		names := b.c.schemas.names(time.Now())
		if len(names) == 0 {
			return nil
		}
		object = "SCHEMA " + names[r.IntN(len(names))] + " "
	}
	if node = b.gateway(node, place); node < 0 {
		return nil
	}
	from := time.Now()
	row, err := b.statement(ctx, node, fmt.Sprintf("BACKUP %sTO '%s' WITH (keep = %d)", object, place, keep))
	if err == nil {
		b.made[row[0].(string)] = span{from, time.Now()}
		b.whole = b.whole || what == "all"
		b.done["backup "+what]++
	}
	return err
}

// restoreFault restores something, or reads the past.
func (c *cluster) restoreFault(ctx context.Context, f fault) {
	r := f.random()
	b := c.backups
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.restore(ctx, f, r); err != nil {
		c.note("restore %s: %v", f.variant, err)
		if !b.failed.Load() && ctx.Err() == nil {
			c.report("restore %s: %v", f.variant, err)
		}
	}
}

// begin gives the cluster an archive, once it has the version that knows of it.
func (b *backups) begin(ctx context.Context, s *session) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun || !b.c.current() {
		return nil
	}
	b.begun, b.began = true, time.Now()
	list := []string{"ALTER SYSTEM SET archive_timeout = '1s'"}
	if !b.c.o.Storage { // which is the archive
		list = append(list, "ALTER SYSTEM SET archive = '"+b.archive+"'")
	}
	return setupAll(ctx, s, list...)
}

// gateway returns the node that is to use a place, -1 if none can now: the version before knows directories alone.
func (b *backups) gateway(node int, place string) int {
	if !strings.HasPrefix(place, "s3:") || !b.c.older(node) {
		return node
	}
	for i := range b.c.nodes {
		if !b.c.older(i) {
			return i
		}
	}
	return -1
}

// restore is of commands, which need no node: they fail with the bucket alone. Statements may be refused.
func (b *backups) restore(ctx context.Context, f fault, r *rand.Rand) error {
	o := observation{what: "restore " + f.variant}
	if !b.begun && f.variant != "joined" && f.variant != "schema" {
		f.variant = "all"
	}
	switch f.variant {
	case "all", "joined":
		if !b.whole {
			return nil // none was made yet
		}
		if _, err := b.command(ctx, "verify", b.plain); err != nil {
			return err
		}
		return b.restored(ctx, o, f.variant == "joined", "--from", b.plain)
	case "moment", "schema-moment", "past":
		at, ok, err := b.moment(ctx, r)
		if err != nil || !ok {
			return err
		}
		o.from, o.to, o.what = at.Add(-slack), at.Add(slack), o.what+" "+at.Format(time.RFC3339Nano)
		switch f.variant {
		case "moment":
			return b.restored(ctx, o, false, "--from", b.archive, "--as-of", at.Format(time.RFC3339Nano))
		case "past":
			_ = b.past(ctx, f.nodes[0], o, at) // perhaps no node that can be reached knows it
			return nil
		}
		b.schema(ctx, f.nodes[0], o, "'"+b.archive+"' AS OF '"+at.Format(time.RFC3339Nano)+"'", r)
	case "latest":
		row, err := b.statement(ctx, f.nodes[0], "SELECT archived_at FROM cluster.archive WHERE archived_version IS NOT NULL")
		if err != nil || row == nil {
			return nil
		}
		o.from = row[0].(time.Time)
		return b.restored(ctx, o, false, "--from", b.archive)
	case "schema":
		if node := b.gateway(f.nodes[0], b.plain); node >= 0 {
			b.schema(ctx, node, o, "'"+b.plain+"'", r)
		}
	}
	return nil
}

// slack is how far clocks of processes on one machine may be apart.
const slack = 2 * time.Millisecond

var window = regexp.MustCompile(`can be restored to any time from (\S+ \S+) to (\S+ \S+)`)

// moment chooses one to which the archive can be restored, now.
func (b *backups) moment(ctx context.Context, r *rand.Rand) (at time.Time, ok bool, err error) {
	text, err := b.command(ctx, "verify", b.archive)
	if err != nil {
		if strings.Contains(text, "has no backups") {
			err = nil
		}
		return at, false, err
	}
	for _, m := range window.FindAllStringSubmatch(text, -1) {
		from, err1 := time.Parse("2006-01-02 15:04:05.999999Z07:00", m[1])
		to, err2 := time.Parse("2006-01-02 15:04:05.999999Z07:00", m[2])
		if err := errors.Join(err1, err2); err != nil {
			return at, false, err
		}
		at, ok = from.Add(time.Duration(r.Int64N(int64(to.Sub(from))+1))).Truncate(time.Microsecond), true
		if r.IntN(2) == 0 {
			break
		}
	}
	return at, ok, nil
}

// command runs a command of the program, and returns what it says.
func (b *backups) command(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.c.o.Program, args...)
	cmd.Env = append(os.Environ(), b.env()...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	b.c.note("%s: %v\n%s", strings.Join(args, " "), err, out.String())
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, lastLines(out.String(), 8))
	}
	return out.String(), err
}

// restored makes a cluster of a place, and observes it.
func (b *backups) restored(ctx context.Context, o observation, joined bool, from ...string) error {
	b.n++
	dir := filepath.Join(b.c.dir, fmt.Sprintf("restored%d", b.n))
	text, err := b.command(ctx, append([]string{"restore", "--data", dir}, from...)...)
	if err != nil {
		return err
	}
	if o.to.IsZero() {
		o.to = time.Now()
	}
	if m := regexp.MustCompile(`backup (\S+), as of`).FindStringSubmatch(text); m != nil && o.from.IsZero() {
		o.what += " " + m[1]
		if s, known := b.made[m[1]]; known {
			o.from, o.to = s.from, s.to
		}
		// Its name has the time of its state: AS OF that time must not give what came later.
		at, err := time.Parse("20060102T150405.000Z", m[1][:strings.IndexByte(m[1], '-')])
		if err != nil {
			return err
		}
		if at = at.Add(slack); at.Before(o.to) {
			o.to = at
		}
	}
	return b.look(ctx, o, dir, joined)
}

// look starts the first node of a cluster of which a directory is to be, or one that joins it, and observes that.
func (b *backups) look(ctx context.Context, o observation, dir string, joined bool, more ...string) error {
	first, err := b.serve(ctx, dir, more...)
	if err != nil {
		return err
	}
	defer first.Kill()
	node := first
	if joined {
		second, err := b.serve(ctx, dir+"b", "--join", first.Cluster, "--join-secret", filepath.Join(dir, "cluster-secret"))
		if err != nil {
			return err
		}
		defer second.Kill()
		node = second
	}
	conn, err := pgx.Connect(ctx, "postgres://tributary@"+node.PG+"/tributary?sslmode=disable&default_query_exec_mode=simple_protocol")
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := b.observe(ctx, o, func(sql string) ([][]any, error) { return read(ctx, conn, sql) }); err != nil {
		return err
	}
	for _, x := range always {
		rows, err := read(ctx, conn, x.sql)
		if err != nil {
			return fmt.Errorf("%s: %w", x.what, err)
		}
		if n := number(rows[0][0]); n != 0 {
			return fmt.Errorf("%s: %d %s", o.what, n, x.what)
		}
	}
	node.Kill()
	first.Kill()
	return errors.Join(os.RemoveAll(dir), os.RemoveAll(dir+"b"))
}

// always are queries that return 0 at any moment.
var always = []struct{ what, sql string }{
	{"accounts do not hold what the ledger says", "SELECT count(*) FROM nm_accounts x WHERE balance <> 1000 + coalesce((SELECT sum(CASE WHEN a = x.id THEN -amount ELSE amount END) FROM nm_ledger WHERE a = x.id OR b = x.id), 0)"},
	{"batches are not whole", fmt.Sprintf(`SELECT count(*) FROM (SELECT batch, count(*) AS c, count(*) FILTER (WHERE pad IS DISTINCT FROM %s) AS bad FROM nm_bulk GROUP BY batch) a
		FULL JOIN nm_batches b ON a.batch = b.batch WHERE a.c IS DISTINCT FROM b.n OR a.bad <> 0`, pad("batch::text", "i::text"))},
	{"rows are spoilt", "SELECT count(*) FROM nm_inserts WHERE note IS DISTINCT FROM 'row ' || id"},
	{"rows are there twice", "SELECT count(*) - count(DISTINCT id) FROM nm_inserts"},
	{"temporary tables are left", "SELECT count(*) FROM pg_class WHERE relpersistence = 't'"},
	{"new rows were refused", "WITH x AS (INSERT INTO nm_inserts SELECT coalesce(max(id), 0) + 1, 'new' FROM nm_inserts RETURNING id) SELECT 1 - count(*) FROM x"},
}

// serve starts a node of a restored cluster.
func (b *backups) serve(ctx context.Context, dir string, more ...string) (*process.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	args := append(slices.Concat([]string{"/usr/bin/env"}, b.env(), []string{b.c.o.Program, "serve", "--data", dir, "--node", filepath.Base(dir), "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0",
		"--memory", "256MiB", "--threads", "2"}), more...)
	return process.Start(ctx, args...)
}

// observe notes what all schemas are.
func (b *backups) observe(ctx context.Context, o observation, read func(sql string) ([][]any, error)) (err error) {
	o.digests = map[string]string{}
	for _, name := range b.c.schemas.names(o.from) {
		if o.digests[name], err = digestOf(name, read); err != nil {
			return fmt.Errorf("%s: %s: %w", o.what, name, err)
		}
	}
	b.noted(o)
	return nil
}

func (b *backups) noted(o observation) {
	if b.skewed.Load() {
		o.from, o.to = time.Time{}, time.Now()
	}
	b.seen = append(b.seen, o)
	b.done[strings.Join(strings.Fields(o.what)[:2], " ")]++
}

// schema restores a schema of a place beside the one there is.
func (b *backups) schema(ctx context.Context, node int, o observation, from string, r *rand.Rand) {
	names := b.c.schemas.names(o.from)
	if len(names) == 0 {
		return
	}
	name := names[r.IntN(len(names))]
	b.n++
	as := fmt.Sprintf("%s_back%d", name, b.n)
	o.what += " of " + name
	digest := absent
	_, err := b.statement(ctx, node, fmt.Sprintf("RESTORE SCHEMA %s AS %s FROM %s", name, as, from))
	if o.to.IsZero() {
		o.to = time.Now()
	}
	var pe *pgconn.PgError
	switch {
	case err == nil:
		digest, err = digestOf(as, func(sql string) ([][]any, error) { return b.all(ctx, node, sql) })
		_, _ = b.statement(ctx, node, "DROP SCHEMA "+as+" CASCADE")
	case errors.As(err, &pe) && pe.Code == "3F000": // it was not there
		err = nil
	case errors.As(err, &pe) && pe.Code == "22023": // the moment was one of the archive
		b.c.report("%s: %s %s", o.what, pe.Message, pe.Hint)
	}
	if err != nil {
		return
	}
	o.digests = map[string]string{name: digest}
	b.noted(o)
}

// all is statement, with all rows.
func (b *backups) all(ctx context.Context, node int, sql string, before ...string) ([][]any, error) {
	conn, err := b.c.dial(ctx, node, "nemesis_backups", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, s := range before {
		if _, err := conn.Exec(ctx, s); err != nil {
			return nil, err
		}
	}
	return read(ctx, conn, sql)
}

// past reads what the cluster itself says that schemas were.
func (b *backups) past(ctx context.Context, node int, o observation, at time.Time) error {
	o.bare = true
	err := b.observe(ctx, o, func(sql string) ([][]any, error) {
		return b.all(ctx, node, sql, "SET tributary.as_of = '"+at.Format(time.RFC3339Nano)+"'")
	})
	if err != nil {
		b.c.note("%v", err)
		b.done["restore past, refused"]++
	}
	return err
}

// replaced notes that a node is another from now on: when all are, nobody knows what was before.
func (b *backups) replaced() {
	b.mu.Lock()
	b.began = time.Now()
	b.mu.Unlock()
}

// final makes a backup when nothing is wrong any more, and reads the past of each node.
func (b *backups) final(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed.Store(false)
	r := rand.New(rand.NewPCG(b.c.o.Seed, uint64(b.n)))
	err := until(ctx, "a backup", func(ctx context.Context) error { return b.make(ctx, 0, "all", r) })
	if err != nil {
		b.c.report("%v", err)
	}
	for i, n := range b.c.nodes {
		if !b.begun || b.skewed.Load() || b.c.o.has("disk") { // on a small disk the past gives way
			return
		}
		at := b.began.Add(time.Duration(r.Int64N(int64(time.Since(b.began))))).Truncate(time.Microsecond)
		o := observation{what: "read past of " + n.name + " at " + at.Format(time.RFC3339Nano), from: at.Add(-slack), to: at.Add(slack)}
		if err := b.past(ctx, i, o, at); err != nil {
			b.c.report("%v", err)
		}
	}
}

// lost ends a cluster whose files are in the bucket, with all its disks: an empty node goes on with what is there.
func (b *backups) lost(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	row, err := b.statement(ctx, 0, "SELECT archived_at FROM cluster.archive WHERE archived_version IS NOT NULL")
	if err != nil || row == nil {
		return err
	}
	for i := range b.c.nodes {
		b.c.kill(i)
	}
	b.n++
	o := observation{what: "storage taken-over", from: row[0].(time.Time), to: time.Now()}
	return b.look(ctx, o, filepath.Join(b.c.dir, fmt.Sprintf("restored%d", b.n)), false, "--storage", b.archive)
}

// taken returns what was observed since the last call.
func (b *backups) taken() []observation {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.seen
	b.seen = nil
	return out
}
