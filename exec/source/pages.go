package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/parquet"

	"github.com/tributarydb/tributary/exec/batch"
)

// pages reads the pages of a column chunk whose values do not repeat, and decodes their rows by
// values. Most files have nothing else; other columns, and other encodings, go through the
// library's own reader.
//
//	page   │ definition levels: 1 1 0 1 …, if values may be NULL │ values │
//	values   plain: one after the other       indices: bits, places in the dictionary
type pages struct {
	rd       *pageReader
	optional bool
	left     int    // rows of the page
	defs     hybrid // of an optional column
	indexed  bool
	indices  hybrid
	plain    []byte
	vals     values
}

// values decodes the values of one column, in one form of its memory.
type values interface {
	// dictionary reads the chunk's dictionary, n plain values.
	dictionary(b []byte, n int) error
	// start begins a batch of n rows.
	start(n int)
	// plain decodes n values from the start of b and returns the rest.
	plain(b []byte, n int) ([]byte, error)
	// indices appends the values of the dictionary at idx.
	indices(idx []int32) error
	// spread puts the last values, fewer than rows, where valid has ones from row
	// first on.
	spread(valid []byte, first, rows, values int)
	// finish returns the batch's column.
	finish(valid []byte) arrow.Array
	// lend: a batch's column is not read any more when the next begins, so that it may lie in room.
	lend(room *[]uint64)
}

// readable reports whether all pages of a chunk are of encodings that pages knows.
func readable(encodings []parquet.Encoding, optional bool) bool {
	levels := false
	for _, e := range encodings {
		switch e {
		case parquet.Encodings.RLE:
			levels = true
		case parquet.Encodings.Plain, parquet.Encodings.PlainDict, parquet.Encodings.RLEDict:
		case parquet.Encodings.BitPacked: // named by writers for levels that are not there
		default:
			return false
		}
	}
	return levels || !optional || !slices.Contains(encodings, parquet.Encodings.BitPacked)
}

var errPage = errors.New("a page is cut off")

// open goes to the next page with rows.
func (p *pages) open() error {
	for {
		more, err := p.rd.next()
		if err != nil {
			return err
		}
		if !more {
			return errors.New("a column has fewer rows than its row group")
		}
		n, body := p.rd.values, p.rd.body
		switch p.rd.kind {
		case dictionaryPage:
			if e := p.rd.encoding; e != parquet.Encodings.Plain && e != parquet.Encodings.PlainDict {
				return fmt.Errorf("the dictionary is encoded as %s", e)
			}
			if err := p.vals.dictionary(body, n); err != nil {
				return err
			}
			continue
		case dataPage:
			if !p.optional {
				break
			}
			if e := p.rd.levels; e != parquet.Encodings.RLE {
				return fmt.Errorf("levels are encoded as %s", e)
			}
			if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
				return errPage
			}
			end := 4 + int(binary.LittleEndian.Uint32(body))
			p.defs, _ = newHybrid(body[4:end], 1)
			body = body[end:]
		case dataPage2:
			reps, defs := p.rd.reps, p.rd.defs
			if reps+defs > len(body) {
				return errPage
			}
			p.defs, _ = newHybrid(body[reps:reps+defs], 1)
			body = body[reps+defs:]
		default:
			continue
		}
		if n == 0 {
			continue
		}
		p.left = n
		switch e := p.rd.encoding; e {
		case parquet.Encodings.Plain:
			p.indexed, p.plain = false, body
		case parquet.Encodings.PlainDict, parquet.Encodings.RLEDict:
			p.indexed = true
			if len(body) == 0 { // all are NULL
				p.indices = hybrid{}
				return nil
			}
			var err error
			p.indices, err = newHybrid(body[1:], uint(body[0]))
			return err
		default:
			return fmt.Errorf("a page is encoded as %s", e)
		}
		return nil
	}
}

// next makes a column of the next n rows.
func (p *pages) next(n int) (arrow.Array, error) {
	if p.left == 0 && n > 0 { // the first page may be the dictionary
		if err := p.open(); err != nil {
			return nil, err
		}
	}
	p.vals.start(n)
	var valid []byte
	for row := 0; row < n; {
		if p.left == 0 {
			if err := p.open(); err != nil {
				return nil, err
			}
		}
		k := min(n-row, p.left)
		there := k
		spread := false
		if p.optional {
			some, err := p.defs.all(1, k)
			if err != nil {
				return nil, err
			}
			switch {
			case some > 0:
				k, there = some, some
				if valid != nil {
					for i := range k {
						batch.SetBit(valid, row+i)
					}
				}
			default:
				if valid == nil {
					valid = make([]byte, batch.BitmapBytes(n))
					for i := range row {
						batch.SetBit(valid, i)
					}
				}
				defs := p.numbers(k)
				if err := p.defs.read(defs); err != nil {
					return nil, err
				}
				there = 0
				for i, d := range defs {
					if d != 0 {
						batch.SetBit(valid, row+i)
						there++
					}
				}
				spread = there < k
			}
		}
		if err := p.take(there); err != nil {
			return nil, err
		}
		if spread {
			p.vals.spread(valid, row, k, there)
		}
		row += k
		p.left -= k
	}
	return p.vals.finish(valid), nil
}

// Lend implements op.Lender.
func (p *pages) Lend() { p.vals.lend(&p.rd.column) }

func (p *pages) close() { p.rd.free() }

func (p *pages) numbers(n int) []int32 {
	if cap(p.rd.numbers) < n {
		p.rd.numbers = make([]int32, n)
	}
	return p.rd.numbers[:n]
}

// take decodes the next n values that are not NULL.
func (p *pages) take(n int) (err error) {
	switch {
	case n == 0:
		return nil
	case p.indexed:
		idx := p.numbers(n)
		if err := p.indices.read(idx); err != nil {
			return err
		}
		return p.vals.indices(idx)
	}
	p.plain, err = p.vals.plain(p.plain, n)
	return err
}
