package source

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"weak"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	pqfile "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// parquetTable is read_parquet: files of the same columns. A row group is a unit; only the columns
// that are needed are read.
type parquetTable struct {
	files  []file
	infos  []*parquetInfo
	starts []int64 // of each file, its first row group; then how many there are
	seqs   []int64 // of each file, its first row; then how many there are
}

// parquetInfo is the contents of a file's footer.
type parquetInfo struct {
	meta   atomic.Pointer[weak.Pointer[metadata.FileMetaData]] // the decoded footer, shared while somebody has it: it may be large
	cols   []plan.Column
	from   []arrow.DataType       // what the library makes of each column
	leaves [][]int                // of each column, the leaf columns that make it
	groups []int64                // rows of each row group
	bill   *bill                  // nil for files of superusers
	held   *metadata.FileMetaData // the decoded footer that bill has paid for
}

func newParquet(s *Sources, a *args) (table, error) {
	if !a.names("path") {
		return nil, a.err
	}
	files, err := a.files()
	if err != nil {
		return nil, err
	}
	var infos []*parquetInfo
	for _, f := range files {
		info, err := remember(s, "parquet\x00"+f.key, func() (*parquetInfo, int, error) {
			info := &parquetInfo{}
			if err := footer(f, info); err != nil {
				return nil, 0, err
			}
			if len(infos) > 0 && info.like(infos[0]) { // many files are of one schema
				return info, len(info.groups), nil
			}
			return info, len(info.groups) + len(info.cols), nil
		})
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
		for i, c := range infos[0].cols {
			if i >= len(info.cols) || info.cols[i].Name != c.Name || info.cols[i].Type != c.Type {
				return nil, pgerr.New(pgerr.DatatypeMismatch, "files %q and %q have different columns", files[0].path, f.path)
			}
		}
	}
	return parquetOf(files, infos), nil
}

// parquetOf is read_parquet of files, whose footers are infos.
func parquetOf(files []file, infos []*parquetInfo) *parquetTable {
	t := &parquetTable{files: files, infos: infos, starts: make([]int64, len(files)+1), seqs: make([]int64, len(files)+1)}
	for k, info := range infos {
		t.starts[k+1], t.seqs[k+1] = t.starts[k]+int64(len(info.groups)), t.seqs[k]
		for _, n := range info.groups {
			t.seqs[k+1] += n
		}
	}
	return t
}

// like shares another file's columns where they are the same; it returns false where they are not.
func (p *parquetInfo) like(o *parquetInfo) bool {
	if !slices.Equal(p.cols, o.cols) || !slices.EqualFunc(p.from, o.from, func(a, b arrow.DataType) bool { return arrow.TypeEqual(a, b) }) || !slices.EqualFunc(p.leaves, o.leaves, slices.Equal[[]int]) {
		return false
	}
	p.cols, p.from, p.leaves = o.cols, o.from, o.leaves
	return true
}

func (t *parquetTable) columns() []plan.Column { return t.infos[0].cols }
func (t *parquetTable) rows() float64          { return float64(t.seqs[len(t.files)]) }
func (t *parquetTable) from() []file           { return t.files }
func (t *parquetTable) units() int64           { return t.starts[len(t.files)] }
func (t *parquetTable) perPart() int64         { return 1 }

// guarded turns a panic of the decoder, which trusts what it reads, into an
// error.
func guarded(path string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = damaged(path, fmt.Errorf("%v", p))
		}
	}()
	return f()
}

func damaged(path string, err error) error {
	var e *pgerr.Error
	if errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return pgerr.New(pgerr.DataCorrupted, "could not read parquet file %q: %v", path, err)
}

// parquetFile is a file that is open.
type parquetFile struct {
	*pqfile.Reader
	in   *os.File
	size int64
}

// openParquet opens a file.
func openParquet(f file, info *parquetInfo) (*parquetFile, error) {
	in, err := os.Open(f.path)
	if err != nil {
		return nil, fileError(f.path, err)
	}
	raw := &parquetFile{in: in, size: f.size}
	var meta *metadata.FileMetaData
	if w := info.meta.Load(); w != nil {
		meta = w.Value()
	}
	err = guarded(f.shown(), func() (err error) {
		if meta == nil {
			if err = checkFooter(in, f.size, info.bill); err != nil {
				return err
			}
		}
		raw.Reader, err = pqfile.NewParquetReader(in, pqfile.WithMetadata(meta))
		return err
	})
	if err != nil {
		_ = in.Close()
		return nil, damaged(f.shown(), err)
	}
	if meta == nil {
		w := weak.Make(raw.MetaData())
		info.meta.Store(&w)
		if info.bill != nil {
			info.held = raw.MetaData()
		}
	}
	return raw, nil
}

// arrowReader is the library's reader of columns.
func arrowReader(path string, raw *parquetFile) (r *pqarrow.FileReader, err error) {
	err = guarded(path, func() (err error) {
		r, err = pqarrow.NewFileReader(raw.Reader, pqarrow.ArrowReadProperties{BatchSize: batch.DefaultSize}, memory.DefaultAllocator)
		return err
	})
	if err != nil {
		return nil, damaged(path, err)
	}
	return r, nil
}

// footer reads a file's footer into info.
func footer(f file, info *parquetInfo) error {
	raw, err := openParquet(f, info)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	r, err := arrowReader(f.shown(), raw)
	if err != nil {
		return err
	}
	local := localTimes(raw)
	for i := range r.Manifest.Fields {
		sf := &r.Manifest.Fields[i]
		if i >= maxFileColumns {
			return pgerr.New(pgerr.TooManyColumns, "file %q has more than %d columns", f.shown(), maxFileColumns)
		}
		t := sqlType(sf.Field.Type)
		leaves := leavesOf(sf, nil)
		if len(leaves) == 1 {
			t = annotated(t, raw.MetaData().Schema.Column(leaves[0]).LogicalType())
		}
		if t.OID == types.TimestamptzOID && local[sf.Field.Name] {
			t = types.Timestamp
		}
		info.cols = append(info.cols, plan.Column{Name: types.TruncateName(sf.Field.Name), Type: t})
		info.from = append(info.from, sf.Field.Type)
		info.leaves = append(info.leaves, leaves)
	}
	for i := range raw.NumRowGroups() {
		info.groups = append(info.groups, raw.MetaData().RowGroup(i).NumRows())
	}
	return nil
}

// localTimes names the timestamps without a time zone that some writers mark as
// UTC all the same; the schema they leave beside the file's says so.
func localTimes(raw *parquetFile) map[string]bool {
	out := map[string]bool{}
	text := raw.MetaData().KeyValueMetadata().FindValue("ARROW:schema")
	if text == nil {
		return out
	}
	bytes, err := base64.StdEncoding.DecodeString(*text)
	if err != nil {
		return out
	}
	_ = guarded("", func() error {
		r, err := ipc.NewReader(strings.NewReader(string(bytes)))
		if err != nil {
			return err
		}
		defer r.Release()
		for _, f := range r.Schema().Fields() {
			if ts, ok := f.Type.(*arrow.TimestampType); ok && ts.TimeZone == "" {
				out[f.Name] = true
			}
		}
		return nil
	})
	return out
}

func leavesOf(f *pqarrow.SchemaField, out []int) []int {
	if len(f.Children) == 0 { // IsLeaf says so of groups too
		return append(out, f.ColIndex)
	}
	for i := range f.Children {
		out = leavesOf(&f.Children[i], out)
	}
	return out
}

func (t *parquetTable) read(_ context.Context, from, to int64, cols []int, _ []plan.Column) (op.BatchReader, error) {
	return &units{next: from, end: to, open: func(ctx context.Context, u int64) (op.BatchReader, error) {
		i := fileOf(t.starts, u)
		info, n, seq := t.infos[i], int(u-t.starts[i]), t.seqs[i]
		if err := info.bill.begin(); err != nil {
			return nil, err
		}
		for _, rows := range info.groups[:n] {
			seq += rows
		}
		return openGroup(ctx, t.files[i], info, n, cols, seq)
	}}, nil
}

// group reads one row group.
type group struct {
	path  string
	raw   *parquetFile
	cols  []column
	names []string // of cols
	left  int64
	seq   int64
}

// column reads a column of a row group.
type column interface {
	next(n int) (arrow.Array, error) // the next n rows
	close()
}

func openGroup(ctx context.Context, f file, info *parquetInfo, n int, cols []int, seq int64) (op.BatchReader, error) {
	g := &group{path: f.shown(), left: info.groups[n], seq: seq}
	if len(cols) == 0 {
		return g, nil
	}
	var err error
	if g.raw, err = openParquet(f, info); err != nil {
		return nil, err
	}
	err = guarded(g.path, func() error {
		var r *pqarrow.FileReader // rarely needed
		for _, c := range cols {
			g.names = append(g.names, info.cols[c].Name)
			p, err := openPages(g.raw, n, info, c)
			if err != nil {
				return err
			}
			if p != nil {
				g.cols = append(g.cols, p)
				continue
			}
			if r == nil {
				if r, err = arrowReader(g.path, g.raw); err != nil {
					return err
				}
			}
			leaves := map[int]bool{}
			for _, l := range info.leaves[c] {
				leaves[l] = true
				if info.bill != nil {
					if err := checkPages(g.raw, n, l, info.bill); err != nil {
						return err
					}
				}
			}
			rd, err := r.GetFieldReader(ctx, c, leaves, []int{n})
			if err != nil {
				return err
			}
			g.cols = append(g.cols, &converted{rd, info.cols[c].Type})
		}
		return nil
	})
	if err != nil {
		_ = g.Close()
		return nil, damaged(g.path, err)
	}
	return g, nil
}

// openPages reads a column of a row group page by page; nil where the library must.
func openPages(raw *parquetFile, n int, info *parquetInfo, c int) (*pages, error) {
	if len(info.leaves[c]) != 1 {
		return nil, nil
	}
	leaf := info.leaves[c][0]
	descr, rg := raw.MetaData().Schema.Column(leaf), raw.RowGroup(n)
	vals := valuesOf(descr, info.from[c], info.cols[c].Type, rg.NumRows())
	if vals == nil {
		return nil, nil
	}
	chunk, err := rg.MetaData().ColumnChunk(leaf)
	if err != nil {
		return nil, err
	}
	optional := descr.MaxDefinitionLevel() > 0
	if !readable(chunk.Encodings(), optional) || chunk.CryptoMetadata() != nil {
		return nil, nil
	}
	if t, ok := vals.(*textValues); ok {
		t.bill = info.bill
	}
	rd, err := openChunk(raw.in, raw.size, chunk, raw.WriterVersion())
	if err != nil {
		return nil, err
	}
	rd.bill = info.bill
	return &pages{rd: rd, optional: optional, vals: vals}, nil
}

func (g *group) Next(ctx context.Context) (*batch.Batch, error) {
	if g.left <= 0 {
		return nil, io.EOF
	}
	n := int(min(g.left, batch.DefaultSize))
	out := make([]arrow.Array, len(g.cols))
	err := guarded(g.path, func() (err error) {
		for i, c := range g.cols {
			if out[i], err = c.next(n); err != nil {
				if e, ok := err.(*pgerr.Error); ok {
					return e.WithDetail("Column %q of file %q.", g.names[i], g.path)
				}
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, damaged(g.path, err)
	}
	return g.emit(out, n), nil
}

// converted is a column that the library reads.
type converted struct {
	rd *pqarrow.ColumnReader
	t  types.Type
}

func (c *converted) next(n int) (arrow.Array, error) {
	chunks, err := c.rd.NextBatch(int64(n))
	if err != nil {
		return nil, err
	}
	out, err := joined(chunks, c.t)
	if err == nil && out.Len() != n {
		err = fmt.Errorf("a column has %d rows of %d", out.Len(), n)
	}
	return out, err
}

func (c *converted) close() { c.rd.Release() } // the reader's own memory; batches hold their buffers

// checkStrings is checkText of a column, where it is one of strings.
func checkStrings(arr arrow.Array) error {
	s, ok := arr.(*array.String)
	if !ok || s.Len() == 0 {
		return nil
	}
	offs := s.ValueOffsets() // they begin at the column's own first string; its bytes are those alone
	at := make([]int32, len(offs))
	for i := range offs {
		at[i] = offs[i] - offs[0]
	}
	return checkText(at, s.ValueBytes())
}

// joined converts the chunks that the decoder returns, one almost always.
func joined(c *arrow.Chunked, t types.Type) (arrow.Array, error) {
	defer c.Release()
	var all []arrow.Array
	for _, arr := range c.Chunks() {
		conv, err := convert(arr, t)
		if err == nil {
			err = checkStrings(conv)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, conv)
	}
	switch len(all) {
	case 0:
		return batch.Nulls(t.Arrow(), 0), nil
	case 1:
		return all[0], nil
	}
	return array.Concatenate(all, memory.DefaultAllocator)
}

func (g *group) emit(cols []arrow.Array, n int) *batch.Batch {
	b := batch.New(cols, n)
	b.Seq = g.seq
	g.seq += int64(n)
	g.left -= int64(n)
	return b
}

// Lend implements op.Lender: columns of plain numbers lie where those of the batch before did.
func (g *group) Lend() {
	for _, c := range g.cols {
		op.Lend(c)
	}
}

func (g *group) Close() error {
	g.left = 0
	for _, c := range g.cols {
		c.close()
	}
	g.cols = nil
	if g.raw == nil {
		return nil
	}
	err := g.raw.Close()
	g.raw = nil
	return err
}
