package source

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/copyfmt"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/types"
)

var textArray = types.Type{OID: 1009, Mod: -1}

// rejects is read_csv_rejects: the records of files that are no rows, which read_csv with
// ignore_errors leaves out.
type rejects struct{ *csvTable }

var rejectColumns = []plan.Column{{Name: "file", Type: types.Text}, {Name: "line", Type: types.Int8}, {Name: "column_name", Type: types.Text},
	{Name: "value", Type: types.Text}, {Name: "error", Type: types.Text}, {Name: "csv_line", Type: types.Text}}

func newRejects(s *Sources, a *args) (table, error) {
	if !a.names(csvArgs...) {
		return nil, a.err
	}
	a.list = append(a.list, plan.Arg{Name: "ignore_errors", Val: true, Type: types.Bool}) // so that the file is sniffed as by read_csv with this option
	t, err := s.csv(a)
	if err != nil {
		return nil, err
	}
	t.lax = true
	return rejects{t}, nil
}

func (t rejects) columns() []plan.Column { return rejectColumns }
func (t rejects) rows() float64          { return 100 }

func (t rejects) read(_ context.Context, from, to int64, cols []int, _ []plan.Column) (op.BatchReader, error) {
	u := &units{next: from, end: to}
	u.open = func(ctx context.Context, unit int64) (op.BatchReader, error) {
		i := t.fileOf(unit)
		r, err := t.open(ctx, i, unit-t.starts[i], nil, u.pool)
		if err != nil {
			return nil, err
		}
		x := &rejectReader{csvReader: r, file: i, cols: cols}
		r.dec.Reject(func(j copyfmt.Reject) {
			x.found = append(x.found, []types.Datum{t.files[i].path, j.Line, textOrNull(j.Column), textOrNull(j.Value), j.Err.Message, j.Record})
		})
		return x, nil
	}
	return u, nil
}

func textOrNull(s string) types.Datum {
	if s == "" {
		return nil
	}
	return s
}

type rejectReader struct {
	*csvReader
	file  int
	cols  []int
	found [][]types.Datum
	ended bool
}

func (r *rejectReader) Next(ctx context.Context) (*batch.Batch, error) {
	for len(r.found) == 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.ended {
			return nil, io.EOF
		}
		if _, err := r.dec.Next(); err == io.EOF {
			r.ended = true
		} else if err != nil {
			return nil, err
		}
	}
	b, err := batchOf(rejectColumns, r.cols, r.found)
	if err != nil {
		return nil, err
	}
	b.Seq = int64(r.file)<<fileShift + r.found[0][1].(int64)
	r.found = nil
	return b, nil
}

// batchOf makes a batch of some columns of rows.
func batchOf(all []plan.Column, cols []int, rows [][]types.Datum) (*batch.Batch, error) {
	out := make([]arrow.Array, len(cols))
	for i, c := range cols {
		b := array.NewBuilder(memory.DefaultAllocator, all[c].Type.Arrow())
		for _, row := range rows {
			if err := types.AppendDatum(b, all[c].Type, row[c]); err != nil {
				return nil, err
			}
		}
		out[i] = b.NewArray()
	}
	return batch.New(out, len(rows)), nil
}

// sniffTable is sniff_csv: what is found out about a file, in DuckDB's columns, and the call that would
// read it so.
type sniffTable struct {
	files []file
	row   []types.Datum
}

var sniffColumns = []plan.Column{{Name: "delimiter", Type: types.Text}, {Name: "quote", Type: types.Text}, {Name: "escape", Type: types.Text},
	{Name: "newlinedelimiter", Type: types.Text}, {Name: "skiprows", Type: types.Int8}, {Name: "hasheader", Type: types.Bool}, {Name: "columns", Type: textArray},
	{Name: "types", Type: textArray}, {Name: "dateformat", Type: types.Text}, {Name: "timestampformat", Type: types.Text}, {Name: "prompt", Type: types.Text}}

func newSniff(s *Sources, a *args) (table, error) {
	if !a.names(csvArgs...) {
		return nil, a.err
	}
	t, err := s.csv(a)
	if err != nil {
		return nil, err
	}
	o := t.opts
	names, kinds := types.Array{Elem: types.Text}, types.Array{Elem: types.Text}
	paths := a.texts("path")
	for i, p := range paths {
		paths[i] = lex.QuoteLiteral(p)
	}
	path := strings.Join(paths, ", ")
	if len(paths) > 1 {
		path = "ARRAY[" + path + "]"
	}
	var cols []string
	for _, c := range t.cols {
		names.Elems, kinds.Elems = append(names.Elems, c.Name), append(kinds.Elems, types.TypeName(c.Type.OID))
		cols = append(cols, lex.QuoteIdent(c.Name)+" "+types.TypeName(c.Type.OID))
	}
	call := fmt.Sprintf("read_csv(%s, delim => %s, quote => %s, escape => %s, skip => %d, header => %t, columns => %s", path,
		literal(o.Delimiter), literal(o.Quote), literal(o.Escape), o.Skip, o.Header, lex.QuoteLiteral(strings.Join(cols, ", ")))
	for _, name := range []string{"nullstr", "dateformat", "timestampformat", "decimal_separator", "thousands", "encoding", "compression"} {
		if v := a.text(name, ""); v != "" {
			call += ", " + name + " => " + lex.QuoteLiteral(v)
		}
	}
	end := `\n`
	if o.Ends == copyfmt.EndCR {
		end = `\r`
	}
	return &sniffTable{t.files, []types.Datum{string(o.Delimiter), string(o.Quote), string(o.Escape), end, int64(o.Skip), o.Header, names, kinds,
		textOrNull(a.text("dateformat", "")), textOrNull(a.text("timestampformat", "")), "FROM " + call + ")"}}, a.err
}

// literal writes a character as SQL does.
func literal(c byte) string {
	if c == '\t' {
		return `E'\t'`
	}
	return lex.QuoteLiteral(string(c))
}

func (t *sniffTable) columns() []plan.Column { return sniffColumns }
func (t *sniffTable) rows() float64          { return 1 }
func (t *sniffTable) from() []file           { return t.files }
func (t *sniffTable) units() int64           { return 1 }
func (t *sniffTable) perPart() int64         { return 1 }

func (t *sniffTable) read(_ context.Context, from, to int64, cols []int, _ []plan.Column) (op.BatchReader, error) {
	u := &units{next: from, end: to}
	u.open = func(context.Context, int64) (op.BatchReader, error) {
		b, err := batchOf(sniffColumns, cols, [][]types.Datum{t.row})
		return &once{b}, err
	}
	return u, nil
}

// once is a reader of one batch.
type once struct{ b *batch.Batch }

func (o *once) Next(context.Context) (*batch.Batch, error) {
	b := o.b
	if o.b = nil; b == nil {
		return nil, io.EOF
	}
	return b, nil
}

func (o *once) Close() error { return nil }
