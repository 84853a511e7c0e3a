package source

import (
	"context"
	"encoding/binary"
	"io"
	"os"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
)

// Parquet is a file that COPY reads. read_parquet is for superusers, COPY FROM STDIN for anybody:
// what such a file claims to be is charged for before room for it is made.
type Parquet struct{ table *parquetTable }

// bill pays for what a file claims to be; nil pays for nothing.
type bill struct {
	acct *mem.Account
	kept int64 // for as long as the file is read
}

func (b *bill) charge(bytes int64) error {
	if b == nil {
		return nil
	}
	return b.acct.Grow(bytes)
}

// begin begins a row group, for which nothing is charged yet.
func (b *bill) begin() error {
	if b == nil {
		return nil
	}
	return b.acct.Resize(b.kept)
}

// OpenParquet opens the file at a path that errors call name. What reading it takes is charged to
// acct.
func OpenParquet(path, name string, acct *mem.Account) (*Parquet, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fileError(name, err)
	}
	f, info := file{path: path, name: name, size: st.Size()}, &parquetInfo{bill: &bill{acct: acct}}
	if err := footer(f, info); err != nil {
		return nil, err
	}
	info.bill.kept = acct.Used()
	return &Parquet{parquetOf([]file{f}, []*parquetInfo{info})}, nil
}

// Columns are the file's columns.
func (p *Parquet) Columns() []plan.Column { return p.table.columns() }

// Read reads the columns with these indexes.
func (p *Parquet) Read(ctx context.Context, cols []int) (op.BatchReader, error) {
	return p.table.read(ctx, 0, p.table.units(), cols, nil)
}

// footerEnd is how a file ends: the footer's size, and a mark.
const footerEnd = 8

// perFooterByte is how many bytes a byte of a footer is in memory, decoded.
const perFooterByte = 16

// checkFooter finds out whether the lists of a file's footer are as long as they say, which the
// library's decoder trusts: it makes room for all elements first. It charges for the decoded footer.
// What is no Parquet file at all is left to the decoder to say.
func checkFooter(in io.ReaderAt, size int64, b *bill) error {
	var end [footerEnd]byte
	if size < footerEnd {
		return nil
	}
	if _, err := in.ReadAt(end[:], size-footerEnd); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if string(end[4:]) != "PAR1" || n > size-footerEnd {
		return nil
	}
	if err := b.charge(perFooterByte * n); err != nil {
		return err
	}
	text := make([]byte, n)
	if _, err := in.ReadAt(text, size-footerEnd-n); err != nil {
		return err
	}
	t := thrift{b: text}
	t.skip(thriftStruct)
	return t.err
}

// checkPages decompresses the pages of a leaf of a row group that the library is to read: it has no
// bounds.
func checkPages(raw *parquetFile, group, leaf int, b *bill) error {
	chunk, err := raw.RowGroup(group).MetaData().ColumnChunk(leaf)
	if err != nil {
		return err
	}
	rd, err := openChunk(raw.in, raw.size, chunk, raw.WriterVersion())
	if err != nil {
		return err
	}
	defer rd.free()
	rd.bill = b
	for {
		more, err := rd.next()
		if err != nil || !more {
			return err
		}
		// The library has the chunk twice; and a batch may have all its values.
		if err := b.charge(2*int64(rd.packed) + int64(rd.size)); err != nil {
			return err
		}
	}
}
