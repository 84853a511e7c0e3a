package record

import (
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/tempfile"
)

// Rows whose encoders are fitted are distributed as what a block has of them: to the
// buckets that the rows that they were made of belong to. Nothing else is written,
// for the order of a leaf's rows is that of what a block has of them (order.go).
//
//	record   label │ weight, if rows have weights │ dense columns │ codes
//
// Of windows it is known besides which partition a row is of and where in it: see Keyed.

// CodedLayout is the form of encoded rows of so many columns.
func CodedLayout(dense, codes int, narrow, weighted bool) *Layout {
	c := coded{dense: dense, codes: codes, narrow: narrow, weighted: weighted, width: 8, dense0: 8}
	if narrow {
		c.width = 4
	}
	if weighted {
		c.dense0 = 16
	}
	c.codes0 = c.dense0 + c.width*dense
	return &Layout{coded: c, fixed: c.codes0 + 4*codes}
}

// Keyed is the coded layout of rows of windows, with the hash of a row's partition and the
// ranks of its values in so many columns of the order before the rest.
//
//	record   hash, 16 bytes │ ranks │ label … codes │ zeros up to a whole word
func (l *Layout) Keyed(orders int) *Layout {
	k := *l
	c := &k.coded
	c.orders, c.label0 = orders, block.HashBytes+8*orders
	c.dense0, c.codes0 = c.dense0+c.label0, c.codes0+c.label0
	k.fixed = (l.fixed + c.label0 + 7) &^ 7
	return &k
}

// AddCoded takes rows of a view as their encoders made them, b. The store's layout
// is a CodedLayout.
func (s *Store) AddCoded(v *View, b *block.Block, rows []int32) error {
	return s.put(len(rows), func(i int, rec []byte) int {
		s.layout.encode(rec, v, b, int(rows[i]))
		return v.Bucket(int(rows[i]))
	})
}

// Record returns the record of row i of a view.
func (s *Store) Record(v *View, b *block.Block, i int) []byte {
	rec := make([]byte, s.layout.fixed)
	s.layout.encode(rec, v, b, i)
	return rec
}

const bucketBytes = 4 // of a bucket's number, before a record that is sent

// AppendCoded appends row i to what PutCoded of another store takes.
func (s *Store) AppendCoded(dst []byte, v *View, b *block.Block, i int) []byte {
	dst = le.AppendUint32(dst, uint32(v.Bucket(i)))
	at := len(dst)
	dst = append(dst, make([]byte, s.layout.fixed)...)
	s.layout.encode(dst[at:], v, b, i)
	return dst
}

// PutCoded takes what AppendCoded of other stores made.
func (s *Store) PutCoded(rows []byte) error {
	size := bucketBytes + s.layout.fixed
	for at := 0; at < len(rows); at += size {
		if len(rows)-at < size || le.Uint32(rows[at:]) >= block.Buckets {
			return errRecords()
		}
	}
	return s.put(len(rows)/size, func(i int, rec []byte) int {
		copy(rec, rows[i*size+bucketBytes:])
		return int(le.Uint32(rows[i*size:]))
	})
}

// put adds rows whose records write writes; write returns their buckets.
func (s *Store) put(rows int, write func(i int, rec []byte) (bucket int)) error {
	sh, err := s.checkout()
	if err != nil {
		return err
	}
	defer s.checkin(sh)
	size := s.layout.stride()
	for from := 0; from < rows; from += groupRows {
		n := min(groupRows, rows-from)
		buf, at, keys, err := s.room(sh, n*size, n)
		if err != nil {
			return err
		}
		for i := range n {
			bkt := write(from+i, buf[i*size:][:s.layout.fixed])
			k := key{uint64(bkt) << (64 - block.BucketBits), at + loc(i*size/8)}
			if s.cfg.Windows != nil {
				k.hi = be.Uint64(buf[i*size:])
			}
			keys = append(keys, k)
			sh.rows[k.bucket()]++
		}
		sh.keep(keys)
	}
	if s.shouldSpill(sh) {
		return s.spill(sh)
	}
	return nil
}

// Bucket is the bucket of a row.
func (v *View) Bucket(i int) int { return key{hi: be.Uint64(v.rec(i))}.bucket() }

// Hash is the hash of a row, and the length of its record.
func (v *View) Hash(i int) (h block.RowHash, size int) {
	rec := v.layout.whole(v.rec(i))
	return block.RowHash(rec), len(rec)
}

// encode writes the record of row i of a block that was made of a view.
func (l *Layout) encode(rec []byte, v *View, b *block.Block, i int) {
	if l.coded.label0 > 0 {
		v.place(rec, i)
	}
	l.encodeRow(rec, b, i)
}

// encodeRow is encode without what says where a row belongs.
func (l *Layout) encodeRow(rec []byte, b *block.Block, i int) {
	c := &l.coded
	tile, lane := i&^(f64.Lanes-1), i&(f64.Lanes-1)
	at := unsafe.Pointer(unsafe.SliceData(rec))
	*ptr[float64](at, c.label0) = b.Y[i]
	if c.weighted {
		*ptr[float64](at, c.label0+8) = b.W[i]
	}
	if c.narrow {
		fromTile(tempfile.Numbers[float32](rec[c.dense0:c.codes0]), b.X32[tile*b.Dense:], lane)
	} else {
		fromTile(tempfile.Numbers[float64](rec[c.dense0:c.codes0]), b.X64[tile*b.Dense:], lane)
	}
	fromTile(tempfile.Numbers[int32](rec[c.codes0:c.codes0+4*c.codes]), b.Code[tile*b.Codes:], lane)
}

// decode is the reverse; weights are those of labels, nil for 1.
func (l *Layout) decode(rec []byte, b *block.Block, i int, weights []float64) {
	c := &l.coded
	tile, lane := i&^(f64.Lanes-1), i&(f64.Lanes-1)
	b.Y[i], b.W[i] = l.label(rec), l.weight(rec, weights)
	if c.narrow {
		toTile(b.X32[tile*b.Dense:], tempfile.Numbers[float32](rec[c.dense0:c.codes0]), lane)
	} else {
		toTile(b.X64[tile*b.Dense:], tempfile.Numbers[float64](rec[c.dense0:c.codes0]), lane)
	}
	toTile(b.Code[tile*b.Codes:], tempfile.Numbers[int32](rec[c.codes0:c.codes0+4*c.codes]), lane)
}

func (l *Layout) label(rec []byte) float64 {
	return *ptr[float64](unsafe.Pointer(&rec[0]), l.coded.label0)
}

func (l *Layout) weight(rec []byte, weights []float64) float64 {
	switch {
	case l.coded.weighted:
		return *ptr[float64](unsafe.Pointer(&rec[0]), l.coded.label0+8)
	case weights != nil:
		return weights[int(l.label(rec))]
	}
	return 1
}

func fromTile[T float32 | float64 | int32](dst, tile []T, lane int) {
	for j := range dst {
		dst[j] = tile[j*f64.Lanes+lane]
	}
}

func toTile[T float32 | float64 | int32](tile, src []T, lane int) {
	for j, v := range src {
		tile[j*f64.Lanes+lane] = v
	}
}

// CodedBytes is the size of the block of the leaf's rows.
func (l *Leaf) CodedBytes() int64 {
	c := &l.store.layout.coded
	return block.Bytes(l.Rows, c.dense, c.codes, c.narrow)
}

// Block makes the block of the encoded rows. The block is paid for; weights are those
// of labels where rows have none of their own, nil for 1.
func (l *Leaf) Block(weights []float64) (*block.Block, error) {
	s := l.store
	c := &s.layout.coded
	if err := s.grow(int64(l.Rows) * orderBytes); err != nil {
		return nil, err
	}
	defer s.shrink(int64(l.Rows) * orderBytes)
	b := block.New(l.Rows, c.dense, c.codes, c.narrow)
	return b, l.withRecords(func(each func(func(rec []byte)) error) error {
		o := newOrder(s.layout, s.cfg.Seed, l.Rows)
		if err := each(o.add); err != nil {
			return err
		}
		if len(o.rows) != l.Rows {
			return tempfile.ErrDamaged()
		}
		at, n := o.places(), 0
		err := each(func(rec []byte) {
			if n < len(at) {
				s.layout.decode(rec, b, int(at[n]), weights)
			}
			n++
		})
		if err == nil && n != l.Rows {
			err = tempfile.ErrDamaged()
		}
		return err
	})
}

// withRecords calls f with what goes through the leaf's records, which are held in
// memory meanwhile if there is room for them.
func (l *Leaf) withRecords(f func(each func(func(rec []byte)) error) error) error {
	size := l.store.layout.fixed
	slab, ok := l.load()
	if !ok {
		return f(l.each)
	}
	defer l.store.shrink(int64(cap(slab)))
	return f(func(use func(rec []byte)) error {
		for rest := slab; len(rest) > 0; rest = rest[size:] {
			use(rest[:size])
		}
		return nil
	})
}

// load reads the leaf's records from the file, if that is where they are and there is
// room for them, which it charges.
func (l *Leaf) load() (slab []byte, ok bool) {
	size := l.Rows * l.store.layout.fixed
	if !l.spilled || l.store.grow(int64(size)) != nil {
		return nil, false
	}
	slab = make([]byte, 0, size)
	err := l.each(func(rec []byte) {
		if len(slab) < size {
			slab = append(slab, rec...)
		}
	})
	if err != nil || len(slab) != size { // no room for what reads, or damage, which is found again
		l.store.shrink(int64(size))
		return nil, false
	}
	return slab, true
}

// each calls f with the leaf's encoded records, always in the same order.
func (l *Leaf) each(f func(rec []byte)) error {
	s := l.store
	for _, at := range l.order {
		f(s.layout.whole(at.in(l.regions)))
	}
	if l.spilled {
		for _, sh := range s.shards {
			for _, r := range sh.runs {
				if err := s.visitRun(r, l.from, l.to, f); err != nil {
					return err
				}
			}
		}
	}
	for i := range s.spread {
		c := &s.spread[i]
		for range c.copies(l) {
			f(c.Record)
		}
	}
	return nil
}
