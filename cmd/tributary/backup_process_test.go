package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// tributary runs the program to its end and returns what it printed.
func tributary(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	return string(out), err
}

// restoredNode restores the newest backup of a directory and starts a node of it.
func restoredNode(t *testing.T, backups string, more ...string) *process {
	t.Helper()
	data := filepath.Join(t.TempDir(), "restored")
	if out, err := tributary(t, append([]string{"restore", "--from", backups, "--data", data}, more...)...); err != nil {
		t.Fatalf("restore: %v\n%s", err, out)
	}
	return startProcess(t, data, "")
}

type backupRow struct {
	name                  string
	version               int64
	files, bytes, written int64
	seconds               float64
}

func backupTo(t *testing.T, c *pgx.Conn, dir, with string) (r backupRow) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := c.QueryRow(ctx, "BACKUP TO '"+dir+"' "+with).Scan(&r.name, &r.version, &r.files, &r.bytes, &r.written, &r.seconds); err != nil {
		t.Fatal("BACKUP: ", err)
	}
	return r
}

// everything is a schema with an object of each kind that a backup must bring back.
var everything = []string{
	"CREATE ROLE app LOGIN PASSWORD 'secret'", "CREATE SCHEMA shop", "GRANT USAGE ON SCHEMA shop TO app",
	"CREATE TYPE shop.state AS ENUM ('open', 'paid')",
	"CREATE TABLE shop.orders (id serial PRIMARY KEY, at shop.state NOT NULL DEFAULT 'open', v numeric CHECK (v > 0), twice numeric GENERATED ALWAYS AS (v * 2) STORED)",
	"CREATE TABLE shop.lines (id int GENERATED ALWAYS AS IDENTITY, o int REFERENCES shop.orders)",
	"CREATE INDEX orders_v ON shop.orders (v)", "CREATE VIEW shop.paid AS SELECT * FROM shop.orders WHERE at = 'paid'",
	"COMMENT ON TABLE shop.orders IS 'what was ordered'", "GRANT SELECT ON shop.orders TO app", "CREATE SEQUENCE shop.numbers START 100",
	"INSERT INTO shop.orders (v, at) SELECT i, CASE WHEN i % 2 = 0 THEN 'paid'::shop.state ELSE 'open' END FROM generate_series(1, 50000) i",
	"INSERT INTO shop.lines (o) SELECT i FROM generate_series(1, 1000) i", "DELETE FROM shop.orders WHERE id > 49000", "SELECT nextval('shop.numbers')",
	"ALTER ROLE app SET work_mem = '8MB'",
	"CREATE TEMP TABLE mine AS SELECT 1 AS i",
}

// digests are queries whose results must be the same after a restore.
var digests = []string{
	"SELECT md5(string_agg(o::text, ',' ORDER BY id)) FROM shop.orders o",
	"SELECT md5(string_agg(p::text, ',' ORDER BY id)) FROM shop.paid p",
	"SELECT md5(string_agg(l::text, ',' ORDER BY id)) FROM shop.lines l",
	"SELECT string_agg(relname::text || relkind::text, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = 'shop'::regnamespace",
	"SELECT string_agg(pg_get_constraintdef(oid), ',' ORDER BY conname) FROM pg_constraint WHERE connamespace = 'shop'::regnamespace",
	"SELECT obj_description('shop.orders'::regclass)",
	"SELECT string_agg(has_table_privilege('app', 'shop.orders', p)::text, ',') FROM unnest(ARRAY['SELECT', 'INSERT']) p",
	"SELECT array_to_string(rolconfig, ',') FROM pg_roles WHERE rolname = 'app'",
	"SELECT string_agg(name || sha256, ',' ORDER BY name) FROM ml.models WHERE name = 'm'",
	"SELECT md5(string_agg(predict('m', d)::text, ',')) FROM (SELECT * FROM d ORDER BY x0 LIMIT 1000) d",
}

func digest(t *testing.T, c *pgx.Conn) (out []string) {
	t.Helper()
	for _, q := range digests {
		out = append(out, value[string](t, c, "SELECT coalesce(("+q+"), '')"))
	}
	return out
}

// TestBackup: a backup of three nodes that are written to, train and remove files meanwhile, restored onto one node,
// has everything, the state of one moment; and others join it.
func TestBackup(t *testing.T) {
	var nodes []*process
	for i := range 3 {
		data := t.TempDir()
		args := []string{"serve", "--data", data, "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0", "--memory", "1GiB", "--threads", "2",
			"--testing", "sweep=200ms,tick=100ms,segment-rows=4096"}
		if i > 0 {
			args = append(args, "--join", nodes[0].Cluster, "--join-secret", filepath.Join(nodes[0].data, "cluster-secret"))
		}
		p, err := launch(t, data, args...)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, p)
	}
	c := nodes[0].connect()
	do(t, c, madeTable)
	do(t, c, madeTrain)
	for _, s := range everything {
		do(t, c, s)
	}
	do(t, c, "CREATE TABLE a (tx int, v int)")
	do(t, c, "CREATE TABLE b (tx int, v int)")
	want := digest(t, c)

	// Each transaction writes 500 rows to each of two tables, and removes those of an earlier one.
	stop, acked := make(chan struct{}), make(chan int, 1)
	writer := nodes[1].connect()
	go func() {
		n := 0
		defer func() { acked <- n }()
		for {
			select {
			case <-stop:
				return
			default:
			}
			tx := n + 1
			text := fmt.Sprintf("BEGIN; INSERT INTO a SELECT %[1]d, i FROM generate_series(1, 500) i; INSERT INTO b SELECT %[1]d, -i FROM generate_series(1, 500) i;"+
				"DELETE FROM a WHERE tx = %[1]d - 5; DELETE FROM b WHERE tx = %[1]d - 5; COMMIT", tx)
			if _, err := writer.Exec(context.Background(), text); err != nil {
				return
			}
			n = tx
		}
	}()
	trainer := nodes[2].connect()
	trained := make(chan error, 1)
	go func() {
		_, err := trainer.Exec(context.Background(), "TRAIN MODEL slow USING mlp PREDICT y WITH (max_iterations = 60, checkpoint_every = 1) AS SELECT * FROM d")
		trained <- err
	}()
	waitFor(t, c, "a checkpoint", "SELECT count(*) > 0 FROM ml.training_jobs WHERE state = 'running' AND iterations > 1")
	backups := filepath.Join(t.TempDir(), "backups")
	var made []backupRow
	for i := range 4 {
		made = append(made, backupTo(t, nodes[i%3].connect(), backups, ""))
	}
	close(stop)
	if n := <-acked; n == 0 {
		t.Fatal("nothing was written beside the backups")
	}
	if err := <-trained; err != nil {
		t.Fatal(err)
	}
	const slow = "SELECT sha256 FROM ml.models WHERE name = 'slow'"
	trainedHere := value[string](t, c, slow)
	if made[1].written*2 > made[0].written {
		t.Errorf("the second backup wrote %d bytes, the first %d", made[1].written, made[0].written)
	}
	if out, err := tributary(t, "verify", backups); err != nil || !strings.Contains(out, "4 backups") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	for _, b := range []backupRow{made[3], made[0]} {
		one := restoredNode(t, backups, "--backup", b.name)
		r := one.connect()
		if got := digest(t, r); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("restored:\n%q\nwas:\n%q", got, want)
		}
		const moment = "SELECT concat_ws(' ', min(tx), max(tx), count(*), count(*) - 500 * count(DISTINCT tx), count(DISTINCT tx) <= 5, sum(abs(v))) FROM "
		if a, b := value[string](t, r, moment+"a"), value[string](t, r, moment+"b"); a != b || !strings.Contains(a, " 0 t") {
			t.Errorf("the tables of one transaction are not those of one moment: %s and %s", a, b)
		}
		waitFor(t, r, "the training that ran", "SELECT count(*) = 1 FROM ml.models WHERE name = 'slow'")
		if got := value[string](t, r, slow); got != trainedHere {
			t.Errorf("the training went on to the model %s, not %s", got, trainedHere)
		}
		if n := value[int64](t, r, "SELECT nextval('shop.numbers')"); n <= 100 {
			t.Errorf("the sequence gives %d", n)
		}
		if n := value[int64](t, r, "SELECT count(*) FROM pg_class WHERE relname = 'mine'"); n != 0 {
			t.Error("a temporary table came back")
		}
		do(t, r, "INSERT INTO shop.orders (v) VALUES (7)")
		if b.name != made[3].name {
			continue
		}
		second := startProcess(t, t.TempDir(), "", one)
		third := startProcess(t, t.TempDir(), "", one)
		do(t, third.connect(), "INSERT INTO shop.orders (v) VALUES (8)")
		waitFor(t, r, "copies on the other nodes", "SELECT bool_and(cardinality(nodes) = 3) FROM cluster.partitions WHERE cardinality(nodes) > 0")
		one.Kill()
		if n := value[int64](t, second.connect(), "SELECT count(*) FROM shop.orders"); n != 49002 {
			t.Errorf("after the restored node was lost there are %d rows", n)
		}
	}
}

// TestBackupCutOff: a backup that was killed leaves no backup; the next one writes what is missing.
func TestBackupCutOff(t *testing.T) {
	p := startProcess(t, t.TempDir(), "")
	c := p.connect()
	for i := range 12 {
		do(t, c, fmt.Sprintf("CREATE TABLE t%d AS SELECT i, random() AS r, md5(i::text) AS m FROM generate_series(1, 60000) i", i))
	}
	backups := filepath.Join(t.TempDir(), "b")
	go c.Exec(context.Background(), "BACKUP TO '"+backups+"' WITH (rate = '8MB')")
	for {
		if files, _ := filepath.Glob(filepath.Join(backups, "files", "*", "*")); len(files) >= 6 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	p.Kill()
	if out, err := tributary(t, "verify", backups); err != nil || !strings.Contains(out, "0 backups") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if out, err := tributary(t, "restore", "--from", backups, "--data", filepath.Join(t.TempDir(), "x")); err == nil {
		t.Errorf("a backup that was cut off was restored: %s", out)
	}
	p = startProcess(t, p.data, p.Cluster)
	c = p.connect()
	b := backupTo(t, c, backups, "")
	if b.written >= b.bytes {
		t.Errorf("all of %d bytes were written again", b.bytes)
	}
	again := backupTo(t, c, backups, "WITH (keep = 1)")
	if again.written != 0 {
		t.Errorf("%d bytes were written again", again.written)
	}
	do(t, c, "DROP TABLE t0")
	last := backupTo(t, c, backups, "WITH (keep = 1)")
	if names, _ := filepath.Glob(filepath.Join(backups, "backups", "*")); len(names) != 1 {
		t.Errorf("keep = 1 left %d backups", len(names))
	}
	files, _ := filepath.Glob(filepath.Join(backups, "files", "*", "*"))
	if int64(len(files)) != last.files {
		t.Errorf("there are %d files, the backup has %d", len(files), last.files)
	}

	// Damage is named, and not restored.
	f, err := os.OpenFile(files[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("damage"), 1000); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if out, err := tributary(t, "verify", backups); err == nil || !strings.Contains(out, filepath.Base(files[0])) {
		t.Errorf("verify of a damaged file: %v\n%s", err, out)
	}
	data := filepath.Join(t.TempDir(), "damaged")
	if out, err := tributary(t, "restore", "--from", backups, "--data", data); err == nil || !strings.Contains(out, filepath.Base(files[0])) {
		t.Errorf("restore of a damaged file: %v\n%s", err, out)
	}
	if out, err := tributary(t, "serve", "--data", data, "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0"); err == nil {
		t.Errorf("a directory of a failed restore was served: %s", out)
	}
}
