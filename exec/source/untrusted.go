package source

import (
	"encoding/binary"
	"io"
	"os"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
)

// Parquet is a file that COPY reads. read_parquet is for superusers, COPY FROM STDIN for anybody:
// what such a file claims to be is charged for before room for it is made.
type Parquet struct {
	table *parquetTable
	pool  *mem.Pool
}

// OpenParquet opens the file at a path that errors call name. Its footer is charged to acct for as
// long as that is open, and what reading the pages takes to an account of the same pool.
func OpenParquet(path, name string, acct *mem.Account) (*Parquet, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fileError(name, err)
	}
	f, info := file{path: path, name: name, size: st.Size()}, &parquetInfo{}
	if err := footer(f, info, acct); err != nil {
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

// footerEnd is how a file ends: the footer's size, and a mark.
const footerEnd = 8

// perFooterByte is how many bytes a byte of a footer is in memory, decoded.
const perFooterByte = 16

// checkFooter finds out whether the lists of a file's footer are as long as they say, which the
// library's decoder trusts: it makes room for all elements first. It charges acct, unless that is nil,
// for the decoded footer. What is no Parquet file at all is left to the decoder to say.
func checkFooter(in io.ReaderAt, size int64, acct *mem.Account) error {
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
	if acct != nil {
		if err := acct.Grow(perFooterByte * n); err != nil {
			return err
		}
	}
	text := make([]byte, n)
	if _, err := in.ReadAt(text, size-footerEnd-n); err != nil {
		return err
	}
	t := thrift{b: text}
	t.skip(thriftStruct)
	return t.err
}
