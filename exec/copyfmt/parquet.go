package copyfmt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	pqfile "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// ParquetOptions are the options for writing a Parquet file, with the names and defaults of DuckDB.
// A row group ends when it reaches either size; the size in bytes limits the memory that writing
// uses.
type ParquetOptions struct {
	Compression   string // "" for snappy
	RowGroupSize  int64  // rows; 0 for usualGroupRows
	RowGroupBytes int64  // of values, before they are compressed; 0 for usualGroupBytes
}

const (
	usualGroupRows  = 122_880
	usualGroupBytes = 8 << 20
)

var codecs = map[string]compress.Compression{
	"":             compress.Codecs.Snappy,
	"snappy":       compress.Codecs.Snappy,
	"uncompressed": compress.Codecs.Uncompressed,
	"gzip":         compress.Codecs.Gzip,
	"zstd":         compress.Codecs.Zstd,
	"brotli":       compress.Codecs.Brotli,
}

// parse reads an option; known is false where it is not an option of Parquet.
func (o *ParquetOptions) parse(p Option) (known bool, err error) {
	size := func(to *int64) error {
		n, err := strconv.ParseInt(p.Value, 10, 64)
		if err != nil || n < 1 {
			return pgerr.New(pgerr.InvalidParameterValue, "%s requires a positive integer value", p.Name)
		}
		*to = n
		return nil
	}
	switch p.Name {
	case "compression", "codec":
		o.Compression = strings.ToLower(p.Value)
		if _, ok := codecs[o.Compression]; !ok || o.Compression == "" {
			return true, pgerr.New(pgerr.InvalidParameterValue, "COPY %s %q not recognized", p.Name, p.Value).
				WithHint("It is uncompressed, snappy, gzip, zstd or brotli.")
		}
		return true, nil
	case "row_group_size":
		return true, size(&o.RowGroupSize)
	case "row_group_size_bytes":
		return true, size(&o.RowGroupBytes)
	}
	return false, nil
}

// parquetFile writes a Parquet file, one row group after another. The library encodes values as
// they are added and keeps them in pages until the row group ends, so their memory is charged
// before.
//
//	batch ─▶ leaf: values, levels ─▶ pages of each column ─▶ at the group's end: sink ─▶ dst
type parquetFile struct {
	w      *pqfile.Writer // nil before the first rows
	root   *schema.GroupNode
	names  []string                      // of the columns
	hashes bool                          // columns have dictionaries
	group  pqfile.BufferedRowGroupWriter // nil: none is begun
	leaves []parquetLeaf
	lists  []bool // of leaves
	defs   []int16
	reps   []int16
	sink   sink
	rows   int64 // of the group
	bytes  int64 // of its values
	foot   int64 // bytes of the footer for the row groups before
	most   ParquetOptions
	acct   *mem.Account // may be nil
}

// sink buffers bytes that the library has written, until take.
type sink struct{ b []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}

const (
	// dictionaryBytes is the largest size of a dictionary; a column beyond it is not
	// dictionary-encoded. The hash table that builds a dictionary takes several times as much
	// memory: perEntry bytes for each of the first dictionaryRows rows.
	dictionaryBytes = 32 << 10
	dictionaryRows  = dictionaryBytes / 4
	perEntry        = 64
	// perColumn is the memory of a column of a row group besides its values, buffers of the library;
	// perDictionary is that of the table of its dictionary.
	perColumn     = 9 << 10
	perDictionary = 7 << 10
	// perByte is the memory for a byte of a value: in its page, compressed, and in the sink, with a
	// little for its levels.
	perByte = 3
	// perChunk is the memory of the footer for one column of a row group; mostGroups is the largest
	// number of row groups that the format can count.
	perChunk   = 1 << 10
	mostGroups = 1<<15 - 1
	// messageBytes is the size of the messages to the client.
	messageBytes = 64 << 10
)

func newParquet(cols []Column, o ParquetOptions, env *types.Env, account func() *mem.Account) (Encoder, error) {
	if len(cols) == 0 {
		return nil, pgerr.Unsupported("a parquet file has at least one column")
	}
	if o.RowGroupSize == 0 {
		o.RowGroupSize = usualGroupRows
	}
	if o.RowGroupBytes == 0 {
		o.RowGroupBytes = usualGroupBytes
	}
	f := &parquetFile{most: o}
	var fields schema.FieldList
	for i, c := range cols {
		if slices.ContainsFunc(cols[:i], func(o Column) bool { return o.Name == c.Name }) {
			return nil, pgerr.New(pgerr.DuplicateColumn, "column %q specified more than once", c.Name).
				WithHint("The columns of a parquet file are told apart by their names.")
		}
		field, leaf, err := parquetField(c, env)
		if err != nil {
			return nil, err
		}
		fields = append(fields, field)
		f.leaves = append(f.leaves, leaf)
		f.lists, f.names = append(f.lists, c.Type.IsArray()), append(f.names, c.Name)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return nil, parquetError(err)
	}
	f.root, f.hashes = root, true
	if account != nil {
		f.acct = account()
		f.hashes = perEntry*dictionaryRows*int64(len(cols)) <= f.acct.Pool().Limit()/2 // else groups would be of few rows
	}
	return f, nil
}

// longBytes is the average of a column's values from which on it has no statistics. The library leaves
// out bounds of more than 4 KiB, but keeps them until the file ends, those of each group.
const longBytes = 1 << 10

// begin makes the library's writer; b has the first rows.
func (f *parquetFile) begin(b *batch.Batch) {
	props := []parquet.WriterProperty{parquet.WithCreatedBy("tributary"), parquet.WithCompression(codecs[f.most.Compression]),
		parquet.WithDictionaryPageSizeLimit(dictionaryBytes), parquet.WithDictionaryDefault(f.hashes)}
	for c, name := range f.names {
		if b != nil && !f.lists[c] && batch.PlainBytes(b.Cols[c], b.Sel) > longBytes*int64(b.Rows()) {
			props = append(props, parquet.WithStatsFor(name, false))
		}
	}
	f.w = pqfile.NewParquetWriter(&f.sink, f.root, pqfile.WithWriterProps(parquet.NewWriterProperties(props...)))
}

func parquetError(err error) error { return pgerr.Internal("writing a parquet file: %v", err) }

func (f *parquetFile) Begin(dst []byte) []byte { return dst }

func (f *parquetFile) Close() {
	if f.acct != nil {
		f.acct.Close()
	}
}

func (f *parquetFile) Append(dst []byte, ends []int, b *batch.Batch, from int) ([]byte, []int, int, error) {
	if f.acct != nil && f.acct.ShouldSpill() {
		if err := f.cut(); err != nil {
			return dst, ends, from, err
		}
	}
	n := b.Rows()
	if f.w == nil && n > 0 {
		f.begin(b)
	}
	for from < n && len(f.sink.b) < manyBytes {
		to := from + int(min(int64(n-from), f.most.RowGroupSize-f.rows))
		size := plainBytes(b, from, to)
		for size > f.most.RowGroupBytes && to-from > 1 {
			to = from + (to-from)/2
			size = plainBytes(b, from, to)
		}
		err := f.charge(size, int64(to-from))
		for err != nil && to-from > 1 && f.acct.Refused(err) { // of many columns a few rows are much
			to = from + (to-from)/2
			size = plainBytes(b, from, to)
			err = f.charge(size, int64(to-from))
		}
		if err == nil {
			err = f.add(b, from, to, size)
		}
		if err != nil {
			return dst, ends, from, err
		}
		if from = to; f.rows >= f.most.RowGroupSize || f.bytes >= f.most.RowGroupBytes {
			if err := f.cut(); err != nil {
				return dst, ends, from, err
			}
		}
	}
	dst, ends = f.take(dst, ends)
	return dst, ends, from, nil
}

// plainBytes returns the bytes of rows [from, to), and a little for each.
func plainBytes(b *batch.Batch, from, to int) int64 {
	b = b.Slice(from, to)
	size := int64(to - from)
	for _, c := range b.Cols {
		size += batch.PlainBytes(c, b.Sel)
	}
	return size
}

func (f *parquetFile) End(dst []byte, ends []int) ([]byte, []int, error) {
	if f.w == nil {
		f.begin(nil)
	}
	err := f.cut()
	if err == nil {
		if err = f.w.Close(); err != nil {
			err = parquetError(err)
		}
	}
	dst, ends = f.take(dst, ends)
	return dst, ends, err
}

// take appends the bytes written so far to dst, divided into messages.
func (f *parquetFile) take(dst []byte, ends []int) ([]byte, []int) {
	for b := f.sink.b; len(b) > 0; {
		n := min(len(b), messageBytes)
		dst = append(dst, b[:n]...)
		ends = append(ends, len(dst))
		b = b[n:]
	}
	f.sink.b = f.sink.b[:0]
	return dst, ends
}

// add writes the selected rows [from, to) of a batch to the row group; size is the bytes that were
// charged for them.
func (f *parquetFile) add(b *batch.Batch, from, to int, size int64) error {
	row := func(i int) int {
		if b.Sel != nil {
			return int(b.Sel[i])
		}
		return i
	}
	if f.group == nil {
		f.group = f.w.AppendBufferedRowGroup()
	}
	for c, leaf := range f.leaves {
		arr := b.Cols[c]
		f.defs, f.reps = f.defs[:0], f.reps[:0]
		if list := f.lists[c]; list {
			if err := f.addLists(leaf, arr, row, from, to); err != nil {
				return err
			}
		} else {
			leaf.of(arr)
			for i := from; i < to; i++ {
				at := row(i)
				if arr.IsNull(at) {
					f.defs = append(f.defs, 0)
					continue
				}
				f.defs = append(f.defs, 1)
				if err := leaf.add(at); err != nil {
					return err
				}
			}
		}
		w, err := f.group.Column(c)
		if err == nil {
			err = leaf.write(w, f.defs, f.reps)
		}
		if err != nil {
			return parquetError(err)
		}
	}
	f.rows += int64(to - from)
	f.bytes += size
	return nil
}

// charge reserves memory for rows of size bytes; without enough, the row group ends before them.
func (f *parquetFile) charge(size, rows int64) error {
	if f.acct == nil {
		return nil
	}
	need := func() int64 {
		n := perByte * size
		if f.hashes {
			n += perEntry * int64(len(f.leaves)) * (min(f.rows+rows, dictionaryRows) - min(f.rows, dictionaryRows))
		}
		if f.group == nil {
			n += perColumn * int64(len(f.leaves))
			if f.hashes {
				n += perDictionary * int64(len(f.leaves))
			}
		}
		return n
	}
	err := f.acct.Grow(need())
	if err == nil || f.group == nil || !f.acct.Refused(err) {
		return err
	}
	if err := f.cut(); err != nil {
		return err
	}
	return f.acct.Grow(need())
}

// cut ends the row group. Bytes in the sink stay charged until the next one.
func (f *parquetFile) cut() error {
	if f.group == nil {
		return nil
	}
	if err := f.group.Close(); err != nil {
		return parquetError(err)
	}
	held := min(2*int64(cap(f.sink.b)), perByte*f.bytes)
	f.foot += perChunk * int64(len(f.leaves))
	f.group, f.rows, f.bytes = nil, 0, 0
	if f.w.NumRowGroups() > mostGroups {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a parquet file has at most %d row groups", mostGroups).WithHint("Make ROW_GROUP_SIZE larger.")
	}
	if f.acct != nil {
		return f.acct.Resize(f.foot + held)
	}
	return nil
}

// Definition levels of a list column: the list is NULL, the list is empty, an element is NULL, an
// element has a value.
const (
	listNull = iota
	listEmpty
	elementNull
	element
)

// addLists is add for a column of arrays.
func (f *parquetFile) addLists(leaf parquetLeaf, arr arrow.Array, row func(int) int, from, to int) error {
	a, ok := arr.(*array.List)
	if !ok {
		return parquetError(fmt.Errorf("an array is a column of %s", arr.DataType()))
	}
	vals := a.ListValues()
	leaf.of(vals)
	for i := from; i < to; i++ {
		at := row(i)
		first, last := a.ValueOffsets(at)
		switch {
		case a.IsNull(at):
			f.defs, f.reps = append(f.defs, listNull), append(f.reps, 0)
			continue
		case first == last:
			f.defs, f.reps = append(f.defs, listEmpty), append(f.reps, 0)
			continue
		}
		for k := first; k < last; k++ {
			f.reps = append(f.reps, int16(min(k-first, 1)))
			if vals.IsNull(int(k)) {
				f.defs = append(f.defs, elementNull)
				continue
			}
			f.defs = append(f.defs, element)
			if err := leaf.add(int(k)); err != nil {
				return err
			}
		}
	}
	return nil
}
