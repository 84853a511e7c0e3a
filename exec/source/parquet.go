package source

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	pqfile "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// parquetTable is read_parquet: files of the same columns. A row group is a
// unit; only the columns that are wanted are read.
type parquetTable struct {
	files []file
	infos []*parquetInfo
	n     int64
	rgs   int64
}

// parquetInfo is what a file's footer tells.
type parquetInfo struct {
	cols   []plan.Column
	leaves [][]int // of each column, the leaf columns that make it
	groups []int64 // rows of each row group
}

func newParquet(s *Sources, a *args) (table, error) {
	if !a.names("path") {
		return nil, a.err
	}
	files, err := a.files()
	if err != nil {
		return nil, err
	}
	t := &parquetTable{files: files}
	for _, f := range files {
		info, err := remember(s, "parquet\x00"+f.key, func() (*parquetInfo, error) { return footer(f) })
		if err != nil {
			return nil, err
		}
		t.infos = append(t.infos, info)
		for _, n := range info.groups {
			t.n += n
		}
		t.rgs += int64(len(info.groups))
		for i, c := range t.infos[0].cols {
			if i >= len(info.cols) || info.cols[i].Name != c.Name || info.cols[i].Type != c.Type {
				return nil, pgerr.New(pgerr.DatatypeMismatch, "files %q and %q have different columns", files[0].path, f.path)
			}
		}
	}
	return t, nil
}

func (t *parquetTable) columns() []plan.Column { return t.infos[0].cols }
func (t *parquetTable) rows() float64          { return float64(t.n) }
func (t *parquetTable) units() int64           { return t.rgs }
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

func openParquet(f file) (*pqfile.Reader, *pqarrow.FileReader, error) {
	if _, err := expand([]string{f.path}); err != nil {
		return nil, nil, err
	}
	var raw *pqfile.Reader
	var r *pqarrow.FileReader
	err := guarded(f.path, func() (err error) {
		if raw, err = pqfile.OpenParquetFile(f.path, false); err != nil {
			return damaged(f.path, err)
		}
		r, err = pqarrow.NewFileReader(raw, pqarrow.ArrowReadProperties{BatchSize: batch.DefaultSize}, memory.DefaultAllocator)
		if err != nil {
			return damaged(f.path, err)
		}
		return nil
	})
	if err != nil && raw != nil {
		_ = raw.Close()
	}
	return raw, r, err
}

func footer(f file) (*parquetInfo, error) {
	raw, r, err := openParquet(f)
	if err != nil {
		return nil, err
	}
	defer func() { _ = raw.Close() }()
	info := &parquetInfo{}
	local := localTimes(raw)
	for i := range r.Manifest.Fields {
		sf := &r.Manifest.Fields[i]
		if i >= maxFileColumns {
			return nil, pgerr.New(pgerr.TooManyColumns, "file %q has more than %d columns", f.path, maxFileColumns)
		}
		t := sqlType(sf.Field.Type)
		if t.OID == types.TimestamptzOID && local[sf.Field.Name] {
			t = types.Timestamp
		}
		info.cols = append(info.cols, plan.Column{Name: types.TruncateName(sf.Field.Name), Type: t})
		info.leaves = append(info.leaves, leavesOf(sf, nil))
	}
	for i := range raw.NumRowGroups() {
		info.groups = append(info.groups, raw.MetaData().RowGroup(i).NumRows())
	}
	return info, nil
}

// localTimes names the timestamps without a time zone that some writers mark as
// UTC all the same; the schema they leave beside the file's tells.
func localTimes(raw *pqfile.Reader) map[string]bool {
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
	if f.IsLeaf() {
		out = append(out, f.ColIndex)
	}
	for i := range f.Children {
		out = leavesOf(&f.Children[i], out)
	}
	return out
}

func (t *parquetTable) read(_ context.Context, from, to int64, cols []int, _ []plan.Column) (op.BatchReader, error) {
	return &units{next: from, end: to, open: func(ctx context.Context, u int64) (op.BatchReader, error) {
		seq := int64(0)
		for i, info := range t.infos {
			if u >= int64(len(info.groups)) {
				u -= int64(len(info.groups))
				for _, n := range info.groups {
					seq += n
				}
				continue
			}
			for _, n := range info.groups[:u] {
				seq += n
			}
			return openGroup(ctx, t.files[i], info, int(u), cols, seq)
		}
		return nil, pgerr.Internal("no row group %d", u)
	}}, nil
}

// group reads one row group.
type group struct {
	path string
	raw  *pqfile.Reader
	info *parquetInfo
	cols []int
	rd   []*pqarrow.ColumnReader // of each of cols
	left int64
	seq  int64
}

func openGroup(ctx context.Context, f file, info *parquetInfo, n int, cols []int, seq int64) (op.BatchReader, error) {
	g := &group{path: f.path, info: info, cols: cols, left: info.groups[n], seq: seq}
	if len(cols) == 0 {
		return g, nil
	}
	raw, r, err := openParquet(f)
	if err != nil {
		return nil, err
	}
	g.raw = raw
	err = guarded(f.path, func() error {
		for _, c := range cols {
			leaves := map[int]bool{}
			for _, l := range info.leaves[c] {
				leaves[l] = true
			}
			rd, err := r.GetFieldReader(ctx, c, leaves, []int{n})
			if err != nil {
				return err
			}
			g.rd = append(g.rd, rd)
		}
		return nil
	})
	if err != nil {
		_ = g.Close()
		return nil, damaged(f.path, err)
	}
	return g, nil
}

func (g *group) Next(ctx context.Context) (*batch.Batch, error) {
	if g.left <= 0 {
		return nil, io.EOF
	}
	n := min(g.left, batch.DefaultSize)
	out := make([]arrow.Array, len(g.cols))
	err := guarded(g.path, func() error {
		for i, c := range g.cols {
			chunks, err := g.rd[i].NextBatch(n)
			if err != nil {
				return err
			}
			if out[i], err = joined(chunks, g.info.cols[c].Type); err != nil {
				return err
			}
			if int64(out[i].Len()) != n {
				return fmt.Errorf("column %d has %d rows of %d", c+1, out[i].Len(), n)
			}
		}
		return nil
	})
	if err != nil {
		return nil, damaged(g.path, err)
	}
	return g.emit(out, int(n)), nil
}

// joined converts the chunks that the decoder gives, one almost always.
func joined(c *arrow.Chunked, t types.Type) (arrow.Array, error) {
	defer c.Release()
	var all []arrow.Array
	for _, arr := range c.Chunks() {
		conv, err := convert(arr, t)
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

func (g *group) Close() error {
	g.left = 0
	for _, rd := range g.rd {
		rd.Release() // the reader's own memory; batches hold their buffers
	}
	g.rd = nil
	if g.raw == nil {
		return nil
	}
	err := g.raw.Close()
	g.raw = nil
	return err
}
