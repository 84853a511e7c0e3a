package coord

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/copyfmt"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// copyStream is the engine's side of a COPY with the client. The decoder runs
// in a goroutine of its own that ends with finish or fail:
//
//	client bytes ─write─▶ pipe ─▶ Decoder ─▶ rows ─▶ segments
//
// A pipe hands each piece over whole, so a slow decoder holds the client back.
type copyStream struct {
	in      bool
	binary  bool
	columns int
	pw      *io.PipeWriter
	result  chan error // of the decoding goroutine, once
	ended   bool
	read    func(ctx context.Context) (p []byte, ends []int, err error)
}

// CopyStream is what the wire sees of it.
type CopyStream struct {
	portal *Portal
	stream *copyStream
}

// In tells COPY FROM STDIN.
func (c *CopyStream) In() bool { return c.stream.in }

// Binary tells the binary format.
func (c *CopyStream) Binary() bool { return c.stream.binary }

// Columns is the number of columns.
func (c *CopyStream) Columns() int { return c.stream.columns }

// Write takes the client's bytes; it blocks while the decoder is behind.
func (c *CopyStream) Write(ctx context.Context, p []byte) error {
	if _, err := c.stream.pw.Write(p); err != nil {
		// The decoder failed: its error is the statement's.
		return c.portal.failed(c.stream.wait())
	}
	return nil
}

// Finish ends the bytes; the rows are in the transaction then.
func (c *CopyStream) Finish(ctx context.Context) error {
	_ = c.stream.pw.Close()
	if err := c.stream.wait(); err != nil {
		return c.portal.failed(err)
	}
	if err := c.portal.finish(); err != io.EOF {
		return err
	}
	return nil
}

// Fail ends the copy with the client's reason.
func (c *CopyStream) Fail(reason string) error {
	err := pgerr.New(pgerr.QueryCanceled, "COPY from stdin failed: %s", reason)
	_ = c.stream.pw.CloseWithError(err)
	_ = c.stream.wait()
	return c.portal.failed(err)
}

// Read gives the next rows of COPY TO and where in p each ends, io.EOF at the
// end.
func (c *CopyStream) Read(ctx context.Context) (p []byte, ends []int, err error) {
	err = batch.Guard(func() (err error) { // rows may lie in mapped files
		p, ends, err = c.stream.read(c.portal.x.Ctx)
		return err
	})
	if err == io.EOF {
		return nil, nil, c.portal.finish()
	}
	if err != nil {
		return nil, nil, c.portal.failed(err)
	}
	return p, ends, nil
}

func (c *copyStream) wait() error {
	if c.ended {
		return nil
	}
	c.ended = true
	return <-c.result
}

func (s *Session) copy(ctx context.Context, stmt *parse.Statement, n *ast.CopyStmt, params []types.Type) (*handler, error) {
	if n.IsProgram {
		return nil, pgerr.Unsupported("COPY PROGRAM is not supported")
	}
	var raw []copyfmt.Option
	if n.Options != nil {
		for _, o := range n.Options.Items {
			d, ok := o.(*ast.DefElem)
			if !ok {
				continue
			}
			c := copyfmt.Option{Name: d.Defname, Given: d.Arg != nil}
			switch a := d.Arg.(type) {
			case nil:
			case *ast.NodeList:
				c.List = []string{}
				for _, x := range a.Items {
					c.List = append(c.List, parse.ConstText(x))
				}
			case *ast.A_Star:
				c.Star = true
			default:
				c.Value = parse.ConstText(a)
			}
			raw = append(raw, c)
		}
	}
	opts, err := copyfmt.ParseOptions(raw, n.IsFrom)
	if err != nil {
		return nil, err
	}
	return &handler{open: func(ctx context.Context, x *execution) (*result, error) {
		if n.IsFrom {
			return s.copyFrom(x, n, opts)
		}
		return s.copyTo(x, stmt, n, opts)
	}}, nil
}

// copyColumns finds the relation and the columns of a COPY.
func copyColumns(x *execution, st *catalog.State, n *ast.CopyStmt) (*catalog.Relation, []catalog.Column, error) {
	rel, err := x.Relation(st, n.Relation)
	if err != nil {
		return nil, nil, err
	}
	if n.Attlist == nil || len(n.Attlist.Items) == 0 {
		var out []catalog.Column
		for _, c := range rel.Live() {
			if c.Generated == "" {
				out = append(out, c)
			}
		}
		return rel, out, nil
	}
	var out []catalog.Column
	for _, a := range n.Attlist.Items {
		name := parse.ConstText(a)
		c := rel.Column(name)
		if c == nil {
			return nil, nil, pgerr.New(pgerr.UndefinedColumn, "column %q of relation %q does not exist", name, rel.Name)
		}
		if c.Generated != "" {
			return nil, nil, pgerr.New(pgerr.InvalidColumnReference, "column %q is a generated column", name).
				WithDetail("Generated columns cannot be used in COPY.")
		}
		for _, o := range out {
			if o.Num == c.Num {
				return nil, nil, pgerr.New(pgerr.DuplicateColumn, "column %q specified more than once", name)
			}
		}
		out = append(out, *c)
	}
	return rel, out, nil
}

func (s *Session) mayFile() error {
	if !s.engine.cfg.Meta.Current().Super(s.role) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to COPY to or from a file").
			WithHint("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.")
	}
	return nil
}

func (s *Session) copyFrom(x *execution, n *ast.CopyStmt, opts copyfmt.Options) (*result, error) {
	if err := s.tx.Writable("COPY FROM"); err != nil {
		return nil, err
	}
	if n.WhereClause != nil {
		return nil, pgerr.Unsupported("COPY FROM with WHERE is not supported")
	}
	st, err := x.view()
	if err != nil {
		return nil, err
	}
	rel, cols, err := copyColumns(x, st, n)
	if err != nil {
		return nil, err
	}
	if rel.Kind != catalog.KindTable {
		return nil, pgerr.New(pgerr.WrongObjectType, "cannot copy to %s %q", relKindText(rel.Kind), rel.Name)
	}
	use := plan.TableUse{OID: rel.OID, Priv: 'a'}
	for _, c := range cols {
		use.Columns = append(use.Columns, c.Num)
	}
	if err := plan.Authorize(st, s.role, []plan.TableUse{use}); err != nil {
		return nil, err
	}
	r := x.Open(st)
	fields := make([]copyfmt.Column, len(cols))
	for i, c := range cols {
		fields[i] = copyfmt.Column{Name: c.Name, Type: c.Type}
	}
	var rows int64
	load := func(in io.Reader) error {
		dec, err := copyfmt.NewDecoder(in, fields, opts, x.Context.Values, batch.DefaultSize, rel.Name)
		if err != nil {
			return err
		}
		acct := x.Pool.Account("copy decoder", false)
		defer acct.Close()
		dec.Charge(acct)
		rows, err = r.Load(rel, cols, dec.Next)
		return err
	}
	if n.Filename != "" {
		defer r.Close()
		if err := s.mayFile(); err != nil {
			return nil, err
		}
		f, err := os.Open(n.Filename)
		if err != nil {
			return nil, fileError(err, n.Filename, "reading")
		}
		defer f.Close()
		if err := load(f); err != nil {
			return nil, err
		}
		return done(fmt.Sprintf("COPY %d", rows)), nil
	}
	pr, pw := io.Pipe()
	cs := &copyStream{in: true, binary: opts.Format == copyfmt.Binary, columns: len(cols), pw: pw, result: make(chan error, 1)}
	stop := context.AfterFunc(x.Ctx, func() { _ = pr.CloseWithError(context.Cause(x.Ctx)) })
	go func() {
		err := op.Guard("copy", func() error { return load(pr) })
		_ = pr.CloseWithError(io.ErrClosedPipe) // a failed decoder must not block the writer
		cs.result <- err
	}()
	return &result{copy: cs, tag: func() string { return fmt.Sprintf("COPY %d", rows) }, close: func() error {
		stop()
		_ = pw.CloseWithError(io.ErrUnexpectedEOF)
		_ = cs.wait()
		r.Close()
		return nil
	}}, nil
}

func relKindText(k catalog.RelKind) string {
	switch k {
	case catalog.KindView:
		return "view"
	case catalog.KindMatView:
		return "materialized view"
	case catalog.KindSequence:
		return "sequence"
	}
	return "relation"
}

func fileError(err error, name, verb string) error {
	switch {
	case os.IsNotExist(err):
		return pgerr.New(pgerr.UndefinedFile, "could not open file \"%s\" for %s: No such file or directory", name, verb)
	case os.IsPermission(err):
		return pgerr.New(pgerr.InsufficientPrivilege, "could not open file \"%s\" for %s: Permission denied", name, verb)
	}
	return pgerr.Wrap(pgerr.IOError, err, "could not open file \"%s\" for %s", name, verb)
}

func (s *Session) copyTo(x *execution, stmt *parse.Statement, n *ast.CopyStmt, opts copyfmt.Options) (*result, error) {
	st, err := x.view()
	if err != nil {
		return nil, err
	}
	r := x.Open(st)
	q, dml, err := copyQuery(x, st, stmt, n)
	if err != nil {
		r.Close()
		return nil, err
	}
	var res *result
	if dml != nil {
		var w *write.ModifyTable
		if w, err = r.Modify(dml); err == nil {
			res = modified(w, returned(dml))
		}
	} else {
		var rows op.BatchReader
		var cols []plan.Column
		if rows, cols, err = r.Select(q); err == nil {
			res = rowsResult(cols, rows, "COPY")
		}
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	fields := make([]copyfmt.Column, len(res.cols))
	for i, c := range res.cols {
		fields[i] = copyfmt.Column{Name: c.Name, Type: c.Type}
	}
	enc := copyfmt.NewEncoder(fields, opts, x.Context.Values)
	var count int64
	var buf []byte
	var ends []int
	begun, ended := false, false
	read := func(ctx context.Context) ([]byte, []int, error) {
		buf, ends = buf[:0], ends[:0]
		if !begun {
			begun = true
			// The binary signature goes with the first row, the header line alone.
			if buf = enc.Begin(buf); len(buf) > 0 && opts.Format != copyfmt.Binary {
				return buf, append(ends, len(buf)), nil
			}
		}
		for !ended {
			b, err := res.next(ctx)
			if err == io.EOF {
				ended = true
				if buf = enc.End(buf); len(buf) > 0 {
					return buf, append(ends, len(buf)), nil
				}
				break
			}
			if err != nil {
				return nil, nil, err
			}
			if b.Rows() > 0 {
				count += int64(b.Rows())
				buf, ends = enc.Append(buf, ends, b)
				return buf, ends, nil
			}
		}
		return nil, nil, io.EOF
	}
	closeAll := func() error {
		err := res.close()
		r.Close()
		return err
	}
	tag := func() string { return fmt.Sprintf("COPY %d", count) }
	if n.Filename == "" {
		return &result{copy: &copyStream{binary: opts.Format == copyfmt.Binary, columns: len(res.cols), read: read}, tag: tag, close: closeAll}, nil
	}
	defer closeAll()
	if err := s.mayFile(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(n.Filename, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fileError(err, n.Filename, "writing")
	}
	for {
		p, _, err := read(x.Ctx)
		if err == io.EOF {
			break
		}
		if err == nil {
			_, err = f.Write(p)
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	if err := f.Close(); err != nil {
		return nil, pgerr.Wrap(pgerr.IOError, err, "could not write file %q", n.Filename)
	}
	return done(tag()), nil
}

// copyQuery binds what a COPY TO writes: a table's columns or a query.
func copyQuery(x *execution, st *catalog.State, stmt *parse.Statement, n *ast.CopyStmt) (*plan.Query, *plan.DML, error) {
	if n.Query != nil {
		node, ok := n.Query.(ast.Stmt)
		if !ok {
			return nil, nil, pgerr.Unsupported("COPY of this statement is not supported")
		}
		switch node.(type) {
		case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt:
			d, err := bind.DML(x.Binding(x.Ctx, st, stmt, nil), node)
			if err == nil && len(d.Returning) == 0 {
				err = pgerr.Unsupported("COPY query must have a RETURNING clause")
			}
			return nil, d, err
		}
		q, err := bind.Query(x.Binding(x.Ctx, st, stmt, nil), node)
		return q, nil, err
	}
	rel, cols, err := copyColumns(x, st, n)
	if err != nil {
		return nil, nil, err
	}
	if rel.Kind != catalog.KindTable {
		e := pgerr.New(pgerr.WrongObjectType, "cannot copy from %s %q", relKindText(rel.Kind), rel.Name)
		if rel.Kind != catalog.KindSequence {
			e = e.WithHint("Try the COPY (SELECT ...) TO variant.")
		}
		return nil, nil, e
	}
	list := ""
	for i, c := range cols {
		if i > 0 {
			list += ", "
		}
		list += lex.QuoteIdent(c.Name)
	}
	sub, err := parse.One("SELECT "+list+" FROM "+lex.QuoteIdent(st.Schema(rel.Schema).Name)+"."+lex.QuoteIdent(rel.Name), parse.Postgres)
	if err != nil {
		return nil, nil, err
	}
	q, err := bind.Query(x.Binding(x.Ctx, st, sub, nil), sub.Node)
	return q, nil, err
}
