package copydata

import (
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// parquetRows reads the rows of a Parquet file as columns of a table.
type parquetRows struct {
	x     *write.Statement
	acct  *mem.Account
	rows  op.BatchReader
	conv  []*eval.Program // converts to each column of the table; nil where the file has its type
	after func()          // called at the end of Close
}

// Context implements decoding: a row of such a file has no line.
func (*parquetRows) Context(err error, _ int64) error { return err }

func (*parquetRows) Line(err error, _ int64) error { return err }

// spool copies a stream to a temporary file and reads the rows from there: the footer of a Parquet
// file, without which nothing can be read, is at its end.
func spool(x *write.Statement, st *catalog.State, cols []catalog.Column, in io.Reader) (*parquetRows, error) {
	dir := x.Spill()
	file, err := dir.Spool(x.Ctx)
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	remove := func() {
		_ = file.Close() // a file that is left is deleted with its directory
		_ = dir.Close()
	}
	if _, err := io.Copy(file, in); err != nil {
		remove()
		return nil, err
	}
	p, err := openParquet(x, st, cols, object.Local, file.Path(), "STDIN")
	if err != nil {
		remove()
		return nil, err
	}
	p.after = remove
	return p, nil
}

// openParquet opens a file, which errors call name, for columns of a table.
func openParquet(x *write.Statement, st *catalog.State, cols []catalog.Column, s object.Store, path, name string) (_ *parquetRows, err error) {
	p := &parquetRows{x: x, acct: x.Pool.Account("copy decoder", false)}
	defer func() {
		if err != nil {
			p.acct.Close()
		}
	}()
	file, err := source.OpenParquet(x.Ctx, s, path, name, p.acct)
	if err != nil {
		return nil, err
	}
	have := file.Columns()
	at, err := matchColumns(have, cols, name)
	if err != nil {
		return nil, err
	}
	in := make([]plan.Column, len(at))
	for i, k := range at {
		in[i] = have[k]
		in[i].ID = expr.ColID(i + 1)
	}
	session := x.Binding(x.Ctx, st, x.Text, nil)
	p.conv = make([]*eval.Program, len(at))
	for i, c := range cols {
		e, err := bind.Loaded(session, &expr.Col{ID: in[i].ID, Typ: in[i].Type, Name: in[i].Name}, c.Name, c.Type)
		if err != nil {
			return nil, err
		}
		if _, same := e.(*expr.Col); same {
			continue
		}
		if p.conv[i], err = eval.Compile(e, in, x.Env); err != nil {
			return nil, err
		}
	}
	p.rows = file.Read(at)
	return p, nil
}

// Close implements decoding.
func (p *parquetRows) Close() {
	_ = p.rows.Close() // it was read only
	p.acct.Close()
	if p.after != nil {
		p.after()
	}
}

// matchColumns finds the columns of a table in a file by name: exactly, or else ignoring case,
// since other systems preserve it. The file may not have further columns: their values would be
// lost silently.
func matchColumns(have []plan.Column, cols []catalog.Column, name string) ([]int, error) {
	const hint = "Columns are matched by name; COPY table (column, ...) names those that the file has."
	find := func(is func(a, b string) bool, want string) int {
		for k, h := range have {
			if is(h.Name, want) {
				return k
			}
		}
		return -1
	}
	used := make([]bool, len(have))
	var at []int
	for _, c := range cols {
		k := find(func(a, b string) bool { return a == b }, c.Name)
		if k < 0 {
			k = find(strings.EqualFold, c.Name)
		}
		if k < 0 || used[k] {
			return nil, pgerr.New(pgerr.UndefinedColumn, "parquet file %q has no column %q", name, c.Name).WithHint(hint)
		}
		used[k] = true
		at = append(at, k)
	}
	for k, h := range have {
		if !used[k] {
			return nil, pgerr.New(pgerr.BadCopyFileFormat, "parquet file %q has a column %q, which is not copied", name, h.Name).WithHint(hint)
		}
	}
	return at, nil
}

// Next implements decoding.
func (p *parquetRows) Next() (*batch.Batch, error) {
	b, err := p.rows.Next(p.x.Ctx)
	if err != nil {
		return nil, err
	}
	out := batch.New(make([]arrow.Array, len(p.conv)), b.N)
	for i, conv := range p.conv {
		if conv == nil {
			out.Cols[i] = b.Cols[i]
		} else if out.Cols[i], err = conv.Eval(p.x.Ctx, b); err != nil {
			return nil, err
		}
	}
	return out, nil
}
