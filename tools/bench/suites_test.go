package main

import (
	"encoding/csv"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributarydb/tributary/internal/process"
)

// built is the program that the tests measure.
var built struct {
	sync.Once
	path string
	err  error
}

func program(t *testing.T) string {
	t.Helper()
	built.Do(func() { built.path, built.err = process.Build(directory) })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

var directory string // for the program

func TestMain(m *testing.M) {
	var err error
	if directory, err = os.MkdirTemp("", "bench-"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(directory); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// TestBenchTPCH loads TPC-H at scale factor 0.01, runs every query and compares three answers with
// what this test computes from the CSV files.
func TestBenchTPCH(t *testing.T) {
	files, answers, want := t.TempDir(), t.TempDir(), t.TempDir()
	n, err := startNode(t.Context(), NodeOptions{Program: program(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.stop(); err != nil {
			t.Error(err)
		}
	}()
	var out strings.Builder
	if err := bench(t.Context(), []string{"tpch", "--dsn", n.dsn, "--sf", "0.01", "--load-only", "--export", files}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	lines, orders, customers := readTable(t, files, "lineitem"), readTable(t, files, "orders"), readTable(t, files, "customer")
	pairs := map[string]bool{}
	for _, ps := range readTable(t, files, "partsupp") {
		pairs[ps["ps_partkey"]+"/"+ps["ps_suppkey"]] = true
	}
	for _, l := range lines {
		if !pairs[l["l_partkey"]+"/"+l["l_suppkey"]] {
			t.Fatalf("line %v is of no partsupp", l)
		}
	}
	writeAnswer(t, want, "tpch-q01", slowQ1(lines))
	writeAnswer(t, want, "tpch-q03", slowQ3(lines, orders, customers))
	writeAnswer(t, want, "tpch-q06", slowQ6(lines))

	out.Reset()
	err = bench(t.Context(), []string{"--dsn", n.dsn, "--sf", "0.01", "tpch", "--runs", "1", "--queries", "1,3,6", "--check", want}, &out)
	if err != nil || strings.Count(out.String(), "| same |") != 3 {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := bench(t.Context(), []string{"tpch", "--dsn", n.dsn, "--sf", "0.01", "--runs", "1", "--answers", answers}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	made, err := filepath.Glob(filepath.Join(answers, "tpch-q*.csv"))
	if err != nil || len(made) != 22 {
		t.Errorf("%d answers, %v\n%s", len(made), err, out.String())
	}
}

// TestBenchTPCDS runs queries over tables of a directory, which are loaded once, and reports the
// queries whose answers differ from the expected ones.
func TestBenchTPCDS(t *testing.T) {
	dir, answers := t.TempDir(), t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range strings.Fields("call_center catalog_page catalog_returns catalog_sales customer customer_address customer_demographics date_dim " +
		"household_demographics income_band inventory item promotion reason ship_mode store store_returns time_dim warehouse web_page web_returns web_sales web_site") {
		put(table+".csv", "k\n1\n")
	}
	put("store_sales.csv", "ss_item_sk,ss_quantity\n1,2\n1,3\n2,4\n")
	put("queries/01.sql", "SELECT ss_item_sk, sum(ss_quantity) q FROM store_sales GROUP BY ss_item_sk ORDER BY 1;")
	put("queries/99.sql", "SELECT count(*) n FROM inventory;")
	writeAnswer(t, answers, "tpcds-q01", [][]string{{"ss_item_sk", "q"}, {"1", "5"}, {"2", "4"}})
	writeAnswer(t, answers, "tpcds-q99", [][]string{{"n"}, {"2"}})
	data := t.TempDir()
	for range 2 { // the first run loads the tables, the second finds them loaded
		var out strings.Builder
		err := bench(t.Context(), []string{"tpcds", "--tpcds", dir, "--program", program(t), "--data", data, "--runs", "1", "--queries", "1,99", "--check", answers}, &out)
		if err == nil || !strings.Contains(err.Error(), "1 failed or answered differently: tpcds q99") || strings.Count(out.String(), "| same |") != 1 {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
	put("store_sales.csv", "ss_item_sk,ss_quantity\n1,2\n")
	var out strings.Builder
	err := bench(t.Context(), []string{"tpcds", "--tpcds", dir, "--program", program(t), "--data", data, "--queries", "1"}, &out)
	if err == nil || !strings.Contains(err.Error(), "give --reload") {
		t.Errorf("other tables than the directory's: %v", err)
	}
}

// TestBenchClickBench loads a table whose days, seconds and texts are as ClickBench publishes them, and runs the lines
// of queries.sql beside a peer's times.
func TestBenchClickBench(t *testing.T) {
	dir, answers, data := t.TempDir(), t.TempDir(), t.TempDir()
	hits, peer := filepath.Join(dir, "hits.parquet"), filepath.Join(dir, "peer.json")
	n, err := startNode(t.Context(), NodeOptions{Program: program(t), Data: data})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.stop(); err != nil {
			t.Error(err)
		}
	}()
	conn, err := pgx.Connect(t.Context(), n.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	copyOut := `COPY (SELECT i::bigint AS "UserID", (15887 + i % 3)::int AS "EventDate", (1372712730 + i)::bigint AS "EventTime",
		('http://a.ru/' || i)::bytea AS "URL" FROM generate_series(1, 9) i) TO '` + hits + `' (FORMAT parquet)`
	if _, err := conn.Exec(t.Context(), copyOut); err != nil {
		t.Fatal(err)
	}
	args := []string{"clickbench", "--hits", hits, "--dsn", n.dsn, "--runs", "1", "--check", answers, "--peer", peer}
	var out strings.Builder
	if err := bench(t.Context(), args, &out); err == nil || !strings.Contains(err.Error(), "has no queries.sql") {
		t.Errorf("without queries: %v", err)
	}
	for path, text := range map[string]string{
		filepath.Join(dir, "queries.sql"): "SELECT COUNT(*) AS n FROM hits;\nSELECT MIN(EventDate) AS d, MAX(EventTime) AS e FROM hits;\nSELECT URL AS u FROM hits WHERE URL LIKE '%7';\n",
		peer:                              `{"server": "a peer", "results": [{"suite": "clickbench", "name": "q02", "min": 0.5}]}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	writeAnswer(t, answers, "clickbench-q00", [][]string{{"n"}, {"9"}})
	writeAnswer(t, answers, "clickbench-q01", [][]string{{"d", "e"}, {"2013-07-01", "2013-07-01 21:05:39"}})
	writeAnswer(t, answers, "clickbench-q02", [][]string{{"u"}, {"http://a.ru/7"}})
	for range 2 { // the first run loads the table, the second finds it loaded
		out.Reset()
		err := bench(t.Context(), args, &out)
		if err != nil || strings.Count(out.String(), "| same |") != 3 || !strings.Contains(out.String(), "| clickbench q02 |") {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
	out.Reset()
	if err := bench(t.Context(), append(args, "--queries", "0"), &out); err != nil || strings.Count(out.String(), "| same |") != 1 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestBenchGroupbyJoinsAndTrainings(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	err := bench(t.Context(), []string{"--program", program(t), "groupby", "features", "joins", "logistic", "ridge", "trees", "--rows", "20000", "--samples", "5000", "--features", "4", "--runs", "1",
		"--answers", dir, "--export", dir, "--json", filepath.Join(dir, "out.json")}, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if n := strings.Count(out.String(), "| q"); n != 90 {
		t.Errorf("%d questions of 90\n%s", n, out.String())
	}
	for name, want := range map[string]int64{"logistic-x.npy": 5000 * 4 * 4, "logistic-y.npy": 5000 * 4, "ridge-x.npy": 25000 * 2 * 4, "ridge-y.npy": 25000 * 4} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil || (st.Size()-want)%64 != 0 || st.Size() <= want {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	for _, name := range []string{"boosted", "categories", "forest"} {
		rows := readTable(t, dir, "trees-"+name)
		if want := map[bool]int{true: 1875, false: 6250}[name == "forest"]; len(rows) != want {
			t.Errorf("%s: %d rows for the peer, want %d", name, len(rows), want)
		}
		_, after, _ := strings.Cut(out.String(), "\n"+name+": AUC ")
		if auc, err := strconv.ParseFloat(strings.Fields(after + " none")[0], 64); err != nil || auc < 0.9 {
			t.Errorf("%s: AUC %v, %v", name, auc, err)
		}
	}
	// The expected numbers of rows: there are 200 large keys, and 20,000 rows in all; the outer join
	// returns all of them, and nine tenths have a match in the big table.
	for _, c := range []struct{ file, rows string }{{"groupby-q03", "200"}, {"groupby-q01", "100"}, {"joins-q03", "20000"}, {"joins-q05", "18000"}, {"joins-q08", "20000"}, {"joins-q10", "18000"}} {
		if got := readTable(t, dir, c.file); len(got) != 1 || got[0]["count"] != c.rows {
			t.Errorf("%s: %v, want %s", c.file, got, c.rows)
		}
	}
}

func readTable(t *testing.T, dir, name string) []map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, r := range rows[1:] {
		m := map[string]string{}
		for i, v := range r {
			m[rows[0][i]] = v
		}
		out = append(out, m)
	}
	return out
}

func writeAnswer(t *testing.T, dir, name string, rows [][]string) {
	t.Helper()
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.Join(r, ",") + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, name+".csv"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func cents(s string) int64 {
	n, err := strconv.ParseInt(strings.Replace(s, ".", "", 1), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// decimal writes n with this many decimal places.
func decimal(n *big.Int, places int) string {
	return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)).FloatString(places)
}

func slowQ1(lines []map[string]string) [][]string {
	type group struct {
		qty, price, disc, n int64
		net, charge         big.Int
	}
	groups := map[string]*group{}
	for _, l := range lines {
		if l["l_shipdate"] > "1998-09-02" {
			continue
		}
		k := l["l_returnflag"] + "," + l["l_linestatus"]
		if groups[k] == nil {
			groups[k] = &group{}
		}
		g, price, disc := groups[k], cents(l["l_extendedprice"]), cents(l["l_discount"])
		q, err := strconv.ParseInt(l["l_quantity"], 10, 64)
		if err != nil {
			panic(err)
		}
		g.n++
		g.qty += q
		g.price += price
		g.disc += disc
		g.net.Add(&g.net, big.NewInt(price*(100-disc)))
		g.charge.Add(&g.charge, big.NewInt(price*(100-disc)*(100+cents(l["l_tax"]))))
	}
	out := [][]string{{"l_returnflag", "l_linestatus", "sum_qty", "sum_base_price", "sum_disc_price", "sum_charge", "avg_qty~", "avg_price~", "avg_disc~", "count_order"}}
	var keys []string
	for k := range groups {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		g := groups[k]
		n := float64(g.n)
		out = append(out, []string{k, fmt.Sprint(g.qty), decimal(big.NewInt(g.price), 2), decimal(&g.net, 4), decimal(&g.charge, 6),
			fmt.Sprint(float64(g.qty) / n), fmt.Sprint(float64(g.price) / 100 / n), fmt.Sprint(float64(g.disc) / 100 / n), fmt.Sprint(g.n)})
	}
	return out
}

func slowQ3(lines, orders, customers []map[string]string) [][]string {
	building := map[string]bool{}
	for _, c := range customers {
		building[c["c_custkey"]] = c["c_mktsegment"] == "BUILDING"
	}
	type row struct {
		key, date string
		revenue   int64
	}
	open := map[string]*row{}
	for _, o := range orders {
		if building[o["o_custkey"]] && o["o_orderdate"] < "1995-03-15" {
			open[o["o_orderkey"]] = &row{key: o["o_orderkey"], date: o["o_orderdate"]}
		}
	}
	for _, l := range lines {
		if r := open[l["l_orderkey"]]; r != nil && l["l_shipdate"] > "1995-03-15" {
			r.revenue += cents(l["l_extendedprice"]) * (100 - cents(l["l_discount"]))
		}
	}
	var rows []*row
	for _, r := range open {
		if r.revenue > 0 {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *row) int {
		if a.revenue != b.revenue {
			return int(b.revenue - a.revenue)
		}
		return strings.Compare(a.date, b.date)
	})
	out := [][]string{{"l_orderkey", "revenue", "o_orderdate", "o_shippriority"}}
	for _, r := range rows[:10] {
		out = append(out, []string{r.key, decimal(big.NewInt(r.revenue), 4), r.date, "0"})
	}
	return out
}

func slowQ6(lines []map[string]string) [][]string {
	var sum int64
	for _, l := range lines {
		d := cents(l["l_discount"])
		q, _ := strconv.Atoi(l["l_quantity"])
		if l["l_shipdate"] >= "1994-01-01" && l["l_shipdate"] < "1995-01-01" && d >= 5 && d <= 7 && q < 24 {
			sum += cents(l["l_extendedprice"]) * d
		}
	}
	return [][]string{{"revenue"}, {decimal(big.NewInt(sum), 4)}}
}
