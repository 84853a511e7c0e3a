package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributarydb/tributary/cluster/node"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cmd/flags"
	"github.com/tributarydb/tributary/cmd/shell"
)

//go:embed demodata/*.gz demodata/*.zst
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
	fmt.Fprintf(d.out, next, port(d.nodes[0].pg), os.Args[0], port(d.nodes[0].pg), d.nodes[0].http.Addr())
	<-ctx.Done()
	return nil
}

const next = `
The cluster stays up until Ctrl-C. From another terminal:

    psql -h 127.0.0.1 -p %d -U tributary tributary
    %s sql -h 127.0.0.1 -p %d
    http://%s/                      the console, in a browser

Then type, for example:

    SELECT * FROM ml.feature_importance('late');
    SELECT * FROM ml.explain_predict('late', (SELECT * FROM examples LIMIT 3));
    CREATE TABLE mine AS SELECT * FROM read_csv('/path/to/your.csv');
`

type demonstration struct {
	out   io.Writer
	start time.Time
	dir   string
	nodes []*server
	conn  *pgx.Conn // to the first node
}

func (d *demonstration) close() {
	if d.conn != nil {
		_ = d.conn.Close(context.Background())
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

// freeAddress returns a port of 127.0.0.1, or the next that is free.
func freeAddress(from int) string {
	for p := from; p < from+100; p++ {
		addr := fmt.Sprintf("127.0.0.1:%d", p)
		if ln, err := net.Listen("tcp", addr); err == nil {
			_ = ln.Close()
			return addr
		}
	}
	return "127.0.0.1:0"
}

// up starts the three nodes, each joining the first, and lays out the files.
func (d *demonstration) up(ctx context.Context) (err error) {
	if d.dir, err = os.MkdirTemp("", "tributary-demo-"); err != nil {
		return err
	}
	if err := os.CopyFS(d.dir, demodata); err != nil {
		return err
	}
	d.say("Three nodes in one process, on %s", d.dir)
	var join []string
	secret := rpc.NewSecret()
	for i := 1; i <= 3; i++ {
		name := fmt.Sprintf("node-%d", i)
		o := node.Options{Data: filepath.Join(d.dir, name), Name: name, ListenCluster: "127.0.0.1:0", Join: join, Secret: secret, Threads: cores,
			Memory: 0, Log: slog.New(slog.DiscardHandler)}
		pg, http := "127.0.0.1:0", "127.0.0.1:0"
		if i == 1 {
			pg, http = freeAddress(5432), freeAddress(8080)
		}
		s, err := startServer(ctx, o, pg, http, false, new(access))
		if err != nil {
			return err
		}
		d.nodes = append(d.nodes, s)
		join = []string{d.nodes[0].node.ClusterAddr()}
		fmt.Fprintf(d.out, "  %s  postgres %s  console http://%s/\n", name, s.pg.Addr(), s.http.Addr())
	}
	d.conn, err = pgx.Connect(ctx, d.dsn(0))
	return err
}

func (d *demonstration) dsn(i int) string {
	return fmt.Sprintf("postgres://tributary@%s/tributary?sslmode=disable&client_min_messages=warning", d.nodes[i].pg.Addr())
}

func (d *demonstration) say(format string, args ...any) {
	fmt.Fprintf(d.out, "\n%5.1fs  %s\n", time.Since(d.start).Seconds(), fmt.Sprintf(format, args...))
}

// run shows a statement and what the shell prints for it on node i.
func (d *demonstration) run(ctx context.Context, i int, sql string) error {
	var out bytes.Buffer
	std := shell.IO{In: strings.NewReader(sql + ";\n"), Out: &out, Err: &out, Size: func() (int, int) { return 110, 0 }}
	err := shell.Main(ctx, []string{"--dsn", d.dsn(i), "--stop", "-P", "expanded=auto"}, std, nil)
	fmt.Fprintf(d.out, "\nnode-%d=# %s;\n%s", i+1, strings.ReplaceAll(sql, "\n", "\n          "), strings.TrimRight(out.String(), "\n")+"\n")
	return err
}

const trainSQL = `TRAIN OR REPLACE MODEL late USING boosted_trees PREDICT late
WITH (n_estimators = 50, learning_rate = 0.2, class_weights = 'balanced', data_split_col = 'held_out')
AS SELECT * FROM examples`

// steps are what is said and run; a text without a heading goes on with the one before.
var steps = []struct {
	say  string
	node int
	sql  string
}{
	{"Load: 150,000 US flights of 2001 and the airports (U.S. Bureau of Transportation Statistics, data.gov)", 0,
		"CREATE TABLE airports AS SELECT * FROM read_csv('$DIR/airports.csv.gz')"},
	{"", 0, "CREATE TABLE flights AS SELECT * FROM read_csv('$DIR/flights.csv.zst')"},
	{"Look, through another node", 1, "SELECT * FROM flights ORDER BY departed LIMIT 3"},
	{"", 1, "SELECT name, state, leader FROM cluster.nodes ORDER BY name"},
	{"Join and aggregate", 2, `SELECT a.city, a.state, count(*) AS flights, round(avg(f.delay), 1) AS mean_delay,
       round(100.0 * count(*) FILTER (WHERE f.delay > 15) / count(*), 1) AS late_percent
FROM flights f JOIN airports a ON a.iata = f.origin
GROUP BY a.city, a.state HAVING count(*) > 2000 ORDER BY late_percent DESC LIMIT 5`},
	{"Train boosted trees: is a flight late? Late ones are rare, so they weigh more; a fifth is held out", 0,
		`CREATE VIEW examples AS SELECT delay > 15 AS late, extract(hour FROM departed)::int AS hour, to_char(departed, 'Dy') AS weekday,
       extract(doy FROM departed)::int AS day, distance, origin, destination,
       hashtext(departed || origin || destination) % 5 = 0 AS held_out
FROM flights`},
	{"", 0, trainSQL},
	{"", 1, `SELECT iteration, round(train_loss::numeric, 4) AS train, round(validation_loss::numeric, 4) AS validation,
       repeat('█', ((validation_loss - 0.55) * 350)::int) AS curve
FROM ml.training_history WHERE model = 'late' AND iteration IN (1, 5, 10, 20, 30, 40, 50) ORDER BY iteration`},
	{"Measure, on the flights that were held out", 1,
		`SELECT round(accuracy::numeric, 3) AS accuracy, round(precision::numeric, 3) AS precision,
       round(recall::numeric, 3) AS recall, round(roc_auc::numeric, 3) AS roc_auc
FROM ml.evaluate('late')`},
	{"", 1, `SELECT expected_label AS late, sum(count) FILTER (WHERE NOT predicted_label) AS predicted_on_time,
       sum(count) FILTER (WHERE predicted_label) AS predicted_late
FROM ml.confusion_matrix('late', (SELECT * FROM examples WHERE held_out)) GROUP BY 1 ORDER BY 1`},
	{"Predict, with a plain SELECT", 2, `SELECT day, hour, origin, destination, late, round(predict_proba('late', e)::numeric, 3) AS chance_of_being_late
FROM examples e WHERE held_out ORDER BY chance_of_being_late DESC LIMIT 5`},
	{"", 2, modelsSQL},
}

const modelsSQL = "SELECT name, version, rows, sha256 FROM ml.model_versions ORDER BY version"

// play runs the steps, then kills the third node and compares the models' bytes.
func (d *demonstration) play(ctx context.Context) error {
	for _, s := range steps {
		if s.say != "" {
			d.say("%s", s.say)
		}
		if err := d.run(ctx, s.node, strings.ReplaceAll(s.sql, "$DIR", filepath.Join(d.dir, "demodata"))); err != nil {
			return err
		}
	}
	d.say("Kill node-3, then train the same statement again")
	_ = d.nodes[2].close(0)
	d.nodes[2] = nil
	for state := ""; state != "down"; {
		if err := d.conn.QueryRow(ctx, "SELECT state FROM cluster.nodes WHERE name = 'node-3'").Scan(&state); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	for _, s := range []string{"SELECT name, state, leader FROM cluster.nodes ORDER BY name", trainSQL, modelsSQL} {
		if err := d.run(ctx, 0, s); err != nil {
			return err
		}
	}
	var hashes int
	if err := d.conn.QueryRow(ctx, "SELECT count(DISTINCT sha256) FROM ml.model_versions").Scan(&hashes); err != nil {
		return err
	}
	if hashes != 1 {
		return errors.New("the two models differ")
	}
	d.say("Both models have the same bytes, with three nodes and with two")
	return nil
}
