package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// report is the measurement of one query or training. Times are in seconds.
type report struct {
	Suite  string  `json:"suite"`
	Name   string  `json:"name"`
	Cold   float64 `json:"cold"`
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
	CPU    float64 `json:"cpu,omitempty"` // of the server, the median of the hot runs
	Rows   int     `json:"rows"`
	Hash   string  `json:"hash,omitempty"` // of the answer
	Check  string  `json:"check,omitempty"`
	Error  string  `json:"error,omitempty"`

	Values map[string]string `json:"values,omitempty"` // of a training
}

// answer is a result as text; a NULL is a cell without valid.
type answer struct {
	head   []string
	approx []bool // the column is of a floating type
	rows   [][]cell
}

type cell struct {
	text  string
	valid bool
}

// query runs one text, which may hold several statements, and returns the last
// result with columns.
func (b *run) query(ctx context.Context, sql string) (answer, error) {
	var a answer
	res := b.conn.PgConn().Exec(ctx, sql)
	for res.NextResult() {
		a.read(res.ResultReader())
	}
	return a, res.Close()
}

// queries runs texts one after the other and returns the last one's result.
func (b *run) queries(ctx context.Context, texts []string) (a answer, err error) {
	for _, sql := range texts {
		if a, err = b.query(ctx, sql); err != nil {
			break
		}
	}
	return a, err
}

func (a *answer) read(r *pgconn.ResultReader) {
	fields := r.FieldDescriptions()
	if len(fields) == 0 {
		return
	}
	*a = answer{}
	for _, f := range fields {
		a.head = append(a.head, f.Name)
		a.approx = append(a.approx, f.DataTypeOID == pgtype.Float4OID || f.DataTypeOID == pgtype.Float8OID)
	}
	var room cellRoom
	for r.NextRow() {
		vals := r.Values()
		row := room.row(len(vals))
		for i, v := range vals {
			// char(n) is padded in one system and not in another.
			row[i] = cell{room.text(bytes.TrimRight(v, " ")), v != nil}
		}
		a.rows = append(a.rows, row)
	}
}

// cellRoom gives rows and their texts room out of few large pieces: the reading is
// timed, and with three allocations a row it takes longer than many a server's answer.
type cellRoom struct {
	cells []cell
	texts strings.Builder
}

func (c *cellRoom) row(n int) []cell {
	if len(c.cells) < n {
		c.cells = make([]cell, max(n, 4096))
	}
	row := c.cells[:n:n]
	c.cells = c.cells[n:]
	return row
}

func (c *cellRoom) text(v []byte) string {
	start := c.texts.Len()
	if c.texts.Cap()-start < len(v) {
		c.texts, start = strings.Builder{}, 0
		c.texts.Grow(max(len(v), 1<<16))
	}
	c.texts.Write(v)
	return c.texts.String()[start:]
}

// hash returns a hash that is the same for the same rows in any order, with numbers
// rounded to two places, so that engines which divide differently agree.
func (a answer) hash() string {
	lines := make([]string, len(a.rows))
	for i, r := range a.rows {
		var s strings.Builder
		for _, c := range r {
			switch v, ok := new(big.Rat).SetString(c.text); {
			case !c.valid:
				s.WriteString("\\N")
			case ok && len(c.text) < 60:
				s.WriteString(v.FloatString(2))
			default:
				s.WriteString(c.text)
			}
			s.WriteByte('\t')
		}
		lines[i] = s.String()
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// measure runs statements once cold and --runs times hot, each time after others that
// are not timed. A query that fails is reported and does not end the benchmark; a lost
// connection does.
func (b *run) measure(ctx context.Context, suite, name string, before, timed []string) (report, answer, error) {
	r := report{Suite: suite, Name: name}
	var first answer
	var hot, cpu []float64
	for i := range b.o.Runs + 1 {
		_, err := b.queries(ctx, before)
		runtime.GC() // of the last answer, here, where it is not timed
		c0, start := b.cpuTime(), time.Now()
		var a answer
		if err == nil {
			a, err = b.queries(ctx, timed)
		}
		took, spent := time.Since(start).Seconds(), b.cpuTime()-c0
		if err != nil {
			r.Error = err.Error()
			if ctx.Err() != nil || b.conn.IsClosed() {
				return r, first, err
			}
			return r, first, nil
		}
		if i == 0 {
			r.Cold, r.Rows, r.Hash, first = took, len(a.rows), a.hash(), a
			continue
		}
		hot, cpu = append(hot, took), append(cpu, spent)
		if h := a.hash(); h != r.Hash && suite != "clickbench" { // whose first rows are of orders with ties
			r.Error = fmt.Sprintf("run %d answered %s, the first %s", i, h, r.Hash)
		}
	}
	slices.Sort(hot)
	slices.Sort(cpu)
	r.Min, r.Median, r.Max, r.CPU = hot[0], median(hot), hot[len(hot)-1], median(cpu)
	return r, first, nil
}

// median returns the median of sorted numbers.
func median(s []float64) float64 {
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// cpuTime returns the CPU seconds that the server's processes have used together, where
// the operating system reports them (Linux).
func (b *run) cpuTime() float64 {
	var sum int64
	for _, pid := range b.pids {
		sum += cpuNanos(pid)
	}
	return float64(sum) / 1e9
}

// add records a report and prints it as a row of a Markdown table.
func (b *run) add(r report) {
	if len(b.all) == 0 || b.all[len(b.all)-1].Suite != r.Suite {
		b.say("\n| %s | cold s | min s | median s | max s | cpu s | rows | answer | |\n|---|---:|---:|---:|---:|---:|---:|---|---|", r.Suite)
	}
	b.all = append(b.all, r)
	note := r.Check
	if r.Error != "" {
		note = "ERROR " + strings.ReplaceAll(r.Error, "\n", " ")
	}
	b.say("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %d | %s | %s |", r.Name, r.Cold, r.Min, r.Median, r.Max, r.CPU, r.Rows, r.Hash, note)
}

// finish writes the JSON and fails if a query failed or an answer differs.
func (b *run) finish(ctx context.Context) error {
	if b.o.JSON != "" {
		var v string
		if err := b.conn.QueryRow(ctx, "SELECT version()").Scan(&v); err != nil {
			return err
		}
		text, err := json.MarshalIndent(map[string]any{"server": v, "at": time.Now().UTC().Format(time.RFC3339), "results": b.all}, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(b.o.JSON, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	var bad []string
	for _, r := range b.all {
		if r.Error != "" || r.Check != "" && r.Check != checkOK {
			bad = append(bad, r.Suite+" "+r.Name)
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d failed or answered differently: %s", len(bad), strings.Join(bad, ", "))
	}
	return nil
}
