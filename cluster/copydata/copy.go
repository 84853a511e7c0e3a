package copydata

import (
	"context"
	"fmt"
	"io"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/copyfmt"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Options reads the options of a COPY.
func Options(n *ast.CopyStmt) (copyfmt.Options, error) {
	if n.IsProgram {
		return copyfmt.Options{}, pgerr.Unsupported("COPY PROGRAM is not supported")
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
	return copyfmt.ParseOptions(raw, n.IsFrom)
}

// Copy begins a COPY over a view of the catalog. A COPY with a file is executed at once: it has no
// stream, only a command tag.
func Copy(x *write.Statement, st *catalog.State, n *ast.CopyStmt, opts copyfmt.Options) (s *Stream, tag string, err error) {
	if opts.Charset != nil && opts.Format.Bytes() {
		return nil, "", pgerr.Unsupported("COPY in a binary format in the encoding %s is not supported", opts.Charset.Name).
			WithHint("Give ENCODING 'UTF8'.")
	}
	if n.Filename == "" && opts.Packing != "" && opts.Packing != "none" {
		return nil, "", pgerr.Unsupported("COPY with compression is supported for files only").WithHint("Give the client's data as they are.")
	}
	if opts.Packing == "" {
		opts.Packing = copyfmt.Packing(n.Filename)
	}
	if n.IsFrom {
		return copyFrom(x, st, n, opts)
	}
	return copyTo(x, st, n, opts)
}

// copiedColumns finds the relation of a COPY and its columns that are copied.
func copiedColumns(x *write.Statement, st *catalog.State, n *ast.CopyStmt) (*catalog.Relation, []catalog.Column, error) {
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

// mayFile returns an error for a role that may not copy to the server's files, or from them.
func mayFile(x *write.Statement, st *catalog.State, role types.OID, way string) error {
	if !st.Inherits(x.Caller.Role, role) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser or have privileges of the %s role to COPY %s a file", st.Role(role).Name, way).
			WithHint("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.")
	}
	return nil
}

// store returns the store of a file that a statement reads or writes, if its role may.
func store(x *write.Statement, st *catalog.State, name string, write bool) (object.Store, error) {
	if !object.Remote(name) {
		role, way := catalog.ReadFilesOID, "from"
		if write {
			role, way = catalog.WriteFilesOID, "to"
		}
		if err := mayFile(x, st, role, way); err != nil {
			return nil, err
		}
	}
	return x.Store(name, write)
}

// OpenFile opens a file that a statement reads, if its role may.
func OpenFile(x *write.Statement, st *catalog.State, name string) (object.File, error) {
	s, err := store(x, st, name, false)
	if err != nil {
		return nil, err
	}
	f := object.Info{Name: name}
	if object.Remote(name) { // of the server's disks pipes may be read too
		if f, err = s.Stat(x.Ctx, name); err != nil {
			return nil, err
		}
	}
	return s.Open(x.Ctx, f)
}

// CreateFile begins to write a file in place of what is there, if the statement's role may. What it holds in memory
// is charged to acct.
func CreateFile(x *write.Statement, st *catalog.State, name string, acct *mem.Account) (object.Writer, error) {
	s, err := store(x, st, name, true)
	if err != nil {
		return nil, err
	}
	return s.Create(x.Ctx, name, func(n int64) error {
		if n < 0 {
			acct.Shrink(-n)
			return nil
		}
		return acct.Grow(n)
	})
}

// decoding returns rows decoded from bytes. It must be closed.
type decoding interface {
	Next() (*batch.Batch, error) // io.EOF at the end
	// Context adds to an error of a row, of those that Next has returned, where that is.
	Context(err error, row int64) error
	Line(err error, row int64) error
	Close()
}

// decoded gives the rows to a plan; who opened the decoding closes it.
type decoded struct {
	decoding
	progress *sysview.Progress
}

func (d decoded) Next(context.Context) (*batch.Batch, error) {
	b, err := d.decoding.Next()
	if err == nil {
		d.progress.Rows.Add(int64(b.Rows()))
	}
	return b, err
}

func (d decoded) Close() error { return nil }

func copyFrom(x *write.Statement, st *catalog.State, n *ast.CopyStmt, opts copyfmt.Options) (*Stream, string, error) {
	if err := x.Txn.Writable("COPY FROM"); err != nil {
		return nil, "", err
	}
	if n.WhereClause != nil {
		return nil, "", pgerr.Unsupported("COPY FROM with WHERE is not supported")
	}
	rel, cols, err := copiedColumns(x, st, n)
	if err != nil {
		return nil, "", err
	}
	if rel.Kind != catalog.KindTable {
		return nil, "", pgerr.New(pgerr.WrongObjectType, "cannot copy to %s %q", relKindText(rel.Kind), rel.Name)
	}
	use := plan.TableUse{OID: rel.OID, Priv: 'a'}
	for _, c := range cols {
		use.Columns = append(use.Columns, c.Num)
	}
	if err := plan.Authorize(st, x.Caller.Role, []plan.TableUse{use}); err != nil {
		return nil, "", err
	}
	progress := report(x, n, rel)
	r := x.Open(st)
	fields := make([]copyfmt.Column, len(cols))
	for i, c := range cols {
		fields[i] = copyfmt.Column{Name: c.Name, Type: c.Type}
	}
	var rows int64
	load := func(dec decoding, err error) error {
		if err == nil {
			defer dec.Close()
			rows, err = r.Copy(rel, cols, decoded{dec, progress})
		}
		return err
	}
	decode := func(in io.Reader) (decoding, error) {
		account := func() *mem.Account { return x.Pool.Account("copy decoder", false) }
		return copyfmt.NewReader(opts.Charset.Reader(counted{in, progress}), fields, opts, x.Caller.Values, batch.DefaultSize, rel.Name, x.Threads(x.Files.Threads()), account)
	}
	if opts.Format == copyfmt.Parquet {
		decode = func(in io.Reader) (decoding, error) { return spool(x, st, cols, in) }
	}
	if n.Filename != "" {
		defer r.Close()
		if opts.Format == copyfmt.Parquet {
			s, err := store(x, st, n.Filename, false)
			if err == nil {
				err = load(openParquet(x, st, cols, s, n.Filename, n.Filename))
			}
			if err != nil {
				return nil, "", err
			}
			return nil, fmt.Sprintf("COPY %d", rows), nil
		}
		f, err := OpenFile(x, st, n.Filename)
		if err != nil {
			return nil, "", err
		}
		defer f.Close()
		if opts.Packing == "none" || opts.Packing == "" { // of others the bytes that are decoded are more
			progress.OfBytes.Store(sizeOf(f))
		}
		in, err := copyfmt.Unpack(f, opts.Packing)
		if err != nil {
			return nil, "", source.ReadError(n.Filename, err)
		}
		defer in.Close()
		if err = load(decode(source.Named(in, n.Filename))); err != nil {
			return nil, "", err
		}
		return nil, fmt.Sprintf("COPY %d", rows), nil
	}
	pr, pw := io.Pipe()
	cs := &Stream{binary: opts.Format.Bytes(), columns: len(cols), in: pw, decoded: make(chan error, 1), tag: func() string { return fmt.Sprintf("COPY %d", rows) }}
	stop := context.AfterFunc(x.Ctx, func() { _ = pr.CloseWithError(context.Cause(x.Ctx)) })
	go func() {
		err := op.Guard("copy", func() error { return load(decode(pr)) })
		_ = pr.CloseWithError(io.ErrClosedPipe) // a failed decoder must not block the writer
		cs.decoded <- err
	}()
	cs.close = func() error {
		stop()
		_ = pw.CloseWithError(io.ErrUnexpectedEOF)
		_ = cs.wait()
		r.Close()
		return nil
	}
	return cs, "", nil
}

// report shows how far a COPY of a relation, nil for a query, is.
func report(x *write.Statement, n *ast.CopyStmt, rel *catalog.Relation) *sysview.Progress {
	p := &sysview.Progress{Of: "copy", Command: "COPY TO", Type: "PIPE"}
	if n.IsFrom {
		p.Command = "COPY FROM"
	}
	if n.Filename != "" {
		p.Type = "FILE"
	}
	if rel != nil {
		p.Relation = rel.OID
	}
	return x.Report(p)
}

// counted counts the bytes that are read.
type counted struct {
	io.Reader
	progress *sysview.Progress
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.progress.Bytes.Add(int64(n))
	return n, err
}

// sizeOf is the size of a file that is at its beginning; 0 for a pipe.
func sizeOf(f io.Seeker) int64 {
	n, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return 0
	}
	return n
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

func copyTo(x *write.Statement, st *catalog.State, n *ast.CopyStmt, opts copyfmt.Options) (*Stream, string, error) {
	b, err := bindSource(x, st, n)
	if err != nil {
		return nil, "", err
	}
	r := x.Open(b.In(st))
	rows, cols, err := open(r, b)
	if err != nil {
		r.Close()
		return nil, "", err
	}
	fields := make([]copyfmt.Column, len(cols))
	for i, c := range cols {
		fields[i] = copyfmt.Column{Name: c.Name, Type: c.Type}
	}
	enc, err := copyfmt.NewEncoder(fields, opts, x.Caller.Values, func() *mem.Account { return x.Pool.Account("copy encoder", true) })
	if err != nil {
		_ = rows.Close()
		r.Close()
		return nil, "", err
	}
	var of *catalog.Relation
	if n.Query == nil {
		if of, err = x.Relation(st, n.Relation); err != nil {
			of = nil // it was found a moment ago
		}
	}
	e := &encoding{rows: rows, to: enc, binary: opts.Format.Bytes(), charset: opts.Charset, progress: report(x, n, of)}
	closeAll := func() error {
		enc.Close()
		err := rows.Close()
		r.Close()
		return err
	}
	if n.Filename == "" {
		return &Stream{binary: e.binary, columns: len(cols), read: e.next, tag: e.tag, close: closeAll}, "", nil
	}
	defer closeAll()
	acct := x.Pool.Account("copy file", false)
	defer acct.Close()
	file, err := CreateFile(x, st, n.Filename, acct)
	if err != nil {
		return nil, "", err
	}
	if err := e.writeTo(x.Ctx, file, opts); err != nil {
		file.Abort()
		return nil, "", err
	}
	if err := file.Commit(); err != nil {
		return nil, "", err
	}
	return nil, e.tag(), nil
}

// kept is a file that its compressor must not close.
type kept struct{ io.Writer }

func (kept) Close() error { return nil }

// writeTo writes all rows to a file.
func (e *encoding) writeTo(ctx context.Context, file io.Writer, opts copyfmt.Options) error {
	packing := opts.Packing
	if opts.Format == copyfmt.Parquet {
		packing = "none"
	}
	f, err := copyfmt.Pack(kept{file}, packing)
	if err != nil {
		return err
	}
	for err == nil {
		var p []byte
		if p, _, err = e.next(ctx); err == nil {
			_, err = f.Write(p)
		}
	}
	if cerr := f.Close(); err == io.EOF {
		err = cerr
	}
	return err
}

// open starts the table scan or query of a COPY TO.
func open(r *write.Executor, b *planner.Bound) (op.BatchReader, []plan.Column, error) {
	if b.DML == nil {
		return r.Select(b.Query)
	}
	w, err := r.Modify(b.DML)
	if err != nil {
		return nil, nil, err
	}
	rows, err := w.Returned()
	return rows, b.DML.ReturningColumns(), err
}

// encoding turns rows into bytes.
type encoding struct {
	charset      *charset.Charset // of the bytes; nil for UTF8
	converted    []byte
	rows         op.BatchReader
	batch        *batch.Batch // whose rows are encoded, from the first that is left; nil: the next one's
	from         int
	to           copyfmt.Encoder
	binary       bool
	count        int64
	buf          []byte
	ends         []int
	begun, ended bool
	progress     *sysview.Progress
}

func (e *encoding) tag() string { return fmt.Sprintf("COPY %d", e.count) }

// next returns more bytes and the offset in them at which each row ends, io.EOF at the end.
func (e *encoding) next(ctx context.Context) ([]byte, []int, error) {
	p, ends, err := e.encode(ctx)
	e.progress.Bytes.Add(int64(len(p)))
	e.progress.Rows.Store(e.count)
	if err != nil || e.charset == nil {
		return p, ends, err
	}
	e.converted = e.converted[:0]
	from := 0
	for i, end := range ends {
		if e.converted, err = e.charset.Encode(e.converted, string(p[from:end])); err != nil {
			return nil, nil, err
		}
		from, ends[i] = end, len(e.converted)
	}
	return e.converted, ends, nil
}

// encode is next in UTF8.
func (e *encoding) encode(ctx context.Context) ([]byte, []int, error) {
	e.buf, e.ends = e.buf[:0], e.ends[:0]
	if !e.begun {
		e.begun = true
		// The signature of the binary format is sent with the first row, the header line of CSV by
		// itself.
		if e.buf = e.to.Begin(e.buf); len(e.buf) > 0 && !e.binary {
			return e.buf, append(e.ends, len(e.buf)), nil
		}
	}
	for !e.ended {
		var err error
		if e.batch == nil {
			e.batch, err = e.rows.Next(ctx)
			e.from = 0
		}
		if err == io.EOF {
			e.ended = true
			e.buf, e.ends, err = e.to.End(e.buf, e.ends)
		} else if err == nil {
			n := e.from
			e.buf, e.ends, e.from, err = e.to.Append(e.buf, e.ends, e.batch, n)
			if e.count += int64(e.from - n); e.from >= e.batch.Rows() {
				e.batch = nil
			}
		}
		if err != nil {
			return nil, nil, err
		}
		if len(e.buf) > 0 {
			return e.buf, e.ends, nil
		}
	}
	return nil, nil, io.EOF
}

// bindSource binds what a COPY TO writes: a table's columns or a query.
func bindSource(x *write.Statement, st *catalog.State, n *ast.CopyStmt) (*planner.Bound, error) {
	if n.Query != nil {
		node, ok := n.Query.(ast.Stmt)
		if !ok {
			return nil, pgerr.Unsupported("COPY of this statement is not supported")
		}
		b, err := planner.Bind(x.Binding(x.Ctx, st, x.Text, nil), node)
		if err == nil && b.DML != nil && len(b.DML.Returning) == 0 {
			err = pgerr.Unsupported("COPY query must have a RETURNING clause")
		}
		return b, err
	}
	rel, cols, err := copiedColumns(x, st, n)
	if err != nil {
		return nil, err
	}
	if rel.Kind != catalog.KindTable {
		e := pgerr.New(pgerr.WrongObjectType, "cannot copy from %s %q", relKindText(rel.Kind), rel.Name)
		if rel.Kind != catalog.KindSequence {
			e = e.WithHint("Try the COPY (SELECT ...) TO variant.")
		}
		return nil, e
	}
	sel := ast.NewSelectStmt()
	sel.FromClause.Append(ast.NewRangeVar(rel.Name, st.Schema(rel.Schema).Name, ""))
	for _, c := range cols {
		sel.TargetList.Append(ast.NewResTarget("", ast.NewColumnRef(ast.NewString(c.Name))))
	}
	return planner.Bind(x.Binding(x.Ctx, st, nil, nil), sel)
}
