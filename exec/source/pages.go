package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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
//	         differences (deltas), which become plain ones
type pages struct {
	rd       *pageReader
	optional bool
	phys     parquet.Type
	width    int    // of a value, see widthOf
	left     int    // rows of the page
	defs     hybrid // of an optional column
	indexed  bool
	indices  hybrid
	plain    []byte // what is there of plain values; the rest is in the reader's stream
	levels   []byte // of a stream
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
	// free returns how many more values of the dictionary the batch may have, or bytes of plain ones.
	free(indexed bool) int
	// alone returns the bytes of the dictionary's longest value, if a batch has no room for it beside
	// others.
	alone() int
	// whole returns how many of n plain values lie wholly in b and have room; if there is none, need
	// is how many bytes the first one takes, as far as it is known.
	whole(b []byte, n int) (k, need int)
	// indices appends the values of the dictionary at idx.
	indices(idx []int32) error
	// spread puts the last values, fewer than rows, where valid has ones from row
	// first on.
	spread(valid []byte, first, rows, values int)
	// finish returns the batch's column.
	finish(valid []byte) arrow.Array
	// reuse: a batch's column is not read any more when the next begins, so that it may lie in room.
	reuse(room *[]uint64)
}

// readable reports whether all pages of a chunk are of encodings that pages knows.
func readable(encodings []parquet.Encoding, phys parquet.Type, optional bool) bool {
	levels := false
	for _, e := range encodings {
		switch e {
		case parquet.Encodings.RLE:
			levels = true
		case parquet.Encodings.Plain, parquet.Encodings.PlainDict, parquet.Encodings.RLEDict:
		case parquet.Encodings.DeltaBinaryPacked:
			if phys != parquet.Types.Int32 && phys != parquet.Types.Int64 {
				return false
			}
		case parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray:
			if phys != parquet.Types.ByteArray {
				return false
			}
		case byteStreamSplit:
			if widthOf(phys, 1) == 0 {
				return false
			}
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
		if p.plain = nil; p.rd.stream != nil {
			if err := p.openStream(); err != nil {
				return err
			}
			if p.left > 0 {
				return nil
			}
			continue
		}
		n, body := p.rd.values, p.rd.body
		switch p.rd.kind {
		case dictionaryPage:
			if e := p.rd.encoding; e != parquet.Encodings.Plain && e != parquet.Encodings.PlainDict {
				return fmt.Errorf("the dictionary is encoded as %s", e)
			}
			p.rd.kept = max(2*len(body), 8*min(n, len(body))) // decimals of a byte become eight
			if err := p.rd.hold(0, true); err != nil {
				return err
			}
			if err := p.vals.dictionary(body, n); err != nil {
				return err
			}
			if err := p.rd.alone(p.vals.alone()); err != nil {
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
		case parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray:
			var err error
			p.indexed = false
			p.plain, err = p.rd.plainOf(body, p.phys)
			return err
		case byteStreamSplit:
			var err error
			p.indexed = false
			p.plain, err = p.rd.joinBytes(body, p.width)
			return err
		default:
			return fmt.Errorf("a page is encoded as %s", e)
		}
		return nil
	}
}

// openStream goes to the values of a page that is a stream.
func (p *pages) openStream() error {
	s, size := p.rd.stream, p.rd.defs
	skip := 0 // bytes before the levels
	switch {
	case p.rd.kind == dataPage2:
		skip = p.rd.reps
	case !p.optional:
		size = 0
	default:
		if e := p.rd.levels; e != parquet.Encodings.RLE {
			return fmt.Errorf("levels are encoded as %s", e)
		}
		b, err := s.peek(4)
		if err != nil {
			return err
		}
		skip, size = 4, int(min(binary.LittleEndian.Uint32(b), math.MaxInt32-4))
	}
	b, err := s.peek(skip + size)
	if err != nil {
		return err
	}
	p.levels = append(p.levels[:0], b[skip:skip+size]...)
	s.skip(skip + size)
	p.defs, err = newHybrid(p.levels, 1)
	p.left, p.indexed = p.rd.values, false
	return err
}

// next makes a column of the next rows: n, or fewer, at least one, where they are long.
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
		k, err := p.few(min(n-row, p.left), row == 0)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			break
		}
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

// AllowReuse implements op.Reuser.
func (p *pages) AllowReuse() { p.vals.reuse(&p.rd.column) }

func (p *pages) close() { p.rd.free() }

// few returns how many of the next n rows a batch has room for, and what is there of the page has.
func (p *pages) few(n int, first bool) (int, error) {
	room := p.vals.free(p.indexed)
	switch {
	case room <= 0 && !first:
		return 0, nil
	case p.indexed:
		return min(n, max(room, 1)), nil
	case p.rd.stream == nil && len(p.plain) <= room:
		return n, nil
	}
	for {
		k, need := p.vals.whole(p.plain, n)
		switch {
		case k > 0:
			return k, nil
		case need <= len(p.plain): // and there is no room for it
			if first {
				return 1, p.rd.alone(need)
			}
			return 0, nil
		case p.rd.stream == nil || !p.rd.stream.more(): // the rows are NULL, or it is missed when it is taken
			return n, nil
		}
		var err error
		if p.plain, err = p.rd.stream.peek(need); err != nil {
			return 0, err
		}
	}
}

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
	rest, err := p.vals.plain(p.plain, n)
	if p.rd.stream != nil {
		p.rd.stream.skip(len(p.plain) - len(rest))
	}
	p.plain = rest
	return err
}
