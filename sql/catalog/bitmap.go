package catalog

import (
	"bytes"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// readBitmap decodes a bitmap, which shares the bytes until it is changed.
func readBitmap(b []byte) (*roaring.Bitmap, error) {
	m := roaring.New()
	if len(b) == 0 {
		return m, nil
	}
	if _, err := m.FromBuffer(b); err != nil {
		return nil, pgerr.Wrap(pgerr.DataCorrupted, err, "invalid bitmap of deleted rows")
	}
	return m, nil
}

// RowSet is a set of rows of a segment that is never changed: more rows make another. An
// UPDATE of one row made a whole bitmap of its segment's anew, 128 KiB where of a million
// rows many were changed. Now the last rows lie beside the bitmap until they are some
// hundreds. Where the two part depends on what the process has seen; their encoding does not.
type RowSet struct {
	base *rowBase // nil for none
	late []uint32 // those that are not in base, going up
}

// rowBase is a bitmap, decoded when somebody first looks: each statement looks at that of
// the segment with its row.
type rowBase struct {
	bytes   []byte // roaring's portable form
	decoded func() (*roaring.Bitmap, error)
}

// lateRows is how many rows lie beside a bitmap at most: so few are copied with each
// commit, and looked at by each reader.
const lateRows = 256

func init() {
	codec.As(RowSet.Portable, RowSetOf)
}

// RowSetOf is the set of a bitmap in its portable form, which it keeps; empty for none.
func RowSetOf(portable []byte) RowSet {
	if len(portable) == 0 {
		return RowSet{}
	}
	return RowSet{base: &rowBase{portable, sync.OnceValues(func() (*roaring.Bitmap, error) { return readBitmap(portable) })}}
}

// Empty reports whether there is no row.
func (s RowSet) Empty() bool { return s.base == nil && len(s.late) == 0 }

// Portable is the set as one bitmap in its portable form; nil for none. It is not to be changed.
func (s RowSet) Portable() []byte {
	if len(s.late) == 0 {
		return s.bytes()
	}
	out, err := joined(s.bytes(), roaring.BitmapOf(s.late...))
	if err != nil {
		panic("BUG: catalog: a bitmap that took rows: " + err.Error())
	}
	return out
}

func (s RowSet) bytes() []byte {
	if s.base == nil {
		return nil
	}
	return s.base.bytes
}

var noRows = roaring.New()

// Parts are the rows in a bitmap, which all share and none may change, and those beside
// it, going up.
func (s RowSet) Parts() (older *roaring.Bitmap, late []uint32, err error) {
	if s.base == nil {
		return noRows, s.late, nil
	}
	older, err = s.base.decoded()
	return older, s.late, err
}

// Intersects reports whether a row is in both.
func (s RowSet) Intersects(rows *roaring.Bitmap) (bool, error) {
	have, late, err := s.Parts()
	return err == nil && (have.Intersects(rows) || slices.ContainsFunc(late, rows.Contains)), err
}

// with is the set and other rows, none of which it has.
func (s RowSet) with(rows *roaring.Bitmap) (RowSet, error) {
	if n := uint64(len(s.late)) + rows.GetCardinality(); n <= lateRows {
		late := append(make([]uint32, 0, n), s.late...)
		for it := rows.Iterator(); it.HasNext(); {
			row := it.Next()
			at, _ := slices.BinarySearch(late, row)
			late = slices.Insert(late, at, row)
		}
		return RowSet{s.base, late}, nil
	}
	all := roaring.BitmapOf(s.late...)
	all.Or(rows)
	out, err := joined(s.bytes(), all)
	return RowSetOf(out), err
}

// joined is a bitmap with more rows, in the one form that a set of rows has: that of a bitmap
// to which they were added in order. A union's containers depend on those that it was made
// of: a container of runs that becomes a list is not always the same as one that never was.
func joined(b []byte, rows *roaring.Bitmap) ([]byte, error) {
	have, err := readBitmap(b)
	if err != nil {
		return nil, err
	}
	have.Or(rows)
	all := roaring.New()
	all.AddMany(have.ToArray())
	all.RunOptimize()
	w := bytes.NewBuffer(make([]byte, 0, all.GetSerializedSizeInBytes()))
	if _, err = all.WriteTo(w); err != nil {
		return nil, pgerr.From(err)
	}
	return w.Bytes(), nil
}
