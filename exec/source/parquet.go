package source

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
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
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// parquetTable is read_parquet: files whose columns have the same names. A row group is a unit; only
// the columns that are needed are read.
type parquetTable struct {
	files  []file
	infos  []*parquetInfo
	cols   []plan.Column
	places [][]int // of each file, which of its columns is each of the table, -1 for none; nil where all are as in the first file
	starts []int64 // of each file, its first row group; then how many there are
	seqs   []int64 // of each file, its first row; then how many there are
}

// parquetInfo is the contents of a file's footer.
type parquetInfo struct {
	meta   atomic.Pointer[weak.Pointer[metadata.FileMetaData]] // the decoded footer, shared while somebody has it: it may be large
	cols   []plan.Column
	from   []arrow.DataType // what the library makes of each column
	leaves [][]int          // of each column, the leaf columns that make it
	groups []int64          // rows of each row group
	// refused are the columns, by their place, that cannot be read, and why.
	refused map[int]string
	held    *metadata.FileMetaData // the decoded footer of a file that anybody may have sent, which is charged for; else nil
}

func newParquet(s *Sources, a *args) (table, error) {
	if !a.names(append([]string{"path", "union_by_name"}, labelArgs...)...) {
		return nil, a.err
	}
	union := a.bool("union_by_name", false)
	files, err := a.files()
	if err != nil {
		return nil, err
	}
	var infos []*parquetInfo
	next := &ahead{ctx: a.ctx, files: files}
	defer next.close()
	for i, f := range files {
		info, err := remember(s, "parquet\x00"+f.key, func() (*parquetInfo, int, error) {
			info := &parquetInfo{}
			next.to(i, filesAhead, tailOf)
			if err := footer(a.ctx, f, info, nil); err != nil {
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
	}
	t := parquetOf(files, infos)
	if err := t.align(union); err != nil {
		return nil, err
	}
	return label(t, a)
}

// parquetOf is read_parquet of files, whose footers are infos.
func parquetOf(files []file, infos []*parquetInfo) *parquetTable {
	t := &parquetTable{files: files, infos: infos, cols: infos[0].cols, starts: make([]int64, len(files)+1), seqs: make([]int64, len(files)+1)}
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

func (t *parquetTable) columns() []plan.Column { return t.cols }
func (t *parquetTable) rows() float64          { return float64(t.seqs[len(t.files)]) }
func (t *parquetTable) from() []file           { return t.files }
func (t *parquetTable) units() int64           { return t.starts[len(t.files)] }
func (t *parquetTable) perPart() int64         { return 1 }
func (t *parquetTable) fileOf(unit int64) int  { return fileOf(t.starts, unit) }

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
	in   object.File
	size int64
}

// openParquet opens a file. The decoded footer is held, and charged to acct; where acct is nil, those
// who read the file at the moment share it.
func openParquet(ctx context.Context, f file, info *parquetInfo, acct *mem.Account) (*parquetFile, error) {
	in, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	raw := &parquetFile{in: in, size: f.size}
	var meta *metadata.FileMetaData
	if w := info.meta.Load(); w != nil {
		meta = w.Value()
	}
	shared := meta
	err = guarded(f.shown(), func() (err error) {
		if meta == nil {
			text, err := readFooter(in, f.size, acct)
			if err != nil {
				return err
			}
			if known, err := knownSchema(text); err != nil && text != nil {
				return err
			} else if text != nil && known.changed {
				info.refused = known.refused
				if meta, err = metadata.NewFileMetaData(known.text, nil); err != nil {
					return err
				}
			}
		}
		raw.Reader, err = pqfile.NewParquetReader(in, pqfile.WithMetadata(meta))
		return err
	})
	if err != nil {
		_ = in.Close()
		return nil, damaged(f.shown(), err)
	}
	if raw.MetaData() != shared {
		w := weak.Make(raw.MetaData())
		info.meta.Store(&w)
		if acct != nil {
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

// footer reads a file's footer into info; see openParquet.
func footer(ctx context.Context, f file, info *parquetInfo, acct *mem.Account) error {
	raw, err := openParquet(ctx, f, info, acct)
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
	return t.groups(from, to, cols), nil
}

// groups reads row groups [from, to).
func (t *parquetTable) groups(from, to int64, cols []int) *units {
	next := &ahead{files: t.files}
	r := &units{next: from, end: to, done: next.close}
	r.open = func(ctx context.Context, u int64) (op.BatchReader, error) {
		i := fileOf(t.starts, u)
		if next.ctx = ctx; u+1 < to && u+1 == t.starts[i+1] {
			next.to(i, 1, func(f file) object.Range { return object.Range{To: min(f.size, wholeAhead)} })
		}
		info, n, seq := t.infos[i], int(u-t.starts[i]), t.seqs[i]
		for _, rows := range info.groups[:n] {
			seq += rows
		}
		if t.places == nil {
			return openGroup(ctx, t.files[i], info, n, cols, seq, r.pool)
		}
		return t.openAligned(ctx, i, n, cols, seq, r.pool)
	}
	return r
}

// group reads one row group.
type group struct {
	path  string
	raw   *parquetFile
	cols  []column
	names []string // of cols
	left  int64
	seq   int64
	rest  []arrow.Array // of cols: rows that others of the batch were too long for; nil: none

	acct *mem.Account // may be nil
	used int64        // bytes of pages
}

// freePages are bytes of pages that a thread may hold without an account. Pages of usual size are
// part of the batches in flight, for which there is room beside the accounts.
const freePages = 8 << 20

// charge charges the bytes of pages, for as long as ctx is that of the statement.
func (g *group) charge(ctx context.Context) charge {
	return func(more int, must bool) error {
		owed := func(n int64) int64 { return max(n-freePages, 0) }
		d := owed(g.used+int64(more)) - owed(g.used)
		switch {
		case g.acct == nil:
		case d < 0:
			g.acct.Shrink(-d)
		case must:
			if err := g.acct.Insist(ctx, d); err != nil {
				return pgerr.From(err).WithHint("Raise --memory, or write the file with smaller pages, or row groups, or fewer columns.")
			}
		case !g.acct.Try(d):
			return errNoRoom
		}
		g.used += int64(more)
		return nil
	}
}

var errNoRoom = errors.New("there is no memory for the page")

// column reads a column of a row group.
type column interface {
	next(n int) (arrow.Array, error) // the next rows: n, or fewer, at least one, where they are long
	close()
}

func openGroup(ctx context.Context, f file, info *parquetInfo, n int, cols []int, seq int64, pool *mem.Pool) (op.BatchReader, error) {
	g := &group{path: f.shown(), left: info.groups[n], seq: seq, rest: make([]arrow.Array, len(cols))}
	if len(cols) == 0 {
		return g, nil
	}
	if pool != nil {
		g.acct = pool.Account("pages of parquet file "+strconv.Quote(g.path), false)
	}
	charge := g.charge(ctx)
	most := max(op.BatchBytes/len(cols), 64<<10)
	var err error
	if g.raw, err = openParquet(ctx, f, info, nil); err != nil {
		_ = g.Close()
		return nil, err
	}
	err = guarded(g.path, func() error {
		g.raw.prefetch(info, n, cols)
		var r *pqarrow.FileReader // rarely needed
		for _, c := range cols {
			g.names = append(g.names, info.cols[c].Name)
			if why := info.refused[c]; why != "" {
				return pgerr.Unsupported("column %q of file %q %s, which is not supported", info.cols[c].Name, g.path, why)
			}
			p, err := openPages(g.raw, n, info, c, most, bytesAtOnce(len(cols)), charge)
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
				if err := libraryReads(g.raw, n, l); err != nil {
					return pgerr.From(err).WithDetail("Column %q of file %q.", info.cols[c].Name, g.path)
				}
			}
			held, err := byLibraryHeld(g.raw, n, info.leaves[c], info.held != nil, charge)
			if err == nil {
				err = charge(held, true)
			}
			if err != nil {
				return err
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

// byLibraryHeld returns how many bytes the library's reader of a column holds: the whole chunk and
// its copy, the largest page and its copy, and what a batch of them becomes. The library's decompressors
// have no bounds: of a file that anybody may have sent the pages are decompressed before, and as a batch
// may have all their values, all pages count.
func byLibraryHeld(raw *parquetFile, n int, leaves []int, anybodys bool, charge charge) (int, error) {
	held := int64(0)
	for _, l := range leaves {
		chunk, err := raw.RowGroup(n).MetaData().ColumnChunk(l)
		if err != nil {
			return 0, err
		}
		p, err := openChunk(raw.in, raw.size, chunk, raw.WriterVersion(), readBytes, charge)
		if err != nil {
			return 0, err
		}
		page, all, err := p.sizes(raw.MetaData().Schema.Column(l), anybodys)
		if p.free(); err != nil {
			return 0, err
		}
		if rows := raw.RowGroup(n).NumRows(); !anybodys && rows > 2*batch.DefaultSize {
			all = min(all, max(page, 2*all/rows*batch.DefaultSize)) // of twice the usual rows
		}
		held += 2*chunk.TotalCompressedSize() + 2*page + all
	}
	return int(held), nil
}

// openPages reads a column of a row group page by page; nil where the library must.
func openPages(raw *parquetFile, n int, info *parquetInfo, c, most, atOnce int, charge charge) (*pages, error) {
	if len(info.leaves[c]) != 1 {
		return nil, nil
	}
	leaf := info.leaves[c][0]
	descr, rg := raw.MetaData().Schema.Column(leaf), raw.RowGroup(n)
	vals := valuesOf(descr, info.from[c], info.cols[c].Type, rg.NumRows())
	if vals == nil {
		return nil, nil
	}
	if v, ok := vals.(*textValues); ok {
		v.most = most
	}
	chunk, err := rg.MetaData().ColumnChunk(leaf)
	if err != nil {
		return nil, err
	}
	optional := descr.MaxDefinitionLevel() > 0
	if !readable(chunk.Encodings(), descr.PhysicalType(), optional) || chunk.CryptoMetadata() != nil {
		return nil, nil
	}
	rd, err := openChunk(raw.in, raw.size, chunk, raw.WriterVersion(), atOnce, charge)
	if err != nil {
		return nil, err
	}
	return &pages{rd: rd, optional: optional, phys: descr.PhysicalType(), width: widthOf(descr.PhysicalType(), descr.TypeLength()), vals: vals}, nil
}

// prefetch asks for columns of a row group and of the one behind it.
func (p *parquetFile) prefetch(info *parquetInfo, n int, cols []int) {
	var ranges []object.Range
	for g := n; g < min(n+2, p.NumRowGroups()); g++ {
		from := len(ranges)
		for _, c := range cols {
			for _, l := range info.leaves[c] {
				chunk, err := p.RowGroup(g).MetaData().ColumnChunk(l)
				if err != nil {
					return // whoever reads it says so
				}
				start, size := chunkRange(chunk)
				if start < 0 || size < 0 || start > p.size || size > p.size-start {
					return
				}
				ranges = append(ranges, object.Range{From: start, To: start + size})
			}
		}
		slices.SortFunc(ranges[from:], func(a, b object.Range) int { return int(max(-1, min(1, a.From-b.From))) })
	}
	p.in.Prefetch(ranges...)
}

func (g *group) Next(ctx context.Context) (*batch.Batch, error) {
	if g.left <= 0 {
		return nil, io.EOF
	}
	n := int(min(g.left, batch.DefaultSize))
	out := make([]arrow.Array, len(g.cols))
	err := guarded(g.path, func() (err error) {
		for i, c := range g.cols {
			if out[i] = g.rest[i]; out[i] != nil {
				n = min(n, out[i].Len())
				continue
			}
			if out[i], err = c.next(n); err != nil {
				if e, ok := err.(*pgerr.Error); ok && e.Detail == "" {
					return e.WithDetail("Column %q of file %q.", g.names[i], g.path)
				}
				return err
			}
			n = min(n, out[i].Len())
		}
		return nil
	})
	if err != nil {
		return nil, damaged(g.path, err)
	}
	for i, arr := range out {
		if g.rest[i] = nil; arr.Len() > n {
			out[i] = types.Shareable(array.NewSlice(arr, 0, int64(n)))
			g.rest[i] = types.Shareable(array.NewSlice(arr, int64(n), int64(arr.Len())))
		}
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

// AllowReuse implements op.Reuser: columns of plain numbers lie where those of the batch before did.
func (g *group) AllowReuse() {
	for _, c := range g.cols {
		op.AllowReuse(c)
	}
}

func (g *group) Close() error {
	g.left = 0
	for _, c := range g.cols {
		c.close()
	}
	g.cols, g.rest = nil, nil
	if g.acct != nil {
		g.acct.Close()
	}
	if g.raw == nil {
		return nil
	}
	err := g.raw.Close()
	g.raw = nil
	return err
}
