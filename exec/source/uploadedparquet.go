package source

import (
	"context"
	"encoding/binary"
	"io"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
)

// Parquet is a file that COPY reads. Only superusers may call read_parquet, but anybody may COPY
// FROM STDIN: the sizes that such a file claims are not trusted, and are charged before memory is
// allocated.
type Parquet struct {
	table *parquetTable
	pool  *mem.Pool
}

// OpenParquet opens the file at path of a store; errors call it name. Its footer is charged to acct while the
// file is open, and the memory for reading pages to an account of the same pool.
func OpenParquet(ctx context.Context, store object.Store, path, name string, acct *mem.Account) (*Parquet, error) {
	at, err := store.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	f, info := file{store: store, info: at, path: path, name: name, size: at.Size}, &parquetInfo{}
	if err := footer(ctx, f, info, acct); err != nil {
		return nil, err
	}
	return &Parquet{parquetOf([]file{f}, []*parquetInfo{info}), acct.Pool()}, nil
}

// Columns are the file's columns.
func (p *Parquet) Columns() []plan.Column { return p.table.columns() }

// Read reads the columns with these indexes.
func (p *Parquet) Read(cols []int) op.BatchReader {
	r := p.table.groups(0, p.table.units(), cols)
	r.pool = p.pool
	return r
}

// footerEnd is the length of the end of a file: the size of the footer, and the magic bytes.
const footerEnd = 8

// perFooterByte is the memory for a byte of a footer when it is decoded.
const perFooterByte = 17

// readFooter reads the footer of a file, and checks that its lists are as long as they claim: the
// decoder of the library trusts these lengths and allocates memory for all elements first. It charges
// acct, unless nil, for the decoded footer. Of a file that is not Parquet at all it returns nil: the
// decoder reports that.
func readFooter(in io.ReaderAt, size int64, acct *mem.Account) ([]byte, error) {
	var end [footerEnd]byte
	if size < footerEnd {
		return nil, nil
	}
	if _, err := in.ReadAt(end[:], size-footerEnd); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if string(end[4:]) != "PAR1" || n > size-footerEnd {
		return nil, nil
	}
	if acct != nil {
		if err := acct.Grow(perFooterByte * n); err != nil {
			return nil, err
		}
	}
	text := make([]byte, n)
	if _, err := in.ReadAt(text, size-footerEnd-n); err != nil {
		return nil, err
	}
	t := thrift{b: text}
	t.skip(thriftStruct)
	return text, t.err
}
