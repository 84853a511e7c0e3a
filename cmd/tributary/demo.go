package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributarydb/tributary/cluster/node"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cmd/flags"
)

//go:embed demodata/*.gz
var demodata embed.FS

// demo shows the whole idea on real data: three nodes in one process, on temporary
// storage, accessed over the Postgres wire protocol like any other cluster.
func demo(ctx context.Context, args []string) error {
	fs := flags.New("demo", "")
	exit := fs.Bool("exit", false, "exit after the last step instead of staying up")
	if err := fs.Parse(args); err != nil {
		return err
	}
	d := &demonstration{out: os.Stdout, start: time.Now()}
	defer d.close()
	if err := d.up(ctx); err != nil {
		return err
	}
	if err := d.play(ctx); err != nil {
		return err
	}
	if *exit {
		return nil
	}
	fmt.Fprintf(d.out, "\nThe cluster stays up. Connect with\n\n    psql -h 127.0.0.1 -p %d -U tributary tributary\n\nand look at http://%s/. Ctrl-C ends it.\n", port(d.nodes[0].pg), d.nodes[0].http.Addr())
	<-ctx.Done()
	return nil
}

type demonstration struct {
	out   io.Writer
	start time.Time
	dir   string
	nodes []*server
	conns []*pgx.Conn
}

func (d *demonstration) close() {
	for _, c := range d.conns {
		_ = c.Close(context.Background())
	}
	for _, n := range d.nodes {
		if n != nil {
			_ = n.close(time.Second)
		}
	}
	if d.dir != "" {
		_ = os.RemoveAll(d.dir)
	}
}

func port(ln net.Listener) int { return ln.Addr().(*net.TCPAddr).Port }

// pgAddress returns 127.0.0.1:5432, or the next port that is free.
func pgAddress() string {
	for p := 5432; p < 5532; p++ {
		addr := fmt.Sprintf("127.0.0.1:%d", p)
		if ln, err := net.Listen("tcp", addr); err == nil {
			_ = ln.Close()
			return addr
		}
	}
	return "127.0.0.1:0"
}

// up starts the three nodes, each joining the first.
func (d *demonstration) up(ctx context.Context) (err error) {
	if d.dir, err = os.MkdirTemp("", "tributary-demo-"); err != nil {
		return err
	}
	d.say("Three nodes in one process, on %s", d.dir)
	var join []string
	secret := rpc.NewSecret()
	for i := 1; i <= 3; i++ {
		name := fmt.Sprintf("node-%d", i)
		o := node.Options{Data: filepath.Join(d.dir, name), Name: name, ListenCluster: "127.0.0.1:0", Join: join, Secret: secret, Threads: runtime.GOMAXPROCS(0),
			Memory: 0, Log: slog.New(slog.DiscardHandler)}
		addr := "127.0.0.1:0"
		if i == 1 {
			addr = pgAddress()
		}
		s, err := startServer(ctx, o, addr, "127.0.0.1:0", false, new(access))
		if err != nil {
			return err
		}
		d.nodes = append(d.nodes, s)
		join = []string{d.nodes[0].node.ClusterAddr()}
		c, err := d.connect(ctx, s)
		if err != nil {
			return err
		}
		d.conns = append(d.conns, c)
		fmt.Fprintf(d.out, "  %s  postgres %s  page http://%s/\n", name, s.pg.Addr(), s.http.Addr())
	}
	return nil
}

func (d *demonstration) connect(ctx context.Context, s *server) (*pgx.Conn, error) {
	conf, err := pgx.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%d user=tributary dbname=tributary sslmode=disable", port(s.pg)))
	if err != nil {
		return nil, err
	}
	conf.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { fmt.Fprintln(d.out, "  "+n.Message) }
	return pgx.ConnectConfig(ctx, conf)
}

func (d *demonstration) say(format string, args ...any) {
	fmt.Fprintf(d.out, "\n%5.1fs  %s\n", time.Since(d.start).Seconds(), fmt.Sprintf(format, args...))
}

// run sends a statement to node i, prints the result and returns its rows.
func (d *demonstration) run(ctx context.Context, i int, sql string) ([][]string, error) {
	fmt.Fprintf(d.out, "\n%s=# %s\n", fmt.Sprintf("node-%d", i+1), strings.ReplaceAll(sql, "\n", "\n          "))
	rows, err := d.conns[i].Query(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var head []string
	for _, f := range rows.FieldDescriptions() {
		head = append(head, f.Name)
	}
	var out [][]string
	for rows.Next() {
		var line []string
		for _, v := range rows.RawValues() {
			line = append(line, string(v))
		}
		out = append(out, line)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(head) > 0 {
		printTable(d.out, head, out)
	}
	if tag := rows.CommandTag().String(); len(head) == 0 {
		fmt.Fprintln(d.out, tag)
	}
	return out, nil
}

func (d *demonstration) load(ctx context.Context, table, file string) error {
	z, err := demodata.ReadFile("demodata/" + file)
	if err != nil {
		return err
	}
	r, err := gzip.NewReader(bytes.NewReader(z))
	if err != nil {
		return err
	}
	tag, err := d.conns[0].PgConn().CopyFrom(ctx, r, "COPY "+table+" FROM STDIN (FORMAT csv, HEADER)")
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "node-1=# \\copy %s from '%s' (format csv, header)\n%s\n", table, file, tag)
	return nil
}

const trainSQL = `TRAIN OR REPLACE MODEL late USING logistic_regression PREDICT late
WITH (max_iterations = 60) AS
SELECT delay > 15 AS late, extract(hour FROM departed)::int4 AS hour, extract(isodow FROM departed)::text AS weekday,
       extract(month FROM departed)::text AS month, distance, origin, destination
FROM flights WHERE extract(day FROM departed) <= 24`

// play runs the demo's steps.
func (d *demonstration) play(ctx context.Context) error {
	type step struct {
		say  string
		node int
		sql  string
		do   func() error
	}
	var first string
	hash := func() (string, error) {
		rows, err := d.run(ctx, 1, "SELECT name, version, rows, train_loss, sha256 FROM ml.models")
		if err != nil || len(rows) != 1 {
			return "", errors.Join(err, errors.New("the model is not there"))
		}
		return rows[0][4], nil
	}
	steps := []step{
		{say: "Load: 150,000 US flights of 2001 and the airports (U.S. Bureau of Transportation Statistics, data.gov)", sql: "CREATE TABLE airports (iata text PRIMARY KEY, name text, city text, state text, country text, latitude float8, longitude float8)"},
		{sql: "CREATE TABLE flights (departed timestamp NOT NULL, delay int4, distance int4, origin text, destination text) WITH (partitions = 6)"},
		{do: func() error { return d.load(ctx, "airports", "airports.csv.gz") }},
		{do: func() error { return d.load(ctx, "flights", "flights.csv.gz") }},
		{say: "Look, through another node", node: 1, sql: "SELECT * FROM flights ORDER BY departed LIMIT 3"},
		{node: 1, sql: "SELECT name, state, leader FROM cluster.nodes ORDER BY name"},
		{say: "Join and aggregate", node: 2, sql: `SELECT a.city, a.state, count(*) AS flights, round(avg(f.delay), 1) AS mean_delay,
       round(100.0 * count(*) FILTER (WHERE f.delay > 15) / count(*), 1) AS late_percent
FROM flights f JOIN airports a ON a.iata = f.origin
GROUP BY a.city, a.state HAVING count(*) > 2000 ORDER BY late_percent DESC LIMIT 5`},
		{say: "Train on the days up to the 24th of each month: is a flight late?", node: 0, sql: trainSQL},
		{sql: "SELECT iteration, train_loss FROM ml.training_history WHERE model = 'late' ORDER BY iteration", do: nil},
		{say: "Evaluate on the other days", node: 1, sql: `SELECT * FROM ml.evaluate('late', (SELECT delay > 15 AS late, extract(hour FROM departed)::int4 AS hour,
       extract(isodow FROM departed)::text AS weekday, extract(month FROM departed)::text AS month, distance, origin, destination
FROM flights WHERE extract(day FROM departed) > 24))`},
		{say: "Predict, with a plain SELECT", node: 2, sql: `SELECT departed, origin, destination, delay, round(predict_proba('late', hour => extract(hour FROM departed)::int4,
       weekday => extract(isodow FROM departed)::text, month => extract(month FROM departed)::text, distance => distance,
       origin => origin, destination => destination)::numeric, 3) AS chance_of_being_late
FROM flights WHERE extract(day FROM departed) > 24 ORDER BY chance_of_being_late DESC LIMIT 5`},
	}
	for _, s := range steps {
		if s.say != "" {
			d.say("%s", s.say)
		}
		switch {
		case s.do != nil:
			if err := s.do(); err != nil {
				return err
			}
		case strings.Contains(s.sql, "ml.training_history"):
			if err := d.curve(ctx, s.sql); err != nil {
				return err
			}
		default:
			if _, err := d.run(ctx, s.node, s.sql); err != nil {
				return err
			}
		}
	}
	var err error
	if first, err = hash(); err != nil {
		return err
	}
	return d.killAndRepeat(ctx, first, hash)
}

// killAndRepeat kills the third node, trains again and compares the models' bytes.
func (d *demonstration) killAndRepeat(ctx context.Context, first string, hash func() (string, error)) error {
	d.say("Kill node-3, then train the same statement again")
	_ = d.conns[2].Close(ctx)
	_ = d.nodes[2].close(0)
	d.nodes[2] = nil
	for range 100 {
		var state string
		if err := d.conns[1].QueryRow(ctx, "SELECT state FROM cluster.nodes WHERE name = 'node-3'").Scan(&state); err != nil {
			return err
		}
		if state == "down" {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	if _, err := d.run(ctx, 1, "SELECT name, state, leader FROM cluster.nodes ORDER BY name"); err != nil {
		return err
	}
	if _, err := d.run(ctx, 0, trainSQL); err != nil {
		return err
	}
	second, err := hash()
	if err != nil {
		return err
	}
	if first != second {
		return fmt.Errorf("the models differ: %s and %s", first, second)
	}
	d.say("Both models have the same bytes: sha256 %s", second)
	return nil
}

// curve draws the losses of the training.
func (d *demonstration) curve(ctx context.Context, sql string) error {
	rows, err := d.conns[0].Query(ctx, sql)
	if err != nil {
		return err
	}
	type point struct {
		n    int32
		loss float64
	}
	points, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (p point, err error) {
		return p, r.Scan(&p.n, &p.loss)
	})
	if err != nil || len(points) == 0 {
		return err
	}
	lo, hi := points[len(points)-1].loss, points[0].loss
	fmt.Fprintf(d.out, "\nnode-1=# %s\n", sql)
	step := max(1, len(points)/12)
	for i, p := range points {
		if i%step != 0 && i != len(points)-1 {
			continue
		}
		width := 1
		if hi > lo {
			width += int(48 * (p.loss - lo) / (hi - lo))
		}
		fmt.Fprintf(d.out, "  %3d  %.6f  %s\n", p.n, p.loss, strings.Repeat("█", width))
	}
	return nil
}
