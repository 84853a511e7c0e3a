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

// RowSet is an immutable set of rows of a segment; adding rows makes a new set. The last rows are kept in a
// list beside a bitmap until there are some hundreds. Otherwise each UPDATE of one row would copy the whole
// bitmap, 128 KiB for a million rows of which many have changed. How the rows are divided between bitmap and
// list differs between processes, but their encoding does not.
type RowSet struct {
	base *rowBase // nil for none
	late []uint32 // those that are not in base, going up
}

// rowBase is a bitmap that is decoded when it is first needed. Statements share it.
type rowBase struct {
	bytes   []byte // roaring's portable form
	decoded func() (*roaring.Bitmap, error)
}

// lateRows is the greatest number of rows beside a bitmap. They are copied by each commit and read by each
// reader.
const lateRows = 256

func init() {
	codec.As(RowSet.Portable, RowSetOf)
}

// RowSetOf returns the set of a bitmap in its portable form, whose bytes the set keeps; nil is the empty set.
func RowSetOf(portable []byte) RowSet {
	if len(portable) == 0 {
		return RowSet{}
	}
	return RowSet{base: &rowBase{portable, sync.OnceValues(func() (*roaring.Bitmap, error) { return readBitmap(portable) })}}
}

// Empty reports whether there is no row.
func (s RowSet) Empty() bool { return s.base == nil && len(s.late) == 0 }

// Portable returns the set as one bitmap in its portable form; nil for the empty set. It must not be changed.
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

// Parts returns the rows in the bitmap, which is shared and must not be changed, and those beside it in
// ascending order.
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
	if err != nil || have.Intersects(rows) {
		return err == nil, err
	}
	if rows.GetCardinality() > uint64(len(late)) {
		return slices.ContainsFunc(late, rows.Contains), nil
	}
	for it := rows.Iterator(); it.HasNext(); {
		if _, there := slices.BinarySearch(late, it.Next()); there {
			return true, nil
		}
	}
	return false, nil
}

// with returns the set with further rows, which must not be in it yet.
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

// joined returns a bitmap with more rows in its canonical form, that of a bitmap to which all rows were added
// in order. The containers of a union depend on its operands: a container of runs that becomes a list is not
// always the same as one that was always a list.
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
