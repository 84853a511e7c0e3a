package dataset

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Rows whose encoders are fitted are dealt as what a block has of them, behind the
// hash of the rows that they were made of: so leaves have the same rows in the
// same order as those of the rows themselves.
//
//	record   hash, 16 bytes │ label │ dense columns │ codes

// coded is what a record of an encoded row has.
type coded struct {
	dense, codes int
	narrow       bool
}

const codedAt = hashBytes + 8 // of the dense columns

// CodedLayout is the form of encoded rows of so many columns.
func CodedLayout(dense, codes int, narrow bool) *Layout {
	width := 8
	if narrow {
		width = 4
	}
	return &Layout{coded: coded{dense, codes, narrow}, fixed: (codedAt + dense*width + codes*4 + 7) &^ 7}
}

// Bytes is the size of so many encoded rows.
func (l *Layout) Bytes(rows int) int64 { return int64(rows) * int64(l.fixed) }

// AddCoded takes rows of a view as their encoders made them, b, which has no
// weights but those of classes. The store's layout is a CodedLayout.
func (s *Store) AddCoded(v *View, b *Block, rows []int32) error {
	size := s.layout.fixed
	return s.put(len(rows), func(from, n int, buf []byte) {
		for i, r := range rows[from : from+n] {
			s.layout.encode(buf[i*size:(i+1)*size], v, b, int(r))
		}
	})
}

// AppendCoded appends the record of row i, for PutCoded of another store.
func (s *Store) AppendCoded(dst []byte, v *View, b *Block, i int) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, s.layout.fixed)...)
	s.layout.encode(dst[at:], v, b, i)
	return dst
}

// PutCoded takes records that AppendCoded of other stores made.
func (s *Store) PutCoded(records []byte) error {
	size := s.layout.fixed
	if len(records)%size != 0 {
		return errRecords()
	}
	return s.put(len(records)/size, func(from, n int, buf []byte) {
		copy(buf, records[from*size:])
	})
}

// put takes rows whose records write writes, at most groupRows of them at a time.
func (s *Store) put(rows int, write func(from, n int, buf []byte)) error {
	sh, err := s.checkout()
	if err != nil {
		return err
	}
	defer s.checkin(sh)
	for from := 0; from < rows; from += groupRows {
		n := min(groupRows, rows-from)
		buf, at, keys, err := s.room(sh, n*s.layout.fixed, n)
		if err != nil {
			return err
		}
		write(from, n, buf)
		have := len(keys)
		keys = s.layout.keys(keys, buf, at)
		for _, k := range keys[have:] {
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

// encode writes the record of row i.
func (l *Layout) encode(rec []byte, v *View, b *Block, i int) {
	copy(rec, v.rec(i)[:hashBytes])
	tile, lane := i&^(f64.Lanes-1), i&(f64.Lanes-1)
	*ptr[float64](unsafe.Pointer(&rec[0]), hashBytes) = b.Y[i]
	if l.coded.narrow {
		fromTile(cooked[float32](rec[codedAt:codedAt+4*l.coded.dense]), b.X32[tile*b.Dense:], lane)
	} else {
		fromTile(cooked[float64](rec[codedAt:codedAt+8*l.coded.dense]), b.X64[tile*b.Dense:], lane)
	}
	fromTile(cooked[int32](rec[l.codesAt():l.codesAt()+4*l.coded.codes]), b.Code[tile*b.Codes:], lane)
}

// decode is the reverse, but for the weight.
func (l *Layout) decode(rec []byte, b *Block, i int) {
	tile, lane := i&^(f64.Lanes-1), i&(f64.Lanes-1)
	b.Y[i] = *ptr[float64](unsafe.Pointer(&rec[0]), hashBytes)
	if l.coded.narrow {
		toTile(b.X32[tile*b.Dense:], cooked[float32](rec[codedAt:codedAt+4*l.coded.dense]), lane)
	} else {
		toTile(b.X64[tile*b.Dense:], cooked[float64](rec[codedAt:codedAt+8*l.coded.dense]), lane)
	}
	toTile(b.Code[tile*b.Codes:], cooked[int32](rec[l.codesAt():l.codesAt()+4*l.coded.codes]), lane)
}

func (l *Layout) codesAt() int {
	if l.coded.narrow {
		return codedAt + 4*l.coded.dense
	}
	return codedAt + 8*l.coded.dense
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

// Units gives the number of a leaf's rows to train on and of those held out, as
// they were drawn.
func (l *Leaf) Units() (train, held int) {
	for i := range l.Rows {
		if l.holds(i) {
			held++
		}
	}
	return l.Rows - held, held
}

func (l *Leaf) holds(i int) bool { return l.held != nil && l.held[i/64]>>(i%64)&1 != 0 }

// CodedBytes is the size of a block of so many of the leaf's rows.
func (l *Leaf) CodedBytes(rows int) int64 {
	c := l.store.layout.coded
	return BlockBytes(rows, c.dense, c.codes, c.narrow)
}

// Block makes the block of the encoded rows to train on, or of those held out.
// The block is paid for; weights are those of labels, nil for 1.
func (l *Leaf) Block(rows int, held bool, weights []float64) (*Block, error) {
	c := l.store.layout.coded
	b, to := NewBlock(rows, c.dense, c.codes, c.narrow), 0
	place := func(i int) int { // in the block, of row i of the leaf
		if l.holds(i) != held {
			return -1
		}
		to++
		return to - 1
	}
	decode := func(rec []byte, at int) {
		if at < 0 {
			return
		}
		l.store.layout.decode(rec, b, at)
		if b.W[at] = 1; weights != nil {
			b.W[at] = weights[int(b.Y[at])]
		}
	}
	v, err := l.Open()
	if err != nil && l.spilled { // there is no memory for all records at once
		return b, l.scatter(place, decode)
	}
	if err != nil {
		return nil, err
	}
	defer v.Close()
	for i := range v.Rows {
		decode(v.rec(i), place(i))
	}
	return b, nil
}

// hashed is a row of a leaf by its hash: the number n of its record in the file,
// or, beyond those, of the copy of a row that is spread.
type hashed struct {
	hi, lo uint64
	n      uint32
}

const hashedBytes = 24 + 4 // and its place

// scatter gives each record of a leaf in the file its place. Records are read
// twice, for their hashes and to be used, and are never together in memory.
func (l *Leaf) scatter(place func(i int) int, use func(rec []byte, at int)) error {
	s := l.store
	if err := s.grow(int64(l.Rows) * hashedBytes); err != nil {
		return err
	}
	defer s.shrink(int64(l.Rows) * hashedBytes)
	all := make([]hashed, 0, l.Rows)
	err := l.visit(func(rec []byte) {
		if len(all) < l.Rows {
			all = append(all, hashed{be.Uint64(rec), be.Uint64(rec[8:]), uint32(len(all))})
		}
	})
	if err != nil {
		return err
	}
	inFile := len(all)
	var recs [][]byte // of the copies of spread rows
	for _, k := range l.spreadKeys(nil, 0) {
		rec := s.layout.whole(s.spreadRecs[int(uint32(k.at))*8:])
		all = append(all, hashed{k.hi, be.Uint64(rec[8:]), uint32(len(all))})
		recs = append(recs, rec)
	}
	if len(all) != l.Rows {
		return errDamaged()
	}
	l.sortHashed(all[:inFile])
	slices.SortFunc(all, compareHashed)
	at := make([]int32, len(all))
	for i, h := range all {
		at[h.n] = int32(place(i))
	}
	n := 0
	err = l.visit(func(rec []byte) {
		if n < inFile {
			use(rec, int(at[n]))
		}
		n++
	})
	for i, rec := range recs {
		use(rec, int(at[inFile+i]))
	}
	if err == nil && n != inFile {
		err = errDamaged()
	}
	return err
}

func compareHashed(a, b hashed) int { return cmp.Or(cmp.Compare(a.hi, b.hi), cmp.Compare(a.lo, b.lo)) }

// sortHashed gives copies the places that sort gives them: what shares a hash is a
// copy.
func (l *Leaf) sortHashed(all []hashed) {
	slices.SortFunc(all, compareHashed)
	shared := l.shared()
	runs(len(all), func(i, j int) bool { return compareHashed(all[i], all[j]) == 0 }, func(from, to int) {
		for i := from + 1; i < to; i++ {
			all[i].hi = copyPlace(all[from].hi, i-from, shared)
		}
	})
}

// visit calls f with the leaf's records in the file, but for copies of rows that
// are spread.
func (l *Leaf) visit(f func(rec []byte)) error {
	s := l.store
	heavy := make([]bool, l.to-l.from)
	for i := range heavy {
		rows, _ := s.away(l.from + i)
		heavy[i] = rows > 0
	}
	some := func(rec []byte) {
		if !heavy[key{hi: be.Uint64(rec)}.bucket()-l.from] || !s.spreads(rec) {
			f(rec)
		}
	}
	for _, sh := range s.shards {
		for _, r := range sh.runs {
			if err := s.visitRun(r, l.from, l.to, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// Labels calls f with the labels of the encoded rows that are not held out.
func (l *Leaf) Labels(v *View, f func(y float64)) {
	for i := range v.Rows {
		if !l.holds(i) {
			f(*ptr[float64](unsafe.Pointer(unsafe.SliceData(v.rec(i))), hashBytes))
		}
	}
}
