package copyfmt

import (
	"encoding/binary"
	"slices"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/types"
)

// Encoder writes batches as COPY data. It is for one goroutine, and must be closed.
type Encoder interface {
	// Begin appends what comes before the rows: a header line, or a signature.
	Begin(dst []byte) []byte
	// Append appends a batch's rows from one on to dst and where each ends in it to ends, until it has
	// added many bytes, and returns the first of those that are left. A format that writes many rows at once
	// may append nothing yet.
	Append(dst []byte, ends []int, b *batch.Batch, from int) ([]byte, []int, int, error)
	// End appends what comes after the rows.
	End(dst []byte, ends []int) ([]byte, []int, error)
	Close()
}

// NewEncoder writes rows of cols; what it holds is charged to account's, which may be nil.
func NewEncoder(cols []Column, opts Options, env *types.Env, account func() *mem.Account) (Encoder, error) {
	if opts.Format == Parquet {
		return newParquet(cols, opts.File, env, account)
	}
	return newRows(cols, opts, env), nil
}

// rows writes the formats that have a row after the other.
type rows struct {
	opts  Options
	cols  []Column
	env   *types.Env
	force []bool
	field []byte
}

func newRows(cols []Column, opts Options, env *types.Env) *rows {
	e := &rows{opts: opts, cols: cols, env: env, force: make([]bool, len(cols))}
	for i, c := range cols {
		e.force[i] = opts.ForceAll || slices.Contains(opts.ForceQuote, c.Name)
	}
	return e
}

func (e *rows) Begin(dst []byte) []byte {
	if e.opts.Format == Binary {
		dst = append(dst, signature...)
		return append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	if e.opts.Header {
		for i, c := range e.cols {
			if i > 0 {
				dst = append(dst, e.opts.Delimiter)
			}
			dst = e.appendField(dst, []byte(c.Name), false)
		}
		dst = append(dst, '\n')
	}
	return dst
}

func (e *rows) End(dst []byte, ends []int) ([]byte, []int, error) {
	if e.opts.Format == Binary {
		dst = append(dst, 0xff, 0xff)
		ends = append(ends, len(dst))
	}
	return dst, ends, nil
}

func (e *rows) Close() {}

// manyBytes: a batch may be gigabytes as text, where its rows share a dictionary's long strings.
const manyBytes = 1 << 20

func (e *rows) Append(dst []byte, ends []int, b *batch.Batch, from int) ([]byte, []int, int, error) {
	k, begin := from, len(dst)
	for n := b.Rows(); k < n && len(dst)-begin < manyBytes; k++ {
		row := k
		if b.Sel != nil {
			row = int(b.Sel[k])
		}
		if e.opts.Format == Binary {
			dst = binary.BigEndian.AppendUint16(dst, uint16(len(e.cols)))
		}
		for i, c := range e.cols {
			arr := b.Cols[i]
			if e.opts.Format != Binary && i > 0 {
				dst = append(dst, e.opts.Delimiter)
			}
			if arr.IsNull(row) {
				if e.opts.Format == Binary {
					dst = append(dst, 0xff, 0xff, 0xff, 0xff)
				} else {
					dst = append(dst, e.opts.Null...)
				}
				continue
			}
			d := types.DatumAt(c.Type, arr, row)
			if e.opts.Format == Binary {
				at := len(dst)
				dst = append(dst, 0, 0, 0, 0)
				dst = types.AppendBinary(dst, c.Type, d)
				binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
				continue
			}
			e.field = types.AppendText(e.field[:0], c.Type, d, e.env)
			dst = e.appendField(dst, e.field, e.force[i])
		}
		if e.opts.Format != Binary {
			dst = append(dst, '\n')
		}
		ends = append(ends, len(dst))
	}
	return dst, ends, k, nil
}

func (e *rows) appendField(dst, f []byte, force bool) []byte {
	if e.opts.Format == Text {
		for _, c := range f {
			switch c {
			case '\\':
				dst = append(dst, '\\', '\\')
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			case '\b':
				dst = append(dst, '\\', 'b')
			case '\f':
				dst = append(dst, '\\', 'f')
			case '\v':
				dst = append(dst, '\\', 'v')
			case e.opts.Delimiter:
				dst = append(dst, '\\', c)
			default:
				dst = append(dst, c)
			}
		}
		return dst
	}
	quote := force || view(f) == e.opts.Null || len(e.cols) == 1 && view(f) == `\.`
	for _, c := range f {
		if c == e.opts.Delimiter || c == e.opts.Quote || c == '\n' || c == '\r' {
			quote = true
			break
		}
	}
	if !quote {
		return append(dst, f...)
	}
	dst = append(dst, e.opts.Quote)
	for _, c := range f {
		if c == e.opts.Quote || c == e.opts.Escape {
			dst = append(dst, e.opts.Escape)
		}
		dst = append(dst, c)
	}
	return append(dst, e.opts.Quote)
}
