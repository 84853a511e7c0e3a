// Command bench measures a database through its Postgres connection: TPC-H, TPC-DS, ClickBench, the
// group-by and join questions of db-benchmark, and the training of models. It does not
// depend on the engine, so that the same run measures any server that speaks the
// protocol; the scripts in peer measure other systems on the same rows.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tributarydb/tributary/cmd/flags"
)

// Options are the options of a run.
type Options struct {
	DSN       string // a Postgres URL or key=value text; empty: a node of our own
	Runs      int    // timed runs after the first
	JSON      string // file for the results
	ServerPID []int  // whose CPU time is reported; empty: none, or our own node's

	SF       float64
	Queries  []int // empty: all
	Keys     bool  // with primary keys
	LoadOnly bool
	Reload   bool
	Export   string // directory for csv files
	Answers  string // directory to write answers to
	Check    string // directory of a peer's answers
	Peer     string // file of a peer's results

	Rows     int64 // of the group-by table
	Samples  int64 // of the training table
	Features int
	C        float64 // inverse of the L2 penalty

	TPCDS   string // directory of TPC-DS's tables and queries
	Hits    string // file of ClickBench's table
	Flights string // file of flights for trees
	Loads   string // directory of the files to load
	Dir     string // directory of the queries of sql, or of clickbench

	Node NodeOptions
}

// NodeOptions are those of the node that is started when no DSN is given.
type NodeOptions struct {
	Program string // "": see startNode
	Data    string // kept when given, otherwise temporary
	Memory  string
	Threads int
	Bucket  bool // its files are in a bucket of an object store in this process
}

// run is one invocation.
type run struct {
	o    Options
	dsn  string
	conn *pgx.Conn
	out  io.Writer
	pids []int // whose CPU time is reported
	all  []report
}

var suites = []struct {
	name, short string
	queries     int // their numbers are from 1 to this
	run         func(*run, context.Context) error
}{
	{"tpch", "the 22 queries of TPC-H on dbgen's rows", 22, (*run).tpch},
	{"tpcds", "the 99 queries of TPC-DS, on the tables of a directory (--tpcds)", 99, (*run).tpcds},
	{"clickbench", "the 43 queries of ClickBench, on the table of a file (--hits)", 42, (*run).clickbench},
	{"loads", "statements that write many rows, from the files of a directory (--loads)", 8, (*run).loads},
	{"groupby", "the 10 group-by questions of db-benchmark", 10, (*run).groupby},
	{"features", "70 queries that make features of events", 70, (*run).features},
	{"sql", "the queries of a directory (--dir)", math.MaxInt32, (*run).sql},
	{"joins", "the 5 join questions of db-benchmark, summed up and then kept", 10, (*run).joins},
	{"logistic", "a logistic regression trained by L-BFGS", 0, (*run).logistic},
	{"ridge", "a ridge regression of five times the rows and five sevenths of the features", 0, (*run).ridge},
	{"trees", "boosted trees and a forest, with the AUC of rows they have not seen", 0, (*run).trees},
}

func allNames() (names []string) {
	for _, s := range suites {
		names = append(names, s.name)
	}
	return names
}

// bench runs the command with args and writes to out.
func bench(ctx context.Context, args []string, out io.Writer) (err error) {
	o, names, err := parseArgs(args, out)
	if err != nil {
		return err
	}
	b := &run{o: o, dsn: o.DSN, out: out, pids: o.ServerPID}
	if b.exportOnly(names) {
		return b.tpchExport(ctx)
	}
	if b.dsn == "" {
		n, startErr := startNode(ctx, o.Node)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, n.stop()) }()
		b.dsn, b.pids = n.dsn, []int{n.pid}
	}
	if b.conn, err = pgx.Connect(ctx, b.dsn); err != nil {
		return err
	}
	defer b.conn.Close(context.WithoutCancel(ctx))
	for _, s := range suites {
		if slices.Contains(names, s.name) {
			if err := s.run(b, ctx); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return errors.Join(b.beside(), b.finish(ctx))
}

// exportOnly reports whether only csv files are wanted: no server is needed.
func (b *run) exportOnly(names []string) bool {
	return b.o.Export != "" && b.o.DSN == "" && b.o.LoadOnly && slices.Equal(names, []string{"tpch"})
}

func usage() string {
	var b strings.Builder
	b.WriteString("Usage: tributary bench [flags] {" + strings.Join(allNames(), "|") + "|all} [flags]\n")
	for _, s := range suites {
		fmt.Fprintf(&b, "  %-10s %s\n", s.name, s.short)
	}
	return b.String()
}

func parseArgs(args []string, out io.Writer) (o Options, names []string, err error) {
	fs := flags.New("bench", usage())
	fs.SetOutput(out)
	fs.StringVar(&o.DSN, "dsn", "", "server to measure, as postgres://user@host:port/database (default: a node of its own in a temporary directory)")
	fs.IntVar(&o.Runs, "runs", 5, "timed runs of each query after the cold one")
	fs.StringVar(&o.JSON, "json", "", "file to write the results to as JSON")
	pids := fs.String("server-pid", "", "processes, such as 17,18,19 of three nodes, whose CPU time together is reported beside the time on the clock (default: our own node's)")
	fs.Float64Var(&o.SF, "sf", 1, "tpch: scale factor; a whole number, or a part of 1")
	queries := fs.String("queries", "", "numbers of the queries, such as 1,3,6 (default: all)")
	fs.BoolVar(&o.Keys, "keys", false, "tpch: create the tables with primary keys")
	fs.BoolVar(&o.LoadOnly, "load-only", false, "load the tables and end")
	fs.BoolVar(&o.Reload, "reload", false, "replace tables that are there")
	fs.StringVar(&o.Export, "export", "", "directory to write the same rows to for peers, tpch as csv and trainings as NumPy files; tpch with --load-only and no --dsn does nothing else")
	fs.StringVar(&o.Answers, "answers", "", "directory to write the answers to as csv files")
	fs.StringVar(&o.Check, "check", "", "directory of a peer's answers to compare with")
	fs.StringVar(&o.Peer, "peer", "", "a peer's results (its script's --json), whose times are printed beside")
	fs.StringVar(&o.Dir, "dir", "", "sql: directory of queries, the lines of queries.sql or one a file, run in the order of their names, after create.sql if there is one; clickbench: where queries.sql is (default: beside --hits)")
	fs.Int64Var(&o.Rows, "rows", 10_000_000, "groupby, features, joins: rows of the table")
	fs.Int64Var(&o.Samples, "samples", 1_000_000, "trainings: rows; ridge has five times as many")
	fs.IntVar(&o.Features, "features", 28, "trainings: features; ridge has five sevenths")
	fs.Float64Var(&o.C, "c", 1, "logistic: inverse of the L2 penalty, as scikit-learn's C")
	fs.StringVar(&o.TPCDS, "tpcds", "", "tpcds: directory with the tables as Parquet or csv files, which the server reads, and the texts as queries/01.sql to 99.sql")
	fs.StringVar(&o.Hits, "hits", "", "clickbench: Parquet file of its table hits, which the server reads")
	fs.StringVar(&o.Loads, "loads", "", "loads: directory of the files to load, which `duckdb_peer.py load-data` makes and the server reads")
	fs.StringVar(&o.Flights, "flights", "", "trees: Parquet file of flights (date, delay, distance, origin, destination), to learn which are late")
	fs.StringVar(&o.Node.Program, "program", "", "program of the node of its own (default: that of `tributary bench`, or built from the sources)")
	fs.StringVar(&o.Node.Data, "data", "", "directory of the node of its own, which is then kept")
	fs.StringVar(&o.Node.Memory, "memory", "", "memory of the node of its own, such as 4GiB")
	fs.IntVar(&o.Node.Threads, "threads", 0, "threads of the node of its own (default: the cores)")
	fs.BoolVar(&o.Node.Bucket, "bucket", false, "the node of its own keeps its files in a bucket of an object store in this process (--storage)")
	if err := fs.Parse(args); err != nil {
		return o, nil, err
	}
	names = fs.Args()
	most := 0
	if names, most, err = suiteNames(names, o); err != nil {
		return o, nil, err
	}
	if o.Runs < 1 || o.Rows < 1 || o.Samples < 1 || o.Features < 1 {
		return o, nil, errors.New("--runs, --rows, --samples and --features are at least 1")
	}
	least := 1
	if slices.Contains(names, "clickbench") || slices.Contains(names, "sql") {
		least = 0
	}
	if o.Queries, err = numbers("queries", *queries, least, most); err == nil {
		o.ServerPID, err = numbers("server-pid", *pids, 1, math.MaxInt32)
	}
	return o, names, err
}

// numbers parses a flag of integers from least to most, separated by commas.
func numbers(name, text string, least, most int) (out []int, err error) {
	for _, q := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(strings.TrimSpace(q))
		if err != nil || n < least || n > most {
			return nil, fmt.Errorf("--%s %q: numbers from %d to %d, separated by commas", name, text, least, most)
		}
		out = append(out, n)
	}
	return out, nil
}

// suiteNames returns the requested suites, in order, and the highest query number among
// them.
func suiteNames(given []string, o Options) (names []string, most int, err error) {
	needs := map[string]struct{ given, what string }{
		"tpcds":      {o.TPCDS, "--tpcds with the directory of its tables and queries"},
		"clickbench": {o.Hits, "--hits with the file of its table"},
		"loads":      {o.Loads, "--loads with the directory of its files"},
		"sql":        {o.Dir, "--dir with the directory of its queries"},
	}
	for _, s := range suites {
		asked := slices.Contains(given, s.name)
		if n, ok := needs[s.name]; ok && n.given == "" {
			if asked {
				return nil, 0, errors.New(s.name + " needs " + n.what)
			}
			continue
		}
		if asked || slices.Contains(given, "all") {
			names, most = append(names, s.name), max(most, s.queries)
		}
	}
	for _, g := range given {
		if g != "all" && !slices.Contains(names, g) {
			return nil, 0, fmt.Errorf("there is no benchmark %q; there are %s and all", g, strings.Join(allNames(), ", "))
		}
	}
	if len(names) == 0 {
		return nil, 0, fmt.Errorf("which benchmark? %s or all", strings.Join(allNames(), ", "))
	}
	return names, most, nil
}

// wants reports whether a query was requested.
func (b *run) wants(n int) bool { return len(b.o.Queries) == 0 || slices.Contains(b.o.Queries, n) }

func (b *run) say(format string, args ...any) { fmt.Fprintf(b.out, format+"\n", args...) }

func (b *run) exec(ctx context.Context, sql string) error {
	_, err := b.conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// there reports whether a table of this name is on the search path.
func (b *run) there(ctx context.Context, table string) (bool, error) {
	var name *string
	err := b.conn.QueryRow(ctx, "SELECT to_regclass($1)::text", table).Scan(&name)
	return name != nil, err
}

func (b *run) count(ctx context.Context, table string) (n int64, err error) {
	err = b.conn.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	return n, err
}

// analyze gathers statistics, on servers that need it.
func (b *run) analyze(ctx context.Context) error { return b.exec(ctx, "ANALYZE") }
