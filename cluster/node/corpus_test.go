package node

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/internal/logictest"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

var record = flag.String("record", "", "address of a PostgreSQL 15 whose answers are written into testdata/corpus")

// TestCorpus runs the files of testdata/corpus, each in a schema of its own. The expected results are
// PostgreSQL's. They must not depend on the batch size, memory or number of nodes:
//
//   - alone has the default settings;
//   - rows has batches of one row. It skips the file of large tables, which would take a minute and
//     test nothing more;
//   - narrow has batches of seven rows and so little memory that sorts, joins and aggregates over
//     large tables spill;
//   - three runs each plan on three nodes, however few rows it reads;
//   - three-apart also exchanges rows that every node stores;
//   - three-narrow does the same with little memory, part of which is for the buffers of exchanges.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*.slt")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	if *record != "" {
		for _, file := range files {
			t.Run(corpusName(file), func(t *testing.T) { recordCorpus(t, file) })
		}
		return
	}
	for _, form := range []struct {
		name  string
		nodes int
		set   []string
		spill bool
	}{
		{"alone", 1, nil, false},
		{"rows", 1, []string{"batch_size = 1"}, false},
		{"narrow", 1, []string{"batch_size = 7", corpusMemory}, true},
		{"three", 3, []string{spread}, false},
		{"three-apart", 3, []string{spread, apart}, false},
		{"three-narrow", 3, []string{spread, apart, "batch_size = 64", "work_mem = '6MB'"}, true},
	} {
		if testing.Short() && form.name != "alone" && form.name != "three" {
			continue
		}
		t.Run(form.name, func(t *testing.T) {
			nodes := start(t, form.nodes)
			large := false
			for i, file := range files {
				if testing.Short() && form.nodes > 1 && i%4 != 0 {
					continue
				}
				if corpusName(file) == "large" && form.name == "rows" {
					continue
				}
				t.Run(corpusName(file), func(t *testing.T) {
					runCorpus(t, nodes[len(nodes)-1], file, form.set)
					large = large || corpusName(file) == "large"
				})
			}
			var spilled int64
			for _, n := range nodes {
				spilled += n.pool.Spilled()
			}
			if form.spill && large && spilled == 0 {
				t.Error("nothing went through the disk")
			}
		})
	}
}

// corpusMemory sets the memory limit of a statement on a node.
const corpusMemory = "work_mem = '4MB'"

func corpusName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".slt") }

func readCorpus(t *testing.T, file string) []*logictest.Record {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	records, err := logictest.Parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return records
}

func runCorpus(t *testing.T, n *Node, file string, set []string) {
	schema := corpusName(file)
	connect(t, n).must("create schema " + schema)
	x := logictest.Runner{Engine: "tributary", Open: func(context.Context, string) (logictest.Conn, error) {
		c := connect(t, n, set...)
		c.must("set search_path = " + schema)
		return corpusConn{c}, nil
	}}
	for _, r := range readCorpus(t, file) {
		res, ran, err := x.Run(context.Background(), r)
		if err != nil {
			t.Fatalf("%s:%d: %v", file, r.Line, err)
		}
		if !ran {
			continue
		}
		if d := logictest.Check(r, res); d != "" {
			t.Errorf("%s:%d\n%s\n%s", file, r.Line, r.SQL, d)
		}
	}
	connect(t, n).must(fmt.Sprintf("drop schema %s cascade", schema))
}

func recordCorpus(t *testing.T, file string) {
	records := readCorpus(t, file)
	if err := logictest.FromPostgres(context.Background(), *record, "corpus_"+corpusName(file), records); err != nil {
		t.Fatalf("%s:\n%v", file, err)
	}
	if err := os.WriteFile(file, []byte(logictest.Format(records)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// corpusConn runs statements in a session, as the server of the wire protocol does.
type corpusConn struct{ c *client }

func (x corpusConn) Run(ctx context.Context, sql string) (logictest.Result, error) {
	var res logictest.Result
	p, err := x.c.query(sql)
	if err == nil && p != nil {
		err = x.read(ctx, p, &res)
	}
	if serr := x.c.s.Sync(ctx, err == nil); err == nil {
		err = serr
	}
	var e *pgerr.Error
	switch {
	case errors.As(err, &e):
		return logictest.Result{State: string(e.Code), Message: e.Message}, nil
	case err != nil:
		return logictest.Result{State: string(pgerr.InternalError), Message: err.Error()}, nil
	}
	return res, nil
}

func (x corpusConn) read(ctx context.Context, p *session.Portal, res *logictest.Result) error {
	for _, c := range p.Columns() {
		res.Types += string(logictest.Letter(uint32(c.Type.OID)))
	}
	for {
		b, err := p.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range b.Rows() {
			if b.Sel != nil {
				i = int(b.Sel[i])
			}
			row := make([]logictest.Cell, len(p.Columns()))
			for j, c := range p.Columns() {
				if d := types.DatumAt(c.Type, b.Cols[j], i); d == nil {
					row[j].Null = true
				} else {
					row[j].Text = types.TextOf(c.Type, d, x.c.s.Env())
				}
			}
			res.Rows = append(res.Rows, row)
		}
	}
}
